"""One contract for both stores: ingest and runs. Oracle: what was put in."""



from monitor.codec import decode, encode, plain
from monitor.results import JudgedRun, Observation, RunRecord
from storage.interface import TABLES, ReadStore
from tests.storage.asks import metrics, put, run_ids
from tests.storage.factories import (
    endpoint,
    entries,
    exchange,
    judged,
    minutes,
    run_record,
    slot,
    verdict,
)


def test_an_empty_store_answers_every_read(store: ReadStore) -> None:
    assert store.overview() == {"endpoints": []}
    assert store.series("x", "ttft_ms", since=None, until=None, buckets=10) == {"points": []}
    assert store.verdicts(None, None, limit=5) == {"verdicts": []}
    assert store.verdict("x") is None
    assert store.exchanges("x", limit=5, outcome=None) == {"exchanges": []}
    assert store.incidents(None, open_only=True) == {"incidents": []}
    assert store.slots(None, since=None, limit=5) == {"slots": []}
    assert store.runs("x", None, limit=5) == {"records": [], "judged": []}
    assert store.unjudged(limit=5) == {"records": []}
    assert store.last_slots() == {"slots": []}
    assert store.counts() == dict.fromkeys(TABLES, 0)
    assert store.mark("w") == 0
    assert not store.knows("x")


def test_a_batch_is_applied_once_however_often_it_is_sent(store: ReadStore) -> None:
    batch = entries(run_record("r1"), run_record("r2"), slot(), verdict())
    assert store.ingest("w", batch) == 4
    before = store.counts()
    assert store.ingest("w", batch) == 4
    assert store.ingest("w", batch[:2]) == 4
    assert store.ingest("w", []) == 4
    assert store.counts() == before
    assert before["runs"] == 2
    assert before["exchanges"] == 4


def test_an_overlapping_batch_adds_only_what_is_new(store: ReadStore) -> None:
    batch = entries(*[run_record(f"r{i}") for i in range(5)])
    store.ingest("w", batch[:3])
    assert store.ingest("w", batch[1:]) == 5
    assert store.counts()["runs"] == 5


def test_order_gaps_and_repeats_within_a_batch(store: ReadStore) -> None:
    first, second = entries(run_record("r1")), entries(run_record("r2"), start=40)
    assert store.ingest("w", [*second, *first, *second]) == 40
    assert store.counts()["runs"] == 2


def test_writers_have_marks_of_their_own(store: ReadStore) -> None:
    store.ingest("a", entries(run_record("a1"), run_record("a2")))
    store.ingest("b", entries(run_record("b1")))
    assert (store.mark("a"), store.mark("b"), store.mark("c")) == (2, 1, 0)
    assert store.counts()["runs"] == 3


def test_a_run_comes_back_as_it_went_in(store: ReadStore) -> None:
    odd = exchange(1, run_id="r1", outcome="rate_limited", choices=(), usage=None, ttft_ms=None, error="\U0001f600")
    nothing = Observation(metric="tps", value=None, n=0, reason="no answer")
    rate = Observation(metric="availability", value=0.5, n=2, k=1)
    record = run_record("r1", exchanges=[exchange(0, run_id="r1"), odd], observations=[rate, nothing])
    put(store, record)
    found = store.runs("lab/faithful", None, limit=9)["records"]
    assert [decode(RunRecord, encode(one)) for one in found] == [record]


def test_runs_are_newest_first_and_filtered(store: ReadStore) -> None:
    put(store, run_record("old", at=minutes(0)), run_record("new", at=minutes(9)), run_record("mid", at=minutes(5)))
    put(store, run_record("other", endpoint="lab/degraded"), run_record("tools", probe="tools", at=minutes(20)))
    assert run_ids(store.runs("lab/faithful", None, limit=9)) == ["tools", "new", "mid", "old"]
    assert run_ids(store.runs("lab/faithful", "speed", limit=2)) == ["new", "mid"]
    assert run_ids(store.runs("lab/degraded", "tools", limit=9)) == []


def test_judging_takes_a_run_off_the_list(store: ReadStore) -> None:
    first, second = run_record("r1", at=minutes(1)), run_record("r2", at=minutes(0))
    put(store, first, second)
    assert run_ids(store.unjudged(limit=9)) == ["r2", "r1"]
    assert run_ids(store.unjudged(limit=1)) == ["r2"]
    put(store, judged(second), writer="judge")
    assert run_ids(store.unjudged(limit=9)) == ["r1"]
    answer = store.runs("lab/faithful", None, limit=9)
    assert [decode(JudgedRun, encode(one)) for one in answer["judged"]] == [judged(second)]
    assert [o["metric"] for one in answer["records"] for o in one["observations"]] == ["ttft_ms", "ttft_ms"]


def test_a_run_judged_again_has_only_the_last_judgement(store: ReadStore) -> None:
    record = run_record("r1")
    again = judged(record, observations=(Observation(metric="kl_nats", value=0.5, n=1),))
    put(store, record, judged(record))
    put(store, judged(record), again, writer="judge")
    assert store.runs("lab/faithful", None, limit=1)["judged"] == [plain(again)]
    assert store.counts()["judged"] == 1
    assert store.counts()["observations"] == 2
    assert metrics(store)["kl_nats"]["value"] == 0.5


def test_golden_observations_stand_at_the_time_of_their_run(store: ReadStore) -> None:
    record = run_record("r1", at=minutes(3))
    put(store, record)
    put(store, judged(record, at=minutes(600)), writer="judge")
    at = "2026-03-01T12:03:00Z"
    assert metrics(store)["kl_nats"] == {"value": 0.01, "n": 2, "k": None, "at": at, "reason": None}


def test_golden_observations_of_an_unknown_run_keep_their_own_time(store: ReadStore) -> None:
    put(store, endpoint(), judged(run_record("elsewhere"), at=minutes(4)))
    assert metrics(store)["kl_nats"]["at"] == "2026-03-01T12:04:00Z"
