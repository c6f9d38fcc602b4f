"""One contract for both stores: named reads. Oracle: the answer worked out by hand."""

from dataclasses import replace
from statistics import median

import pytest

from monitor.codec import plain
from monitor.results import GoldenView, Observation
from storage.interface import ReadStore
from tests.storage.asks import measure, put, verdict_ids
from tests.storage.factories import (
    endpoint,
    exchange,
    incident,
    judged,
    minutes,
    run_record,
    slot,
    verdict,
)


def test_overview_of_a_declared_endpoint_that_never_ran(store: ReadStore) -> None:
    put(store, endpoint("z/b", precision=None), endpoint("a/b"))
    names = [one["endpoint"] for one in store.overview()["endpoints"]]
    assert names == ["a/b", "z/b"]
    assert store.overview()["endpoints"][1] == {
        "endpoint": "z/b", "provider": "z", "model": "smollm2", "reference": "smollm2", "precision": None,
        "last_run_at": None, "verdicts": [], "incidents": [], "metrics": {},
    }  # fmt: skip


def test_overview_of_an_endpoint_that_ran_undeclared_tells_its_last_run(store: ReadStore) -> None:
    put(store, run_record("r2", at=minutes(2), reference=None, model="new"), run_record("r1", model="old"))
    (one,) = store.overview()["endpoints"]
    assert (one["model"], one["reference"], one["precision"]) == ("new", None, None)
    assert one["last_run_at"] == "2026-03-01T12:02:00Z"


def test_a_declaration_replaces_the_one_before(store: ReadStore) -> None:
    put(store, endpoint(precision="bf16"), endpoint(precision="fp8"), run_record(model="seen"))
    put(store, endpoint(precision="int4", model="declared"), writer="other")
    (one,) = store.overview()["endpoints"]
    assert (one["precision"], one["model"]) == ("int4", "declared")
    assert store.counts()["endpoints"] == 1


def test_overview_shows_the_latest_of_each(store: ReadStore) -> None:
    last = verdict("v3", at=minutes(5), status="fail", cause="weights")
    other = verdict("v9", detector="availability")
    closed = incident("i0", endpoint="lab/faithful", closed_at=minutes(1))
    still = incident("i1", endpoint="lab/faithful")
    put(store, run_record("r1", at=minutes(4)), verdict("v1"), last, verdict("v2", at=minutes(4)), other, closed, still)
    late = [Observation(metric="ttft_ms", value=None, n=0, reason="all stalled")]
    put(store, run_record("r0", at=minutes(8), observations=late), run_record("r2", at=minutes(2)))
    (one,) = store.overview()["endpoints"]
    assert one["verdicts"] == plain([other, last])
    assert one["incidents"] == plain([still])
    assert one["metrics"] == {
        "ttft_ms": {"value": None, "n": 0, "k": None, "at": "2026-03-01T12:08:00Z", "reason": "all stalled"}
    }


def test_verdicts_newest_first_ties_by_arrival(store: ReadStore) -> None:
    put(store, verdict("v1"), verdict("v3", at=minutes(1), endpoint="a/b"), verdict("v2"), verdict("v4", detector="d"))
    assert verdict_ids(store, None, None) == ["v3", "v4", "v2", "v1"]
    assert verdict_ids(store, "lab/faithful", None) == ["v4", "v2", "v1"]
    assert verdict_ids(store, "lab/faithful", "d") == ["v4"]
    assert len(store.verdicts(None, None, limit=2)["verdicts"]) == 2
    assert store.verdict("v2") == plain(verdict("v2"))
    assert store.verdict("v") is None


def test_exchanges_carry_the_golden_token_count_once_they_are_judged(store: ReadStore) -> None:
    seen, unseen = run_record("r2", at=minutes(2)), run_record("r1", n=1)
    first = GoldenView(exchange_id="r2.0", run_id="r2", prompt_tokens=12, completion_tokens=3)
    rest = GoldenView(exchange_id="r2.1", run_id="r2", prompt_tokens=12)  # only a part of it is known
    put(store, seen, unseen, judged(seen, views=(first, rest)))
    shown = store.exchanges("lab/faithful", limit=9, outcome=None)["exchanges"]
    assert {one["exchange_id"]: one["tokens_golden"] for one in shown} == {"r2.0": 3, "r2.1": None, "r1.0": None}


