"""A socket that listens before its server runs: what comes meanwhile waits."""

import socket

from monitor.errors import UsageError


def listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens at `host`; port 0 takes a free one.

    Raises
    ------
    UsageError
        When it cannot listen there.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=512)
    except OSError as error:
        raise UsageError(f"cannot listen on {host}:{port} ({error}): choose another host or port") from None
