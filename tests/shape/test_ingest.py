"""`weighmaster ingest`: a log, and HTTP, into a real store. Oracles: counts of what was sent, the secret word."""

import asyncio
import gzip
import io
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import orjson
import pytest

import monitor.detectors
from jobs.ingest import PER_RUN, Tally, exchanges_of, run, runs_of, spool_of
from jobs.ingest_server import BODY_LIMIT, app
from jobs.ingest_waiting import MOST_WAITING, Receiver
from jobs.judging import golden_side, judge
from jobs.settings import load_config
from jobs.store_client import StoreClient
from monitor.catalogue import scan
from monitor.codec import encode
from monitor.config_types import Config
from monitor.detectors.shape import Shape
from monitor.errors import StoreError, UsageError
from monitor.results import Evidence, RunRecord
from storage.spool import SqliteSpool
from tests.detectors.made import AT, endpoint
from tests.fakes.golden import FakeScorer
from tests.shape.logs import LOOP, SECRET, document, line, reply, span
from tests.storage.processes import store_process

NAME = "acme/model"


@pytest.fixture
def config(tmp_path: Path) -> Config:
    path = tmp_path / "weighmaster.yaml"
    path.write_text(
        f"agent: {{spool: {tmp_path / 'spool.sqlite'}}}\n"
        f"endpoints: [{{name: {NAME}, provider: acme, base_url: 'http://127.0.0.1:1/v1', model: model}}]\n"
        "probes: [{kind: speed, every: 1h}]\n"
    )
    return load_config(path, {}, detectors=False)


def lines(*values: dict[str, Any]) -> bytes:
    return b"".join(orjson.dumps(value) + b"\n" for value in values)


def read(data: bytes) -> tuple[list[Any], Tally, str]:
    tally, log = Tally(), io.StringIO()
    found = list(exchanges_of(data.splitlines(), tally, keep=False, log=log))
    return found, tally, log.getvalue()


def test_lines_and_documents_are_told_apart_and_mistakes_are_told() -> None:
    data = lines(line(), line(at=1)) + b"\nnonsense\n" + lines(document(span(), span(at=2)))
    found, tally, log = read(data)
    assert (len(found), tally.refused) == (4, 1)
    assert log == "line 4: not JSON\n"


def test_of_many_mistakes_five_are_told_and_the_others_counted() -> None:
    _, tally, log = read(b"nonsense\n" * 8 + lines(line()))
    assert tally.refused == 8
    assert log.splitlines()[4:] == ["line 5: not JSON", "and 3 more lines that were refused"]


def test_a_status_in_quotes_is_one() -> None:
    failed = {key: value for key, value in line().items() if key != "response"}
    told = [{**failed, "status": status} for status in ("503", "5O3")]
    found, tally, _ = read(lines(*told))
    assert ([one.outcome for one in found], tally.refused) == (["http_5xx"], 1)


def test_runs_are_cut_by_size_and_day_and_twice_the_same_log_is_the_same_runs() -> None:
    """300 lines, one every 4 minutes: 240 on the first day from 8:00 (200 and 40), the rest on the second."""
    found, _, _ = read(lines(*(line(at=4 * at) for at in range(300))))
    runs = runs_of(found, endpoint(), name="shop", vantage="here")
    assert [record.run.n_exchanges for record in runs] == [PER_RUN, 40, 60]
    assert {record.run.probe for record in runs} == {"traffic"}
    assert [record.run.run_id for record in runs] == [
        record.run.run_id for record in runs_of(found[::-1], endpoint(), name="shop", vantage="here")
    ]
    assert not any(SECRET.encode() in encode(record) for record in runs)


def test_the_same_detector_runs_on_traffic() -> None:
    def day(at: int, body: Any = None) -> RunRecord:
        found, _, _ = read(lines(*(line(at=1440 * at + minute, body=body) for minute in range(30))))
        return runs_of(found, endpoint(), name="shop", vantage="here")[0]

    history = tuple(day(at) for at in range(4))
    for now, status, sign in ((day(5), "pass", None), (day(5, reply(LOOP, "length", 64)), "fail", "looped")):
        made = Evidence(endpoint=endpoint(), runs=(now.run,), exchanges=now.exchanges, history=history)
        verdict = Shape().run(made, at=AT, rng=np.random.default_rng(0))
        assert verdict.status == status
        assert sign is None or verdict.details[f"{sign}_shift"] == 1.0