def test_exchanges_newest_first_by_outcome(store: ReadStore) -> None:
    failed = exchange(0, run_id="r2", at=minutes(2), outcome="stalled")
    put(store, run_record("r1", n=1), run_record("r2", at=minutes(2), exchanges=[failed]))
    put(store, run_record("r3", endpoint="lab/degraded", n=3))
    assert store.exchanges("lab/faithful", limit=9, outcome=None)["exchanges"] == plain(
        [failed, exchange(0, run_id="r1")]
    )
    assert store.exchanges("lab/faithful", limit=9, outcome="stalled")["exchanges"] == plain([failed])
    assert len(store.exchanges("lab/degraded", limit=2, outcome="ok")["exchanges"]) == 2


def test_an_incident_is_its_latest_state(store: ReadStore) -> None:
    opened = incident("i1")
    closed = replace(opened, closed_at=minutes(9), n_verdicts=3)
    later = incident("i2", at=minutes(5), endpoint="lab/faulty")
    put(store, opened, closed, later)
    assert store.incidents(None, open_only=False)["incidents"] == plain([later, closed])
    assert store.incidents(None, open_only=True)["incidents"] == plain([later])
    assert store.incidents("lab/degraded", open_only=True)["incidents"] == []
    assert store.counts()["incidents"] == 2


def test_slots_and_the_last_of_each(store: ReadStore) -> None:
    skipped = slot(at=minutes(5), state="skipped", reason="prober busy", run_id=None)
    other = slot("lab/degraded", "tools", at=minutes(3))
    put(store, slot(), skipped, other)
    assert store.slots(None, since=None, limit=9)["slots"] == plain([skipped, other, slot()])
    assert store.slots("lab/faithful", since=minutes(1), limit=9)["slots"] == plain([skipped])
    assert store.slots(None, since=minutes(5), limit=9)["slots"] == plain([skipped])
    assert len(store.slots(None, since=None, limit=2)["slots"]) == 2
    assert store.last_slots()["slots"] == [
        {"endpoint": "lab/degraded", "probe": "tools", "slot_at": "2026-03-01T12:03:00Z"},
        {"endpoint": "lab/faithful", "probe": "speed", "slot_at": "2026-03-01T12:05:00Z"},
    ]


def test_series_by_hand(store: ReadStore) -> None:
    # Ten minutes in five buckets of two; the fourth is empty, the last instant is outside.
    values = {0: 1.0, 0.5: 5.0, 1.5: 3.0, 2: 7.0, 4: 2.0, 5: 4.0, 9.99: 8.0, 10: 99.0}
    measure(store, values)
    answer = store.series("lab/faithful", "ttft_ms", since=minutes(0), until=minutes(10), buckets=5)
    assert answer["points"] == [
        {"at": "2026-03-01T12:00:00Z", "value": 3.0, "low": 1.0, "high": 5.0, "n": 3},
        {"at": "2026-03-01T12:02:00Z", "value": 7.0, "low": 7.0, "high": 7.0, "n": 1},
        {"at": "2026-03-01T12:04:00Z", "value": 3.0, "low": 2.0, "high": 4.0, "n": 2},
        {"at": "2026-03-01T12:08:00Z", "value": 8.0, "low": 8.0, "high": 8.0, "n": 1},
    ]


@pytest.mark.parametrize("buckets", [1, 7, 2000])
def test_series_without_bounds_holds_every_value(store: ReadStore, buckets: int) -> None:
    values = {0.37 * i * i: float(i % 11) for i in range(40)}
    measure(store, values)
    points = store.series("lab/faithful", "ttft_ms", since=None, until=None, buckets=buckets)["points"]
    assert sum(point["n"] for point in points) == 40
    assert len(points) <= buckets
    assert points[0]["at"] == "2026-03-01T12:00:00Z"
    assert min(point["low"] for point in points) == 0.0
    assert max(point["high"] for point in points) == 10.0
    if buckets == 1:
        assert points[0]["value"] == median(values.values())


def test_series_shows_a_gap_where_nothing_could_be_measured(store: ReadStore) -> None:
    """Case OP-11: a chart must not bridge a failure by a line."""
    put(store, run_record("r1", observations=[Observation(metric="ttft_ms", value=None, n=0, reason="none")]))
    measure(store, {1: 4.0})
    points = store.series("lab/faithful", "ttft_ms", since=minutes(0), until=minutes(5), buckets=5)["points"]
    assert points == [
        {"at": "2026-03-01T12:00:00Z", "value": None, "low": None, "high": None, "n": 0},
        {"at": "2026-03-01T12:01:00Z", "value": 4.0, "low": 4.0, "high": 4.0, "n": 1},
    ]
    assert store.series("lab/faithful", "other", since=None, until=None, buckets=5) == {"points": []}
    assert store.series("lab/faithful", "ttft_ms", since=minutes(2), until=None, buckets=5) == {"points": []}
