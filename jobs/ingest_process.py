"""The receiver of real traffic as a process: listens, keeps numbers in its spool, pushes runs to the store."""

import asyncio
import logging
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import uvicorn

from jobs.bounded_http import BoundedProtocol
from jobs.ingest import check_name, endpoint_of, spool_of
from jobs.ingest_server import app, keep_flushing
from jobs.ingest_waiting import Receiver, mark_of
from jobs.listening import listening
from jobs.only_one import only_one
from jobs.store_client import StoreClient, client_for
from monitor.config_store import is_loopback
from monitor.config_types import Config
from monitor.errors import StoreError, UsageError

log = logging.getLogger(__name__)

FLUSH_EVERY_S = 60.0


def serve(
    config: Config, store_url: str, *, endpoint: str, name: str, any_model: bool, keep: bool, host: str, port: int,
    ready: Callable[[str], None], flush_every_s: float = FLUSH_EVERY_S,
) -> int:  # fmt: skip
    """Receive until SIGINT or SIGTERM; what waits then still goes to the store. Returns 0.

    Raises
    ------
    UsageError
        When everybody could write, the name cannot be used, or the endpoint is not in the configuration.
    StoreError
        When another receiver of the same endpoint and name runs here, or the spool cannot be opened.
    """
    check_name(name)
    token = config.store.bearer
    if token is None and not is_loopback(host):
        raise UsageError(f"{host} can be reached from other machines, and there is no store.token: set one")
    chosen, own = endpoint_of(config, endpoint), Path(config.agent.spool).with_name(mark_of(endpoint, name))
    with only_one(own, "a receiver of the same endpoint and name"), closing(spool_of(config)) as spool:
        receiver = Receiver(
            endpoint=chosen, spool=spool, name=name, vantage=config.vantage, token=token, any_model=any_model, keep=keep
        )
        with closing(listening(host, port)) as listener:
            asyncio.run(_serve(receiver, client_for(config.store, store_url), listener, ready, flush_every_s))
    sys.stderr.write(receiver.tally.words(keep=keep) + "\n")
    return 0


class _Server(uvicorn.Server):
    """Leaves signals to us: uvicorn would raise them again when it is done, before the last numbers are sent."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


async def _serve(
    receiver: Receiver, store: StoreClient, listener: socket.socket, ready: Callable[[str], None], flush_every_s: float
) -> None:
    server = _Server(
        uvicorn.Config(app(receiver), http=BoundedProtocol, lifespan="off", ws="none", access_log=False,
                       log_config=None, server_header=False, timeout_graceful_shutdown=5)
    )  # fmt: skip
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, lambda: setattr(server, "should_exit", True))
    host, port = listener.getsockname()[:2]
    ready(f"http://{host}:{port}")  # it listens already: what comes now waits
    flushing = asyncio.create_task(keep_flushing(receiver, flush_every_s, lambda: store.push(receiver.spool)))
    try:
        await server.serve(sockets=[listener])
    finally:
        flushing.cancel()
        try:
            await asyncio.to_thread(receiver.flush)
            await store.push(receiver.spool)
        except StoreError as error:
            log.warning("%s; what was taken stays in the spool, for the next time", error)
        finally:
            await store.aclose()