def files_but(folder: Path, left_out: Path) -> list[bytes]:
    return [path.read_bytes() for path in folder.rglob("*") if path.is_file() and path != left_out]


async def test_a_log_reaches_the_store_without_a_word_of_it(config: Config, tmp_path: Path, capsys: Any) -> None:
    log = tmp_path / "access.jsonl"
    log.write_bytes(
        lines(*(line(at=at) for at in range(5)), line(body={**reply(), "model": "other-9"})) + b"nonsense\n"
    )
    with store_process(tmp_path / "data" / "w.duckdb") as (_, url):
        given: dict[str, Any] = {"endpoint": NAME, "name": "shop", "any_model": False, "keep": False}
        assert await asyncio.to_thread(run, config, log, url, as_json=True, **given) == 0
        told = orjson.loads(capsys.readouterr().out)
        assert told == {
            "accepted": 5,
            "refused": 1,
            "other_model": 1,
            "runs": 1,
            "known": 0,
            "content_kept": False,
        }
        assert await asyncio.to_thread(run, config, log, url, as_json=False, **given) == 0
        again = capsys.readouterr().out
        assert "0 answers taken in 0 runs (5 more were taken before)" in again
        assert "content dropped: only numbers were kept" in again
        store = StoreClient(url)
        records = await store.unjudged()
        await store.aclose()
    assert len(records) == 1
    assert records[0].run.n_exchanges == 5
    assert SECRET.encode() not in b"".join(map(encode, records))
    kept = await asyncio.to_thread(files_but, tmp_path, log)
    assert kept
    assert not any(SECRET.encode() in data for data in kept)


async def test_a_log_that_has_grown_is_counted_once(config: Config, tmp_path: Path, capsys: Any) -> None:
    """250 lines of a day, then 290 of it and 10 of the next, two lines alike; then with the store away, twice."""
    log, given = tmp_path / "access.jsonl", dict[str, Any](endpoint=NAME, any_model=False, keep=False)
    every = [*(line(at=at) for at in range(289)), line(at=288), *(line(at=1440 + at) for at in range(10))]

    async def told(n: int, url: str, name: str = "shop") -> tuple[int, int]:
        log.write_bytes(lines(*every[:n]))
        status = await asyncio.to_thread(run, config, log, url, as_json=True, name=name, **given)
        assert status == (0 if n else 2)
        said = orjson.loads(capsys.readouterr().out)
        return said["accepted"], said["known"]

    with store_process(tmp_path / "data" / "w.duckdb") as (_, url):
        assert await told(250, url) == (250, 0)
        assert await told(300, url) == (50, 250)
        assert await told(300, url) == (0, 300)
        assert await told(300, url, "another application") == (300, 0)
        every += [line(at=1500), line(at=1501)]
        for _ in range(2):
            with pytest.raises(StoreError):
                await told(302, "http://127.0.0.1:1")
        assert await told(0, url) == (2, 300), "it waited in the spool"
        store = StoreClient(url)
        records = await store.unjudged(limit=100)
        await store.aclose()
    ids = [one.exchange_id for record in records for one in record.exchanges]
    assert len(ids) == len(set(ids)) == 302 + 300


def test_mistakes_of_the_caller(config: Config, tmp_path: Path) -> None:
    given: dict[str, Any] = {"name": "shop", "any_model": False, "keep": False, "as_json": False}
    with pytest.raises(UsageError, match=NAME):
        run(config, tmp_path / "none", "http://127.0.0.1:1", endpoint="acme/other", **given)
    log = tmp_path / "access.jsonl"
    log.write_bytes(lines(line()))
    with pytest.raises(StoreError, match="is the store running"):
        run(config, log, "http://127.0.0.1:1", endpoint=NAME, **given)
    with closing(spool_of(config)) as spool:
        assert len(spool.notes()) == 1, "what was read goes with the next ingest"
    for name in ("", " ", "a\nb", "x" * 81):
        with pytest.raises(UsageError, match="--name: give 1 to 80 printable characters"):
            run(config, log, "http://127.0.0.1:1", endpoint=NAME, **{**given, "name": name})
    log.write_bytes(b"\n")
    assert run(config, log, "http://127.0.0.1:1", endpoint=NAME, **given) == 2, "what waits goes another time"


