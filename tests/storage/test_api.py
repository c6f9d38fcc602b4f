"""The HTTP API over both stores. Oracle: the store's own answers, and what the API promises to refuse."""

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest

from monitor.codec import plain
from monitor.errors import StoreError
from storage import api
from storage.api import app
from storage.interface import ReadStore
from storage.memory import MemoryStore
from storage.plans import READS
from storage.snapshots import ASKED, PASSING
from tests.storage.asks import put
from tests.storage.factories import START, entries, incident, judged, minutes, run_record, slot, verdict

FIRST = run_record("r1")


def _client(store: ReadStore, **what: Any) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(app(store, **what), raise_app_exceptions=False)
    return httpx.AsyncClient(transport=transport, base_url="http://store")


@pytest.fixture
async def client(store: ReadStore) -> AsyncIterator[httpx.AsyncClient]:
    put(store, FIRST, run_record("r2", at=minutes(5)), judged(FIRST), verdict(), incident(), slot())
    async with _client(store) as made:
        yield made


def _body(*nouns: object, writer: str = "w", start: int = 1) -> dict[str, Any]:
    listed = [{"seq": e.seq, "kind": e.kind, "data": orjson.loads(e.data)} for e in entries(*nouns, start=start)]
    return {"writer": writer, "entries": listed}


async def test_each_read_gives_what_the_store_gives(client: httpx.AsyncClient, store: ReadStore) -> None:
    name = "lab/faithful"
    span = "since=2026-03-01T12:00:00Z&until=2026-03-01T13:05:00%2B01:00"
    wanted: dict[str, object] = {
        "/api/health": {"status": "ok"},
        "/api/mark?writer=w": {"mark": 6},
        "/api/mark?writer=nobody": {"mark": 0},
        "/api/overview": store.overview(),
        f"/api/series?endpoint={name}&metric=ttft_ms": store.series(
            name, "ttft_ms", since=None, until=None, buckets=500
        ),
        f"/api/series?endpoint={name}&metric=ttft_ms&{span}&buckets=3": store.series(
            name, "ttft_ms", since=START, until=minutes(5), buckets=3
        ),
        "/api/verdicts": {"verdicts": [plain(verdict())]},
        f"/api/verdicts?endpoint={name}&detector=logprob_fidelity&limit=1": {"verdicts": [plain(verdict())]},
        "/api/verdict?id=verdict-1": plain(verdict()),
        f"/api/exchanges?endpoint={name}&limit=3&outcome=ok": store.exchanges(name, limit=3, outcome="ok"),
        "/api/incidents?open_only=true": {"incidents": [plain(incident())]},
        f"/api/slots?endpoint={name}&since=2026-03-01T00:00:00Z": {"slots": [plain(slot())]},
        f"/api/runs?endpoint={name}&probe=speed&limit=2": store.runs(name, "speed", limit=2),
        "/api/unjudged?limit=5": store.unjudged(limit=5),
        "/api/counts": {"counts": store.counts()},
        "/api/last-slots": store.last_slots(),
        "/api/last-runs": store.last_runs(),
        "/api/capture?id=r1.0": store.capture("r1.0"),
        "/api/coverage?since=2026-03-01T00:00:00Z": store.coverage(START),
    }
    for path, answer in wanted.items():
        reply = await client.get(path)
        assert (path, reply.status_code, reply.json()) == (path, 200, answer)
    assert {path.partition("?")[0].removeprefix("/api/") for path in wanted} == set(READS)
    assert store.runs(name, "speed", limit=2)["judged"] == [plain(judged(FIRST))]


SERIES = "/api/series?endpoint=lab/faithful&metric=x&"
REFUSED = {
    "/api/series?endpoint=lab/faithful": (400, "parameter 'metric' is required"),
    SERIES + "buckets=2001": (400, "parameter 'buckets' must be an integer from 1 to 2000"),
    SERIES + "since=yesterday": (400, "parameter 'since' must be an instant such as"),
    SERIES + "since=2026-03-01T12:00:00": (400, "parameter 'since' must be an instant"),
    SERIES + "until=0001-01-01T00:00:00%2B10:00": (400, "parameter 'until' must be"),
    SERIES + "since=2026-03-02T00:00:00Z&until=2026-03-01T00:00:00Z": (400, "before"),
    "/api/series?endpoint=lab/typo&metric=x": (404, "no endpoint 'lab/typo'"),
    "/api/verdicts?limit=0": (400, "parameter 'limit' must be an integer from 1 to 1000"),
    "/api/verdicts?limit=-1": (400, "parameter 'limit'"),
    "/api/verdicts?limit=1e3": (400, "parameter 'limit'"),
    "/api/verdicts?limit=%C2%B2": (400, "parameter 'limit'"),
    "/api/verdicts?endpiont=x": (400, "unknown parameter 'endpiont'; allowed: endpoint, detector, limit"),
    "/api/verdicts?endpoint=lab/typo": (404, "no endpoint"),
    "/api/verdict": (400, "parameter 'id' is required"),
    "/api/verdict?id=none": (404, "no verdict 'none'"),
    "/api/exchanges": (400, "parameter 'endpoint' is required"),
    "/api/exchanges?endpoint=lab/faithful&outcome=fine": (400, "parameter 'outcome' must be one of ok, ok_length"),
    "/api/incidents?open_only=yes": (400, "parameter 'open_only' must be true or false"),
    "/api/runs": (400, "parameter 'endpoint' is required"),
    "/api/runs?endpoint=lab/faithful&limit=201": (400, "an integer from 1 to 200"),
    "/api/mark": (400, "parameter 'writer' is required"),
    "/api/overview?x=1": (400, "unknown parameter 'x'; allowed: none"),
    "/api/capture": (400, "parameter 'id' is required"),
    "/api/capture?id=none": (404, "no exchange 'none'"),
    "/api/nothing": (404, "Not Found"),
    "/api/snapshot": (404, "Not Found"),
    "/api/ingest": (405, "Method Not Allowed"),
}


