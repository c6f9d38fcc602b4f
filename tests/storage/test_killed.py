"""Stores that are killed by SIGKILL. Oracle: every record that was appended is there exactly once."""

import asyncio
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from jobs.store_client import StoreClient
from monitor.errors import StoreError
from storage.spool import SqliteSpool
from storage.store import DuckStore
from tests.storage.factories import judged, packed, run_record
from tests.storage.processes import store_process

N_RUNS = 80


def _assert_each_once(path: Path, wanted: Iterable[str]) -> None:
    store = DuckStore(path)
    runs = Counter(str(row["run_id"]) for row in store.read("SELECT run_id FROM runs"))
    assert runs == Counter(wanted)
    exchanges = Counter(str(row["exchange_id"]) for row in store.read("SELECT exchange_id FROM exchanges"))
    assert exchanges == Counter(f"{run_id}.{i}" for run_id in runs for i in range(2))
    assert store.counts()["observations"] == store.counts()["runs"] + store.counts()["judged"]
    assert store.counts()["rejected"] == 0
    store.close()


async def _append(spool: SqliteSpool, name: str) -> None:
    for i in range(N_RUNS):
        record = run_record(f"{name}{i}")
        await asyncio.to_thread(spool.append, [packed(record), packed(judged(record))])
        await asyncio.sleep(0.02)


async def _push(spool: SqliteSpool, url: str, until: asyncio.Task[None] | None) -> None:
    """Push until the store fails, or until what `until` appends is through."""
    client = StoreClient(url)
    try:
        while until is None or not until.done() or spool.backlog():
            await client.push(spool, limit=7)
            await asyncio.sleep(0.01)
    finally:
        await client.aclose()


async def test_killed_again_and_again_while_two_writers_push(tmp_path: Path) -> None:
    path, rng = tmp_path / "store.duckdb", np.random.default_rng(5)
    spools = {name: SqliteSpool(tmp_path / name, writer=name) for name in ("eu", "us")}
    appending = {name: asyncio.create_task(_append(spool, name)) for name, spool in spools.items()}
    kills = 4
    for life in range(kills + 1):
        with store_process(path) as (process, url):
            last = life == kills
            pushing = [
                asyncio.create_task(_push(spool, url, appending[name] if last else None))
                for name, spool in spools.items()
            ]
            if not last:
                await asyncio.sleep(float(rng.uniform(0.05, 0.4)))
                process.kill()
                process.wait()
                for name, spool in spools.items():  # so that each push has something left to fail with
                    spool.append([packed(run_record(f"{name}-{life}"))])
            _, late = await asyncio.wait(pushing, timeout=120)
            assert not late
            failures = [task.exception() for task in pushing]
        wanted = type(None) if last else StoreError
        assert all(isinstance(failure, wanted) for failure in failures), failures
    names = [f"{name}{i}" for name in spools for i in range(N_RUNS)]
    _assert_each_once(path, [*names, *(f"{name}-{life}" for name in spools for life in range(kills))])
    for spool in spools.values():
        assert spool.backlog() == 0
        spool.close()


async def test_killed_between_commit_and_reply(tmp_path: Path) -> None:
    path, spool = tmp_path / "store.duckdb", SqliteSpool(tmp_path / "spool", writer=None)
    last = spool.append(packed(run_record(f"r{i}")) for i in range(20))
    died: Exception | None = None
    with store_process(path, module="tests.storage.dies_before_reply", more=["--die-at", "2"]) as (process, url):
        client = StoreClient(url)
        try:
            await client.push(spool, limit=5)
        except StoreError as error:
            died = error
        await client.aclose()
        assert process.wait(60) == -9
    assert died is not None
    assert spool.backlog() == 15  # the first five are confirmed; the next five are committed, but nobody said so
    store = DuckStore(path)
    assert (store.mark(spool.writer), store.counts()["runs"]) == (10, 10)
    store.close()
    with store_process(path) as (_, url):
        client = StoreClient(url)
        assert await client.push(spool, limit=8) == 15
        assert await client.mark(spool.writer) == last
        assert await client.push(spool) == 0
        await client.aclose()
    _assert_each_once(path, [f"r{i}" for i in range(20)])
    spool.close()