@pytest.fixture
def receiver(tmp_path: Path) -> Iterator[Receiver]:
    spool = SqliteSpool(tmp_path / "traffic.sqlite", writer="t")
    yield Receiver(endpoint=endpoint(), spool=spool, name="shop", vantage="here", token="k")
    spool.close()


@pytest.fixture
async def http(receiver: Receiver) -> AsyncIterator[httpx.AsyncClient]:
    headers = {"authorization": "Bearer k", "content-type": "application/json"}
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app(receiver)), base_url="http://ingest", headers=headers
    ) as client:
        yield client


async def test_spans_over_http(http: httpx.AsyncClient, receiver: Receiver) -> None:
    body = orjson.dumps(document(span(), span(at=1), span(at=2, gen_ai__response__model="other-9")))
    plain = await http.post("/v1/traces", content=body)
    packed = await http.post("/v1/traces", content=gzip.compress(body), headers={"content-encoding": "gzip"})
    assert (plain.status_code, plain.json(), packed.status_code) == (200, {"partialSuccess": {}}, 200)
    assert (receiver.tally.accepted, receiver.tally.other_model) == (4, 2)
    assert receiver.flush() == 1
    assert [entry.kind for entry in receiver.spool.pending(10)] == ["run"]
    assert receiver.flush() == 0


async def test_lines_over_http(http: httpx.AsyncClient, receiver: Receiver) -> None:
    body = lines(line(), line(at=1)) + b"nonsense\n"
    got = await http.post("/v1/logs.jsonl", content=body, headers={"content-type": "application/x-ndjson"})
    assert got.json() == {"partialSuccess": {"rejectedLines": 1}}
    assert receiver.tally.accepted == 2


async def test_other_spans_are_no_mistake(http: httpx.AsyncClient, receiver: Receiver) -> None:
    got = await http.post("/v1/traces", content=orjson.dumps(document(span(gen_ai__operation__name="embeddings"))))
    assert (got.status_code, receiver.tally.accepted) == (200, 0)


@pytest.mark.parametrize(
    ("status", "content", "headers"),
    [
        (401, b"{}", {"authorization": "Bearer wrong"}),
        (415, b"{}", {"content-type": "text/plain"}),
        (415, b"{}", {"content-type": "application/x-protobuf"}),
        (415, b"{}", {"content-encoding": "br"}),
        (400, b"{", {}),
        (400, b"no gzip", {"content-encoding": "gzip"}),
        (413, b"0" * (BODY_LIMIT + 1), {}),
        (413, gzip.compress(b"0" * (BODY_LIMIT + 1)), {"content-encoding": "gzip"}),
    ],
)
async def test_refusals(http: httpx.AsyncClient, status: int, content: bytes, headers: dict[str, str]) -> None:
    got = await http.post("/v1/traces", content=content, headers=headers)
    assert got.status_code == status
    assert got.json()["error"]


async def test_too_many_waiting_are_told_to_come_back(http: httpx.AsyncClient, receiver: Receiver) -> None:
    found, _, _ = read(lines(line()))
    receiver.waiting = found * MOST_WAITING
    assert (await http.post("/v1/traces", content=orjson.dumps(document(span())))).status_code == 503


async def test_more_in_one_body_than_can_ever_wait_is_no_matter_of_later(http: httpx.AsyncClient) -> None:
    body = b"\n".join([orjson.dumps({"time": "2026-03-01T08:00:00Z", "status": 500})] * (MOST_WAITING + 1))
    got = await http.post("/v1/logs.jsonl", content=body, headers={"content-type": "application/x-ndjson"})
    assert (got.status_code, f"at most {MOST_WAITING}" in got.json()["error"]) == (413, True)


async def test_what_the_spool_does_not_take_waits_on(
    http: httpx.AsyncClient, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any, **__: Any) -> int:
        raise StoreError("full")

    found, _, _ = read(lines(line()))
    receiver.take(found)
    with monkeypatch.context() as patch:
        patch.setattr(SqliteSpool, "append", full)
        with pytest.raises(StoreError):
            receiver.flush()
        assert (await http.post("/v1/traces", content=orjson.dumps(document(span())))).status_code == 503
    assert receiver.waiting == found
    assert receiver.flush() == 1


