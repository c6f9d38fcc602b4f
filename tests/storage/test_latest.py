"""What is newest of everything, after writes in any order. Oracle: a search through the whole history."""

import numpy as np

from monitor.results import Observation
from monitor.slot import SlotState
from storage.store import DuckStore
from tests.storage.asks import put
from tests.storage.factories import judged, minutes, run_record, slot, verdict

_SEARCHED = {
    "latest_runs": "SELECT endpoint, started_at, n_answered FROM runs QUALIFY row_number() OVER "
                   "(PARTITION BY endpoint ORDER BY started_at DESC, rowid DESC) = 1 ORDER BY ALL",
    "latest_observations": 'SELECT endpoint, metric, "at", value, min("at") OVER (PARTITION BY endpoint, metric) '
                           "AS first_at FROM observations QUALIFY row_number() OVER "
                           '(PARTITION BY endpoint, metric ORDER BY "at" DESC, rowid DESC) = 1 ORDER BY ALL',
    "latest_verdicts": 'SELECT endpoint, detector, "at", record FROM verdicts QUALIFY row_number() OVER '
                       '(PARTITION BY endpoint, detector ORDER BY "at" DESC, rowid DESC) = 1 ORDER BY ALL',
    "latest_slots": "SELECT endpoint, probe, vantage, slot_at, state FROM slots QUALIFY row_number() OVER "
                    "(PARTITION BY endpoint, probe, vantage ORDER BY slot_at DESC, rowid DESC) = 1 ORDER BY ALL",
    "unjudged": "SELECT run_id, probe FROM runs r WHERE NOT EXISTS (SELECT 1 FROM judged j WHERE j.run_id = r.run_id) "
                "ORDER BY ALL",
}  # fmt: skip


def _assert_newest(store: DuckStore) -> None:
    for table, searched in _SEARCHED.items():
        wanted = store.read(searched)
        rows = store.read("FROM " + table)
        found = [{name: row[name] for name in (wanted or [{}])[0]} for row in rows]
        assert sorted(found, key=str) == sorted(wanted, key=str), table


def test_in_any_order(duck: DuckStore) -> None:
    rng = np.random.default_rng(3)
    records = []
    for i in range(30):
        measured = [Observation(metric=f"m{rng.integers(3)}", value=float(i), n=1) for _ in range(2)]
        records.append(
            run_record(f"r{i}", endpoint=f"lab/{rng.integers(3)}", at=minutes(int(rng.integers(12))), n=0,
                       observations=measured)
        )  # fmt: skip
    for i, record in enumerate(records):
        at, name = record.run.started_at, record.run.endpoint
        nouns: list[object] = [record, verdict(f"v{i}", endpoint=name, at=at, detector=f"d{i % 2}")]
        where = (None, "berlin", "tokyo")[i % 3]
        state: SlotState = "skipped" if i % 2 else "missed"
        nouns.append(slot(name, f"p{i % 2}", at=at, vantage=where, state=state, run_id=None))
        if rng.random() < 0.5:
            metric = f"k{rng.integers(2)}"
            other = records[int(rng.integers(len(records)))]  # also of runs that come later, and again and again
            nouns.append(judged(other, observations=(Observation(metric=metric, value=float(i), n=1),)))
        put(duck, *nouns)
    _assert_newest(duck)
    assert duck.counts()["judged"] > 5


def test_a_metric_that_was_judged_away_falls_back_to_the_run_before(duck: DuckStore) -> None:
    first, second = run_record("r1"), run_record("r2", at=minutes(5))
    put(duck, first, second, judged(first), judged(second))
    put(duck, judged(second, observations=()), writer="again")
    assert duck.unjudged(limit=9)["records"] == []
    (one,) = duck.overview()["endpoints"]
    assert one["metrics"]["kl_nats"]["at"] == "2026-03-01T12:00:00Z"
    _assert_newest(duck)
