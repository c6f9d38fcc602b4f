"""The client over the real application in memory, and over networks that fail. Oracle: the store and the spool."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import httpx
import orjson
import pytest

from jobs import store_client
from jobs.listening import listening
from jobs.store_client import SOON_S, StoreClient, client_for
from monitor.config_store import StoreConfig
from monitor.errors import StoreError
from storage import api
from storage.api import app
from storage.interface import ReadStore
from storage.memory import MemoryStore
from storage.spool import SqliteSpool
from tests.storage.asks import put
from tests.storage.factories import START, incident, judged, minutes, packed, run_record, slot, verdict


@pytest.fixture
async def client(store: ReadStore) -> AsyncIterator[StoreClient]:
    made = StoreClient("http://store/", transport=httpx.ASGITransport(app(store)))
    yield made
    await made.aclose()


@pytest.fixture
def spool(tmp_path: Path) -> Iterator[SqliteSpool]:
    made = SqliteSpool(tmp_path / "spool.sqlite", writer="test")
    yield made
    made.close()


def _answering(answer: Callable[[httpx.Request], httpx.Response]) -> StoreClient:
    return StoreClient("http://store", transport=httpx.MockTransport(answer))


async def test_reads_are_nouns(client: StoreClient, store: ReadStore) -> None:
    first, second = run_record("r1"), run_record("r2", at=minutes(1), probe="tools")
    closed = incident("i0", closed_at=minutes(2))
    put(store, first, second, judged(first), verdict(), incident(), closed, slot())
    assert await client.unjudged(5) == [second]
    assert await client.runs("lab/faithful") == ([second, first], [judged(first)])
    assert await client.runs("lab/faithful", "tools", 1) == ([second], [])
    assert await client.open_incidents() == [incident()]
    assert await client.open_incidents("lab/faithful") == []
    assert await client.verdicts() == [verdict()]
    assert await client.verdicts("lab/faithful", "other", 3) == []
    assert await client.last_slots() == {("lab/faithful", "speed"): START}
    assert await client.health() == {"status": "ok"}
    assert await client.mark("w") == 7


async def test_push_drains_the_spool_in_batches(client: StoreClient, store: ReadStore, spool: SqliteSpool) -> None:
    assert await client.push(spool) == 0
    spool.append(packed(run_record(f"r{i}")) for i in range(23))
    assert await client.push(spool, limit=5) == 23
    assert spool.backlog() == 0
    assert store.mark(spool.writer) == 23
    assert store.counts()["runs"] == 23
    spool.append([packed(verdict())])
    assert await client.push(spool) == 1


async def test_records_appended_while_pushing_are_not_lost(
    client: StoreClient, store: ReadStore, spool: SqliteSpool
) -> None:
    async def append() -> None:
        for i in range(60):
            spool.append([packed(run_record(f"r{i}"))])
            await asyncio.sleep(0)

    appending = asyncio.create_task(append())
    pushed = 0
    while not appending.done() or spool.backlog():
        pushed += await client.push(spool, limit=4)
        await asyncio.sleep(0)
    assert pushed == 60
    assert store.counts()["runs"] == 60


async def test_a_body_that_is_too_large_is_halved(spool: SqliteSpool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "BODY_LIMIT", 20_000)
    store = MemoryStore()
    client = StoreClient("http://store", transport=httpx.ASGITransport(app(store)))
    spool.append(packed(verdict(f"v{i}", reason="x" * 5_000)) for i in range(10))
    assert await client.push(spool, limit=10) == 10
    assert store.counts()["verdicts"] == 10
    spool.append([packed(verdict("small")), packed(verdict("huge", reason="x" * 30_000))])
    with pytest.raises(StoreError, match=r"record 12 \(verdict, \d+ bytes\) is larger than the store takes"):
        await client.push(spool)
    assert [entry.seq for entry in spool.pending(9)] == [12]
    await client.aclose()


async def test_batches_are_cut_by_size(spool: SqliteSpool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_client, "BATCH_BYTES", 10_000)
    sizes: list[int] = []

    def answer(request: httpx.Request) -> httpx.Response:
        listed = orjson.loads(request.content)["entries"]
        sizes.append(len(listed))
        return httpx.Response(200, json={"mark": listed[-1]["seq"]})

    client = _answering(answer)
    spool.append(packed(verdict(reason="x" * size)) for size in (4_000, 4_000, 4_000, 50_000, 10))
    assert await client.push(spool) == 5
    assert sizes == [2, 1, 1, 1]
    await client.aclose()


def _unreachable(request: httpx.Request) -> httpx.Response:
    raise httpx.ConnectError("refused", request=request)


def _cut_off(request: httpx.Request) -> httpx.Response:
    raise httpx.ReadError("reset", request=request)


FAILURES: dict[str, tuple[Callable[[httpx.Request], httpx.Response], str]] = {
    "unreachable": (_unreachable, r"http://store cannot be reached \(ConnectError: refused\): is the store running"),
    "cut off": (_cut_off, r"cannot be reached \(ReadError: reset\)"),
    "busy": (lambda _: httpx.Response(503, json={"error": "the disk is full"}), "answered 503: the disk is full"),
    "a bug": (lambda _: httpx.Response(500, text="oops"), "answered 500: Internal Server Error"),
    "refused": (lambda _: httpx.Response(400, json={"error": "entries[0]"}), r"answered 400: entries\[0\]"),
    "elsewhere": (lambda _: httpx.Response(302, headers={"Location": "http://evil"}), "answered 302: Found"),
    "another server": (lambda _: httpx.Response(200, text="<html>"), "something else than a JSON object"),
    "no mark": (lambda _: httpx.Response(200, json={"ok": True}), "answered without a mark"),
    "stuck": (lambda _: httpx.Response(200, json={"mark": 2}), "took records up to 3 but confirmed only 2"),
}


async def test_a_store_that_hangs_is_waited_for_as_long_as_was_said() -> None:
    """The kernel takes connections for a process that is stopped (SIGSTOP), as for one that does not accept."""
    with listening("127.0.0.1", 0) as deaf:
        url = f"http://127.0.0.1:{deaf.getsockname()[1]}"
        client = StoreClient(url, answer_s=0.1)
        with pytest.raises(StoreError, match=rf"{url}/api/overview gave no answer within 0.1 s: is its"):
            await client.overview()
        await client.aclose()


def test_a_person_waits_less_long_than_a_process() -> None:
    """Status, fleet, alerts and show name the short wait; whoever names none has the long one."""
    config = StoreConfig()
    made = client_for(config, "http://store"), client_for(config, "http://store", answer_s=SOON_S)
    assert [one._http.timeout.read for one in made] == [60.0, 10.0]


@pytest.mark.parametrize("name", FAILURES)
async def test_a_failed_push_loses_nothing(spool: SqliteSpool, name: str) -> None:
    answer, message = FAILURES[name]
    client = _answering(answer)
    spool.append(packed(run_record(f"r{i}")) for i in range(3))
    with pytest.raises(StoreError, match=message):
        await client.push(spool)
    assert [entry.seq for entry in spool.pending(9)] == [1, 2, 3]
    await client.aclose()


async def test_what_was_sent_before_a_failure_stays_confirmed(spool: SqliteSpool) -> None:
    calls: list[int] = []

    def answer(request: httpx.Request) -> httpx.Response:
        calls.append(len(request.content))
        if len(calls) == 2:
            return httpx.Response(503, json={"error": "busy"})
        return httpx.Response(200, json={"mark": orjson.loads(request.content)["entries"][-1]["seq"]})

    client = _answering(answer)
    spool.append(packed(verdict(f"v{i}")) for i in range(6))
    with pytest.raises(StoreError, match="busy"):
        await client.push(spool, limit=4)
    assert [entry.seq for entry in spool.pending(9)] == [5, 6]
    assert await client.push(spool, limit=4) == 2
    await client.aclose()


async def test_a_mark_beyond_what_was_sent_does_not_drop_the_unsent(spool: SqliteSpool) -> None:
    client = _answering(lambda _: httpx.Response(200, json={"mark": 10**6}))
    spool.append(packed(verdict(f"v{i}")) for i in range(4))
    seen: list[int] = []
    confirm = spool.confirm
    spool.confirm = lambda seq: (seen.append(seq), confirm(seq))[1]  # type: ignore[method-assign,func-returns-value]
    assert await client.push(spool, limit=3) == 4
    assert seen == [3, 4]
    await client.aclose()


async def test_an_unknown_endpoint_is_said(client: StoreClient) -> None:
    with pytest.raises(StoreError, match="answered 404: no endpoint 'lab/typo'"):
        await client.runs("lab/typo")


async def test_a_reply_of_another_version_is_named() -> None:
    client = _answering(lambda _: httpx.Response(200, json={"verdicts": [{"verdict_id": "v"}]}))
    with pytest.raises(StoreError, match=r"verdicts\.0\.endpoint: Field required; use one version"):
        await client.verdicts()
    await client.aclose()


async def test_addresses_are_not_logged(client: StoreClient, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, logger="root"):
        await client.health()
    assert not [record for record in caplog.records if record.name == "httpx"]