async def test_a_sender_that_hangs_up_is_no_error_of_ours(receiver: Receiver) -> None:
    sent: list[Any] = []
    parts = iter([{"type": "http.request", "body": b"{", "more_body": True}, {"type": "http.disconnect"}])
    headers = [(b"content-type", b"application/json"), (b"authorization", b"Bearer k")]
    scope = {"type": "http", "method": "POST", "path": "/v1/traces", "headers": headers, "query_string": b""}

    async def receive() -> Any:
        return next(parts)

    async def send(message: Any) -> None:
        sent.append(message)

    await app(receiver)(scope, receive, send)
    assert (sent[0]["status"], receiver.waiting) == (400, [])


def heir(receiver: Receiver) -> Receiver:
    """One that starts on the same spool, as after a kill."""
    return Receiver(endpoint=receiver.endpoint, spool=receiver.spool, name=receiver.name, vantage=receiver.vantage)


def test_what_was_taken_waits_on_the_disk_and_makes_its_run_once(receiver: Receiver) -> None:
    """Killed after the answer, after another, and after the run was made."""
    found, _, _ = read(lines(line(), line(at=1)))
    receiver.take(found[:1])
    second = heir(receiver)
    assert [encode(one) for one in second.waiting] == [encode(found[0])]
    second.take(found[1:])
    other = replace(receiver, name="another", waiting=[], tally=Tally())
    assert other.waiting == []
    third = heir(receiver)
    assert (len(third.waiting), third.flush(), third.tally.accepted) == (2, 1, 2)
    assert (heir(receiver).waiting, len(receiver.spool.pending(10)), receiver.spool.notes()) == ([], 1, {})


async def received(folder: Path, url: str, end: signal.Signals) -> tuple[int | None, str]:
    """Two answers to a receiver that is ended by a signal; its status and what it said."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "jobs.cli", "ingest", "--endpoint", NAME, "--port", "0",
        "--config", str(folder / "weighmaster.yaml"), "--store-url", url,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    address = orjson.loads(await process.stdout.readline())["url"]
    async with httpx.AsyncClient() as client:
        sent = orjson.dumps(document(span(), span(at=1)))
        got = await client.post(f"{address}/v1/traces", content=sent, headers={"content-type": "application/json"})
    assert got.status_code == 200
    process.send_signal(end)
    _, told = await process.communicate()
    return process.returncode, told.decode()


async def test_what_was_answered_with_200_outlives_a_kill_and_goes_when_the_next_is_stopped(
    config: Config, tmp_path: Path
) -> None:
    folder = Path(config.agent.spool).parent
    with store_process(tmp_path / "data" / "w.duckdb") as (_, url):
        await received(folder, url, signal.SIGKILL)
        status, told = await received(folder, url, signal.SIGINT)
        assert status == 0
        assert "4 answers taken in 1 runs" in told
        store = StoreClient(url)
        records = await store.unjudged()
        await store.aclose()
    assert [record.run.n_exchanges for record in records] == [4]


@pytest.mark.parametrize("scorer", [None, FakeScorer()])
def test_every_detector_copes_with_runs_of_traffic(scorer: FakeScorer | None) -> None:
    """Those that need words or golden views say that they have none; the others judge."""
    detectors = [make() for make in scan(monitor.detectors, "DETECTOR").values()]

    def day(at: int) -> RunRecord:
        found, _, _ = read(lines(*(line(at=1440 * at + minute) for minute in range(30))))
        return runs_of(found, endpoint(), name="shop", vantage="here")[0]

    now, history = day(5), [day(at) for at in range(4)]
    golden = golden_side([now], scorer, detectors)
    verdicts = {one.detector: one for one in judge(endpoint(), [now], golden, detectors, at=AT, history=history)}
    assert {name: verdicts[name].status for name in ("availability", "shape", "faults", "accounting")} == {
        "availability": "pass", "shape": "pass", "faults": "inconclusive", "accounting": "inconclusive",
    }  # fmt: skip
    assert {one.status for one in verdicts.values()} <= {"pass", "inconclusive"}
