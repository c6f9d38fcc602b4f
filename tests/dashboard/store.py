"""The real read API over a store in memory, on a real socket: the pages are tested against the contract itself."""

import socket
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import uvicorn
from starlette.applications import Starlette

from monitor.codec import encode
from monitor.ports import Entry
from storage.api import app
from storage.memory import MemoryStore

Record = tuple[str, object]
"""Kind and noun, as a writer would spool them."""


def store_of(records: Iterable[Record]) -> MemoryStore:
    """A store that has ingested `records`."""
    made = MemoryStore()
    made.ingest("test", [Entry(seq, kind, encode(noun)) for seq, (kind, noun) in enumerate(records, start=1)])
    return made


@contextmanager
def stored(records: Iterable[Record], *, token: str | None = None) -> Iterator[str]:
    """Serve a store that holds `records`; yield its URL."""
    with served(app(store_of(records), token=token)) as url:
        yield url


@contextmanager
def served(application: Starlette) -> Iterator[str]:
    """Serve `application` on a free loopback port in a thread; yield its URL."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        server = uvicorn.Server(uvicorn.Config(application, log_level="critical", lifespan="off"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()
