"""Where processes listen, and a socket that does so before its server runs: what comes meanwhile waits."""

import os
import socket

from monitor.config_fields import Address
from monitor.config_types import Config
from monitor.errors import UsageError


def listens(config: Config) -> dict[str, Address]:
    """Where each process of the service listens, by its name; agent and judge only where they were told to."""
    wanted = {
        "store": config.store.listen, "agent": config.agent.listen, "judge": config.judge.listen,
        "dashboard": config.dashboard.listen,
    }  # fmt: skip
    return {name: address for name, address in wanted.items() if address is not None}


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
        raise UsageError(f"cannot listen on {host}:{port} ({why(error)}): choose another host or port") from None


def why(error: OSError) -> str:
    """Why an address cannot be listened at; the error's own text would name the address once more."""
    return os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror or str(error)
