"""One row per slot and run, whoever writes it (case OP-06), and what became of the slots. Oracle: counting by hand."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from monitor.codec import plain
from monitor.kept import kept_captures
from monitor.ports import Entry
from monitor.types import Capture, Read
from storage.interface import ReadStore
from storage.memory import MemoryStore
from storage.store import DuckStore
from tests.storage.asks import run_ids
from tests.storage.factories import START, entries, exchange, minutes, run_record, slot, verdict

FIXED = settings(deadline=None, derandomize=True, max_examples=100, suppress_health_check=[HealthCheck.too_slow])


def run(run_id: str, at: int = 0, vantage: str = "test") -> object:
    return run_record(run_id, at=minutes(at), slot_at=minutes(at), vantage=vantage)


def row(run_id: str | None, at: int = 0, vantage: str | None = "test", state: str = "done") -> object:
    return slot(at=minutes(at), run_id=run_id, vantage=vantage, state=state)


def test_the_first_row_and_run_of_a_slot_stay_and_the_second_are_kept_aside(store: ReadStore) -> None:
    store.ingest("left", entries(run("r1"), row("r1")))
    store.ingest("right", entries(run("r2"), row("r2"), run("r3", 1), row("r3", 1)))
    assert [one["run_id"] for one in store.slots(None, since=None, limit=9)["slots"]] == ["r3", "r1"]
    counts = store.counts()
    assert (counts["runs"], counts["exchanges"], counts["rejected"]) == (2, 4, 2)
    store.ingest("right", entries(row(None, 2, state="skipped"), start=5))
    assert store.counts()["slots"] == 3


def test_a_skipped_row_keeps_the_run_of_the_other_out_and_the_other_way_round(store: ReadStore) -> None:
    store.ingest("left", entries(row(None, 0, state="skipped"), run("r1", 1)))
    store.ingest("right", entries(run("r2", 0), row("r2", 0), row(None, 1, state="skipped")))
    store.ingest("left", entries(row("r1", 1), start=3))
    found = store.slots(None, since=None, limit=9)["slots"]
    assert [(one["state"], one["run_id"]) for one in found] == [("done", "r1"), ("skipped", None)]
    assert (store.counts()["runs"], store.counts()["rejected"]) == (1, 3)


def test_regions_have_slots_of_their_own_and_an_agent_that_does_not_say_where_it_is_has_one_too(
    store: ReadStore,
) -> None:
    """A nullable column in a key lets duplicates pass (baur #688): here it does not."""
    store.ingest("eu", entries(row("r1", vantage="eu")))
    store.ingest("us", entries(row("r2", vantage="us")))
    store.ingest("old", entries(row("r3", vantage=None)))
    store.ingest("older", entries(row("r4", vantage=None)))
    assert sorted(one["run_id"] for one in store.slots(None, since=None, limit=9)["slots"]) == ["r1", "r2", "r3"]
    assert store.counts()["rejected"] == 1


def test_runs_without_a_slot_are_nobodys_doubles(store: ReadStore) -> None:
    store.ingest("left", entries(run_record("r1"), run_record("r2")))
    assert store.counts()["runs"] == 2


def test_a_run_is_taken_in_once_whoever_brings_it_again_and_however_late(store: ReadStore) -> None:
    store.ingest("traffic", entries(run_record("r1"), run_record("r2", at=minutes(9)), run_record("r1")))
    store.ingest("traffic", entries(run_record("r2", at=minutes(9)), run_record("r3"), start=4))
    store.ingest("other", entries(run_record("r1")))
    assert sorted(run_ids(store.runs("lab/faithful", None, limit=9))) == ["r1", "r2", "r3"]
    assert len(store.unjudged(limit=9)["records"]) == 3
    counts = store.counts()
    assert (counts["exchanges"], counts["observations"], counts["tokens"], counts["rejected"]) == (6, 3, 6, 3)
    assert len(store.exchanges("lab/faithful", limit=99, outcome=None)["exchanges"]) == 6


def test_a_refused_run_says_why(duck: DuckStore) -> None:
    duck.ingest("w", entries(run_record("r1"), run_record("r1")))
    assert duck.read("SELECT x.run_id, x.seq, x.reason FROM rejected x") == [
        {"run_id": "r1", "seq": 2, "reason": "the run r1 is in the store already"}
    ]


@pytest.mark.parametrize("year", [1, 9999])
def test_runs_at_the_ends_of_time_are_refused(store: ReadStore, year: int) -> None:
    at = datetime(year, 1, 1, tzinfo=UTC) if year == 1 else datetime(year, 12, 31, 23, 59, tzinfo=UTC)
    for writer in ("left", "right"):
        store.ingest(writer, entries(run_record("r1", at=at, finished_at=at), run_record("now")))
    assert (store.counts()["runs"], store.counts()["rejected"]) == (1, 3)


def captures(run_id: str, start: int) -> list[Entry]:
    record = run_record(run_id, at=minutes(0))
    kept = kept_captures(record, [Capture(reads=(Read(0, b"x"),))] * 2)
    return [Entry(start + i, kind, data) for i, (kind, data) in enumerate(kept)]


@pytest.mark.parametrize("together", [True, False])
def test_captures_go_with_their_run_in_whatever_batch_they_come(store: ReadStore, together: bool) -> None:
    """A long batch is cut anywhere: the captures of a refused run may come after it was pushed."""

    def push(writer: str, *parts: list[Entry]) -> None:
        for batch in [[entry for part in parts for entry in part]] if together else parts:
            store.ingest(writer, batch)

    push("left", entries(run("r1")), captures("r1", 2))
    push("right", entries(run("r2")), captures("r2", 2))  # the slot is r1's
    push("again", entries(run("r1")), captures("r1", 2))  # the run itself once more
    push("stray", captures("nobody", 1))
    assert store.counts()["captures"] == 2
    assert store.counts()["rejected"] == 1 + 2 + 1 + 2 + 2
    assert (store.capture("r1.0") or {})["capture"]["reads"]


def test_the_last_slots_are_those_of_a_vantage(store: ReadStore) -> None:
    store.ingest("w", entries(row("r1", 1, "eu"), row("r2", 5, "us"), row("r3", 2, None)))
    wanted = {None: 5, "eu": 2, "us": 5, "elsewhere": 2}
    for vantage, minute in wanted.items():
        (one,) = store.last_slots(vantage)["slots"]
        assert one["slot_at"] == plain(minutes(minute))


KEYS = st.tuples(st.sampled_from(["left", "right"]), st.integers(0, 5), st.sampled_from(["done", "skipped", "missed"]))


@FIXED
@given(writes=st.lists(KEYS, max_size=30), cut=st.integers(1, 4))
def test_however_two_writers_interleave_every_slot_has_one_row(
    writes: list[tuple[str, int, str]], cut: int
) -> None:
    store = MemoryStore()
    sent = {"left": 0, "right": 0}
    for n, (writer, at, state) in enumerate(writes):
        nouns = [run(f"r{n}", at), row(f"r{n}", at)] if state == "done" else [row(None, at, state=state)]
        for noun in nouns if n % cut else [nouns]:
            batch = entries(*(noun if isinstance(noun, list) else [noun]), start=sent[writer] + 1)
            sent[writer] += len(batch)
            store.ingest(writer, batch)
    found = store.slots(None, since=None, limit=99)["slots"]
    assert len(found) == len({one["slot_at"] for one in found}) == len({at for _, at, _ in writes})
    done = [one["run_id"] for one in found if one["state"] == "done"]
    assert sorted(done) == sorted(one["run"]["run_id"] for one in store.runs("lab/faithful", None, limit=99)["records"])
    assert len(found) + len(done) + store.counts()["rejected"] == sum(sent.values())


def test_coverage_counts_states_reasons_and_tokens(store: ReadStore) -> None:
    uncounted = exchange(1, run_id="r1", at=minutes(3), usage=None)
    refused = exchange(2, run_id="r1", at=minutes(3), usage=None, outcome="rate_limited", choices=())
    told = [exchange(0, run_id="r1", at=minutes(3)), uncounted, refused]
    store.ingest("w", entries(
        run_record("r1", at=minutes(3), exchanges=told), run_record("old", at=minutes(-60)),
        slot(at=minutes(3), run_id="r1"), slot(at=minutes(4), run_id="r2"), slot(at=minutes(-60)),
        slot(at=minutes(5), state="skipped", run_id=None, reason="over budget: 9 of 10"),
        slot(at=minutes(6), state="skipped", run_id=None, reason="over budget: 10 of 10"),
        slot(at=minutes(7), state="skipped", run_id=None, reason="agent busy: 300 ms"),
    ))  # fmt: skip
    found = store.coverage(START)
    counted = {(one["state"], one["reason"]): (one["n"], one["last_at"]) for one in found["slots"]}
    assert counted == {
        ("done", None): (2, plain(minutes(4))),
        ("skipped", "over budget"): (2, plain(minutes(6))),
        ("skipped", "agent busy"): (1, plain(minutes(7))),
    }
    assert found["spent"] == [{"endpoint": "lab/faithful", "tokens_in": 12, "tokens_out": 1, "n_uncounted": 1}]
    assert sum(one["n"] for one in store.coverage(None)["slots"]) == 6


@pytest.mark.parametrize("since", [None, START + timedelta(days=9)])
def test_coverage_of_nothing(store: ReadStore, since: object) -> None:
    assert store.coverage(since) == {"slots": [], "spent": []}  # type: ignore[arg-type]  # a time or None


def test_what_is_no_number_is_null_in_the_store_and_spoils_no_maximum(store: ReadStore) -> None:
    """Case OP-02: NaN sorts above every number. Oracle: the one finite value."""
    effects = {"a": float("nan"), "b": 0.25, "c": float("inf"), "d": -float("inf")}
    store.ingest("judge", entries(*(verdict(name, at=minutes(at), effect=effect, details={"far": effect})
                                    for at, (name, effect) in enumerate(effects.items()))))  # fmt: skip
    found = {one["verdict_id"]: one for one in store.verdicts(None, None, limit=9)["verdicts"]}
    assert {name: one["effect"] for name, one in found.items()} == {"a": None, "b": 0.25, "c": None, "d": None}
    assert found["a"]["details"] == {"far": None}


def test_no_aggregate_meets_what_is_no_number(duck: DuckStore, tmp_path: Path) -> None:
    effects = (float("nan"), 0.25, float("inf"))
    duck.ingest("judge", entries(*(verdict(f"v{at}", effect=effect) for at, effect in enumerate(effects))))
    duck.close()
    with duckdb.connect(str(tmp_path / "store.duckdb"), read_only=True) as con:
        found = con.execute("SELECT min(effect), max(effect), avg(effect), count(*) FROM verdicts").fetchall()
    assert found == [(0.25, 0.25, 0.25, 3)]
