"""The real read API over a real database, on a real socket: the pages are tested against the contract itself."""

import socket
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette

from jobs.store_process import READS
from monitor.budget import Budget
from monitor.codec import encode, plain
from monitor.comparison import Ladder, Rung
from monitor.ports import Entry
from storage.api import app
from storage.store import DuckStore

Record = tuple[str, object]
"""Kind and noun, as a writer would spool them."""

LADDER = Ladder(
    rungs=tuple(
        Rung(name=name, faithful=faithful, value=value, low=0.8 * value, high=1.25 * value)
        for name, faithful, value in (
            ("transformers bf16", True, 0.0004), ("vLLM bf16", True, 0.0007), ("int8-g64", False, 0.0042),
            ("Q4_K", False, 0.062), ("Q4_0", False, 0.26), ("Q2_K", False, 1.9),
        )
    ),
    tolerance=0.002, n_prompts=60, at=None, weights_sha256=None,
)  # fmt: skip
"""A calibration as the packaged model's looks."""


def configured(budgets: Mapping[str, Budget], ladders: Mapping[str, Ladder]) -> Any:
    """The read of what a configuration says, without a file."""

    def plan(_store: Any, _ask: Any) -> Any:
        """What the tests say is configured."""
        return lambda: plain({"budgets": dict(budgets), "ladders": dict(ladders), "trouble": None})

    return {"configured": plan}


def entries_of(records: Iterable[Record]) -> list[Entry]:
    """Records as a writer sends them."""
    return [Entry(seq, kind, encode(noun)) for seq, (kind, noun) in enumerate(records, start=1)]


@contextmanager
def stored(records: Iterable[Record], *, token: str | None = None) -> Iterator[str]:
    """Serve a store that holds `records`; yield its URL."""
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        store = DuckStore(Path(folder) / "w.duckdb")
        stack.callback(store.close)
        store.ingest("test", entries_of(records))
        yield stack.enter_context(serving(store, token=token))


@contextmanager
def serving(
    store: DuckStore, *, token: str | None = None, budgets: Mapping[str, Budget] | None = None,
    ladders: Mapping[str, Ladder] | None = None,
) -> Iterator[str]:  # fmt: skip
    """Serve `store` with all reads of the product; yield its URL."""
    more = {**READS, **configured(budgets or {}, ladders or {})}
    with served(app(store, token=token, more=more)) as url:
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