@pytest.mark.parametrize("path", REFUSED)
async def test_a_wrong_question_is_told_what_is_wrong(path: str) -> None:
    status, message = REFUSED[path]
    store = MemoryStore()
    put(store, FIRST)
    async with _client(store) as client:
        reply = await client.get(path)
    assert reply.status_code == status
    assert set(reply.json()) == {"error"}
    assert message in reply.json()["error"]


async def test_ingest_is_idempotent_and_answers_with_the_mark(store: ReadStore) -> None:
    async with _client(store) as client:
        for _ in range(2):
            reply = await client.post("/api/ingest", json=_body(run_record("r1"), verdict()))
            assert (reply.status_code, reply.json()) == (200, {"mark": 2})
        assert (await client.post("/api/ingest", json={"writer": "w", "entries": []})).json() == {"mark": 2}
    assert store.counts()["runs"] == store.counts()["verdicts"] == 1


async def test_ingest_keeps_aside_what_it_does_not_understand(store: ReadStore) -> None:
    listed = [{"seq": 1, "kind": "dream", "data": [1, 2]}, {"seq": 2, "kind": "run", "data": None}]
    async with _client(store) as client:
        reply = await client.post("/api/ingest", json={"writer": "w", "entries": listed})
    assert reply.json() == {"mark": 2}
    assert store.counts()["rejected"] == 2


BAD_BODIES: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "the body is not JSON"),
    "not JSON": (b"{", "the body is not JSON"),
    "NaN": (b'{"writer": "w", "entries": [NaN]}', "the body is not JSON"),
    "infinite once read": (b'{"writer": "w", "entries": [1e999]}', "the body is not JSON"),
    "a list": (b"[]", "an object with writer and entries"),
    "no writer": (b'{"entries": []}', "an object with writer and entries"),
    "more": (b'{"writer": "w", "entries": [], "x": 1}', "an object with writer and entries"),
    "empty writer": (b'{"writer": "", "entries": []}', "writer must be a string"),
    "writer a number": (b'{"writer": 1, "entries": []}', "writer must be a string"),
    "entries an object": (b'{"writer": "w", "entries": {}}', "entries must be a list"),
    "an entry a number": (b'{"writer": "w", "entries": [1]}', "entries[0] must be an object with seq, kind and data"),
    "no data": (b'{"writer": "w", "entries": [{"seq": 1, "kind": "run"}]}', "entries[0] must be an object"),
    "seq zero": (b'{"writer": "w", "entries": [{"seq": 0, "kind": "run", "data": 1}]}', "entries[0].seq must be"),
    "seq true": (b'{"writer": "w", "entries": [{"seq": true, "kind": "run", "data": 1}]}', "entries[0].seq must be"),
    "seq text": (b'{"writer": "w", "entries": [{"seq": "1", "kind": "run", "data": 1}]}', "entries[0].seq must be"),
    "seq large": (b'{"writer": "w", "entries": [{"seq": 9223372036854775808, "kind": "run", "data": 1}]}', "2^63 - 1"),
    "kind a number": (b'{"writer": "w", "entries": [{"seq": 1, "kind": 2, "data": 1}]}', "entries[0].kind must be"),
}


@pytest.mark.parametrize("name", BAD_BODIES)
async def test_a_bad_body_is_told_what_is_wrong(name: str) -> None:
    body, message = BAD_BODIES[name]
    store = MemoryStore()
    async with _client(store) as client:
        reply = await client.post("/api/ingest", content=body, headers={"Content-Type": "application/json"})
    assert reply.status_code == 400
    assert message in reply.json()["error"]
    assert store.mark("w") == 0


async def test_a_form_that_a_web_page_could_send_is_refused() -> None:
    async with _client(MemoryStore()) as client:
        reply = await client.post("/api/ingest", content=b"{}", headers={"Content-Type": "text/plain"})
    assert reply.status_code == 415


