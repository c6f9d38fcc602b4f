"""Run by test_full_disk.py in a process of its own: a store whose files may not grow past a limit, then may again."""

import resource
import signal
import sys
from pathlib import Path

import duckdb
import orjson

from monitor.errors import StoreError
from storage.store import DuckStore
from tests.storage.factories import entries, exchange, run_record


def _records(first: int) -> list[object]:
    return [
        run_record(f"r{i}", exchanges=[exchange(0, run_id=f"r{i}", error=f"{i:05d}" * 400)])
        for i in range(first, first + 100)
    ]


def _try(store: DuckStore, said: list[str]) -> None:
    mark = store.mark("w")
    try:
        store.ingest("w", entries(*_records(mark), start=mark + 1))
        said.append("ok")
    except StoreError as error:
        said.append(f"StoreError {error}")


def main(path: Path) -> None:
    """Fill, hit the limit, provoke DuckDB's fatal error by a checkpoint that cannot be written, lift the limit."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    store = DuckStore(path)
    said: list[str] = []
    _try(store, said)
    resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, resource.RLIM_INFINITY))
    for _ in range(3):
        _try(store, said)
    try:
        with store._database._connection.cursor() as cursor:
            cursor.execute("CHECKPOINT")
    except duckdb.FatalException:
        said.append("fatal")
    try:
        said.append(f"{store.counts()['runs']} runs")
    except StoreError as error:
        said.append(f"StoreError {error}")
    said.append(f"{store.counts()['runs']} runs")
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    _try(store, said)
    said.append(f"{store.counts()['runs']} runs")
    store.close()
    sys.stdout.write(orjson.dumps(said).decode())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
