"""The store as a process: opens the database, serves its API, checkpoints and closes when told to stop."""

import argparse
import contextlib
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import orjson
import uvicorn

from monitor.errors import StoreError, WeighmasterError
from storage.api import app
from storage.store import DuckStore


class _Server(uvicorn.Server):
    """Says when it is ready, and *returns* on SIGINT and SIGTERM, so that the database gets closed."""

    def __init__(self, config: uvicorn.Config, started: Callable[[], None]) -> None:
        super().__init__(config)
        self._started = started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._started()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {sig: signal.signal(sig, self.handle_exit) for sig in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for sig, handler in before.items():
                signal.signal(sig, handler)


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=512)
    except OSError as error:
        raise StoreError(f"the store cannot listen on {host}:{port} ({error}): choose another host or port") from None


def serve(path: Path, host: str, port: int, *, token: str | None, ready: Callable[[str], None]) -> None:
    """Serve the store at `path` until SIGINT or SIGTERM; then checkpoint and close it.

    Parameters
    ----------
    path
        The DuckDB file; made when missing.
    host, port
        Where to listen; port 0 takes a free one.
    token
        Bearer token that clients must send; None wants none.
    ready
        Called once with the real address when requests are answered.

    Raises
    ------
    StoreError
        When the address is taken or the file cannot be opened; the message says by whom or why.
    """
    with contextlib.closing(_listen(host, port)) as listener:
        bound = listener.getsockname()[1]
        shown = f"[{host}]" if ":" in host else host
        with contextlib.closing(DuckStore(path)) as store:
            config = uvicorn.Config(
                app(store, token=token),
                lifespan="off", ws="none", access_log=False, log_config=None, server_header=False,
                timeout_graceful_shutdown=10,
            )  # fmt: skip
            _Server(config, lambda: ready(f"http://{shown}:{bound}")).run(sockets=[listener])


def _print_url(url: str) -> None:
    sys.stdout.write(orjson.dumps({"url": url}).decode() + "\n")
    sys.stdout.flush()


def main(arguments: list[str] | None = None) -> int:
    """Run the store; prints one JSON line ``{"url": ...}`` when ready. The token is read from ``WEIGHMASTER_TOKEN``."""
    parser = argparse.ArgumentParser(prog="python -m jobs.store_process", description=main.__doc__)
    parser.add_argument("--path", type=Path, required=True, help="the DuckDB file")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8600, help="0 takes a free port")
    given = parser.parse_args(arguments)
    try:
        serve(given.path, given.host, given.port, token=os.environ.get("WEIGHMASTER_TOKEN") or None, ready=_print_url)
    except WeighmasterError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