async def test_a_large_body_is_refused_and_not_applied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "BODY_LIMIT", 10_000)
    store = MemoryStore()
    async with _client(store) as client:
        for size in (9_000, 11_000, 100_000):
            reply = await client.post("/api/ingest", json=_body(verdict(reason="x" * size)))
            if size > 10_000:
                assert reply.status_code == 413
                assert "send fewer entries at once" in reply.json()["error"]
    assert store.counts()["verdicts"] == 1


async def test_the_token_guards_all_but_health() -> None:
    secret = "a token"
    async with _client(MemoryStore(), token=secret, snapshot=Path) as client:
        for path in ("/api/health", "/healthz", "/healthz?now=1", "/healthz?verbose"):
            assert (await client.get(path)).status_code == 200
        for given in (None, "", "Bearer", "Bearer a toke", "Bearer a token!", "a token", "Basic a token"):
            headers: dict[str, str] = {} if given is None else {"Authorization": given}
            for reply in (
                await client.get("/api/counts", headers=headers),
                await client.get("/metrics", headers=headers),
                await client.get("/openapi.json", headers=headers),
                await client.get("/openapi", headers=headers),
                await client.post("/api/ingest", json=_body(verdict()), headers=headers),
                await client.post("/api/snapshot", json={}, headers=headers),
            ):
                assert reply.status_code == 401
                assert secret not in reply.text
        for scheme in ("bearer", "BEARER", "Bearer"):  # RFC 9110, 11.1: without case
            headers = {"Authorization": f"{scheme} a token"}
            assert (await client.get("/api/counts", headers=headers)).status_code == 200
        assert (await client.post("/api/ingest", json=_body(verdict()), headers=headers)).json() == {"mark": 1}
        assert (await client.get("/api/counts", headers=headers)).status_code == 200


class _Broken(MemoryStore):
    def mark(self, writer: str) -> int:
        raise StoreError("the disk is full: make room")

    def last_slots(self, vantage: str | None = None) -> dict[str, Any]:
        raise KeyError("secret detail")


async def test_a_store_that_cannot_work_is_503_and_a_bug_is_500_without_details() -> None:
    async with _client(_Broken()) as client:
        for reply in (await client.get("/api/health"), await client.post("/api/ingest", json=_body(verdict()))):
            assert (reply.status_code, reply.json()) == (503, {"error": "the disk is full: make room"})
        reply = await client.get("/api/last-slots")
        assert reply.status_code == 500
        assert "secret" not in reply.text


class _Ailing(MemoryStore):
    def trouble(self) -> str | None:
        return "the disk has only 3 MiB left"


async def test_a_store_that_reads_but_cannot_write_is_not_healthy() -> None:
    """Case OP-07: the check must not stay green while nothing gets stored."""
    async with _client(_Ailing()) as client:
        for path in ("/healthz", "/api/health"):
            reply = await client.get(path)
            assert (reply.status_code, reply.json()) == (503, {"error": "the disk has only 3 MiB left"})
        assert "\nweighmaster_store_works 0\n" in (await client.get("/metrics")).text


async def test_a_snapshot_is_taken_when_it_is_asked_for_properly() -> None:
    taken: list[str] = []

    def take(label: str) -> Path:
        taken.append(label)
        return Path("/data/snap")

    async with _client(MemoryStore(), snapshot=take) as client:
        assert (await client.post("/api/snapshot", content=b"{}")).status_code == 415
        assert (await client.post("/api/snapshot", json={"folder": "/etc"})).status_code == 400
        assert taken == []
        assert (await client.post("/api/snapshot", json={})).json() == {"folder": "/data/snap"}
        await client.post("/api/snapshot", json={"passing": True})
    assert taken == [ASKED, PASSING]


class _Slow(MemoryStore):
    """Reads wait until they are let go."""

    def __init__(self) -> None:
        super().__init__()
        self.go = threading.Event()

    def counts(self) -> dict[str, int]:
        self.go.wait(60)
        return super().counts()


async def test_slow_readers_do_not_keep_a_writer_waiting() -> None:
    store = _Slow()
    async with _client(store) as client:
        readers = [asyncio.create_task(client.get("/api/counts")) for _ in range(60)]  # more than the pool has threads
        await asyncio.sleep(0.05)
        reply = await client.post("/api/ingest", json=_body(verdict()), timeout=30)
        assert reply.json() == {"mark": 1}
        assert not any(reader.done() for reader in readers)
        store.go.set()
        assert {(await reader).status_code for reader in readers} == {200}


async def test_instants_and_numbers_are_plain_json(client: httpx.AsyncClient) -> None:
    (one,) = [e for e in (await client.get("/api/overview")).json()["endpoints"] if e["endpoint"] == "lab/faithful"]
    assert one["last_run_at"] == "2026-03-01T12:05:00Z"
    assert one["metrics"]["ttft_ms"]["at"] == "2026-03-01T12:05:00Z"
