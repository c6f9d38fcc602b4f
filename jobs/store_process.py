"""The store as a process: opens the database, serves its API, checkpoints and closes when told to stop."""

import argparse
import logging
import os
import signal
import socket
import ssl
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path

import orjson
import uvicorn
from pydantic import SecretStr

from jobs.bounded_http import BoundedProtocol
from jobs.clock import SystemClock
from jobs.configured_reads import configured_reads
from jobs.heap import one_heap
from jobs.listening import listening
from jobs.reload import Following
from jobs.store_upkeep import EVERY_S, Housekeeping
from jobs.version import version
from monitor.config_fields import Address
from monitor.config_store import StoreConfig, is_loopback
from monitor.errors import StoreError, UsageError, WeighmasterError
from monitor.ports import Clock
from storage.agent_reads import PLANS as AGENTS
from storage.alert_reads import PLANS
from storage.api import app
from storage.badges import BADGES
from storage.comparison_reads import COMPARISONS
from storage.own_names import OwnNames
from storage.picture_reads import PICTURES
from storage.store import DuckStore
from storage.traffic_reads import KNOWN

log = logging.getLogger(__name__)

READS = {**PLANS, **AGENTS, **PICTURES, **COMPARISONS, **BADGES, **KNOWN}
"""All reads beside those of `storage.plans`."""


class _Server(uvicorn.Server):
    """Says when it is ready, and *returns* on SIGINT and SIGTERM, so that the database gets closed."""

    def __init__(self, config: uvicorn.Config, started: Callable[[], None]) -> None:
        super().__init__(config)
        self._started = started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._started()

    @contextmanager
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


def serve(
    config: StoreConfig, port: int, *, ready: Callable[[str], None], clock: Clock | None = None,
    file: Following | None = None, upkeep_every_s: float = EVERY_S,
) -> None:  # fmt: skip
    """Serve the store until SIGINT or SIGTERM; then checkpoint and close it.

    Parameters
    ----------
    config
        The section ``store`` of the configuration.
    port
        Where to listen instead of the port in `config`; 0 takes a free one.
    ready
        Called once with the real address when requests are answered.
    clock
        Says when something is too old; None is the system's.
    file
        Where `config` comes from: retention and snapshots follow it.
    upkeep_every_s
        Real seconds between two passes over the files.

    Raises
    ------
    UsageError
        When the address is taken, or the certificate cannot be used.
    StoreError
        When everybody could write to it, or the file cannot be opened; the message says by whom or why.
    """
    host, token = config.listen.host, config.bearer
    if token is None and not is_loopback(host):
        raise StoreError(f"{host} can be reached from other machines, and there is no token: set one, or use 127.0.0.1")
    _check_tls(config)
    one_heap()
    clock = clock or SystemClock()
    with closing(listening(host, port)) as listener, closing(DuckStore(Path(config.path))) as store:
        address = Address(host=host, port=listener.getsockname()[1])

        def snapshot(label: str) -> Path:
            return store.snapshot(clock.now(), label).folder.absolute()

        def valid() -> bool:
            return file is None or file.invalid is None

        def current() -> StoreConfig:
            return config if file is None else file.config.store

        served = app(
            store, token=token, agents=lambda: current().agent_tokens, version=version(), snapshot=snapshot,
            config_valid=valid, now=clock.now,
            more={**READS, **configured_reads(lambda: None if file is None else file.config)},
        )  # fmt: skip
        server = uvicorn.Config(
            served if token else OwnNames(served), lifespan="off", ws="none", access_log=False, log_config=None,
            http=BoundedProtocol,
            server_header=False, timeout_graceful_shutdown=10, ssl_certfile=config.tls_certificate,
            ssl_keyfile=config.tls_key,
        )  # fmt: skip
        with file.followed() if file else nullcontext(), Housekeeping(store, current, clock).going_on(upkeep_every_s):
            _Server(server, lambda: ready(config.url_at(address))).run(sockets=[listener])


def _check_tls(config: StoreConfig) -> None:
    if config.tls_certificate is None:
        if not is_loopback(config.listen.host):
            log.warning("tokens cross the network in clear: set store.tls_certificate, or put a proxy in front")
        return
    try:
        ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(config.tls_certificate, config.tls_key)
    except OSError as error:  # ssl's own errors are OSErrors too
        why = error.strerror or error
        raise UsageError(f"store.tls_certificate {config.tls_certificate} with store.tls_key: {why}") from None


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
    token = os.environ.get("WEIGHMASTER_TOKEN")
    config = StoreConfig(
        path=str(given.path), listen=Address(host=given.host, port=given.port),
        token=SecretStr(token) if token else None,
    )  # fmt: skip
    try:
        serve(config, given.port, ready=_print_url)
    except WeighmasterError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
