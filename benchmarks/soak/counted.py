"""What a soak left behind, against what was promised."""

import sqlite3
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

from benchmarks.soak.world import DOWN, config
from monitor.schedule import slots_between
from storage.store import DuckStore

Findings = dict[str, tuple[bool, str]]
"""What was promised: whether it held, and the figures."""


def counted(folder: Path, told: Sequence[dict[str, Any]], expected_incidents: int = 1) -> Findings:
    """Count slots, runs, records, incidents and messages; `told` are the bodies that the route got."""
    with closing(DuckStore(folder / "store.duckdb")) as store:
        slots = store.read("SELECT s.endpoint, s.probe, s.slot_at, s.state, s.run_id FROM slots s")
        runs = store.read("SELECT r.run_id, r.endpoint, r.probe, r.slot_at FROM runs r")
        rejected = store.read("SELECT x.kind, x.reason FROM rejected x")
        marks = {row["writer"]: row["mark"] for row in store.read("SELECT w.writer, w.mark FROM writers w")}
        incidents = store.read("SELECT i.endpoint, i.cause, i.closed_at FROM incidents i")
    return {
        **_slots(folder, slots, runs),
        "records": _records(folder, marks, rejected),
        "alerts": _alerts(incidents, told, expected_incidents),
    }


def _slots(folder: Path, slots: Sequence[dict[str, Any]], runs: Sequence[dict[str, Any]]) -> Findings:
    chosen = config(folder)
    by_pair: dict[tuple[str, str], list[Any]] = {}
    for row in slots:
        by_pair.setdefault((row["endpoint"], row["probe"]), []).append(row["slot_at"])
    lost = doubled = 0
    for plan in chosen.plans:
        for name in plan.endpoints:
            at = sorted(by_pair.get((name, str(plan.probe.kind)), []))
            if not at:
                lost += 1
                continue
            wanted = slots_between(name, plan, at[0] - timedelta(microseconds=1), at[-1])
            lost += len(set(wanted) - set(at))
            doubled += len(at) - len(set(at))
    states = Counter(row["state"] for row in slots)
    done = {row["run_id"] for row in slots if row["state"] == "done"}
    ids = Counter(row["run_id"] for row in runs)
    stray = len(done ^ set(ids)) + sum(n - 1 for n in ids.values())
    text = ", ".join(f"{n} {state}" for state, n in sorted(states.items()))
    return {
        "slots": (
            lost == doubled == 0, f"{len(slots)} rows of {len(by_pair)} pairs ({text}); {lost} lost, {doubled} doubled"
        ),
        "runs": (stray == 0, f"{len(runs)} runs for {len(done)} slots done; {stray} lost or doubled"),
    }  # fmt: skip


def _records(folder: Path, marks: dict[str, int], rejected: Sequence[dict[str, Any]]) -> tuple[bool, str]:
    waiting = missing = 0
    for name in ("spool", "judge", "alerts"):
        with closing(sqlite3.connect(folder / f"{name}.sqlite")) as spool:
            waiting += spool.execute("SELECT count(*) FROM spool").fetchone()[0]
            last = spool.execute("SELECT coalesce(max(seq), 0) FROM sqlite_sequence").fetchone()[0]
            writer = spool.execute("SELECT writer FROM identity").fetchone()[0]
        missing += abs(last - marks.get(writer, 0))
    why = Counter(f"{row['kind']}: {row['reason'][:60]}" for row in rejected)
    told = f"{len(rejected)} rejected {dict(why) or ''}"
    text = f"{sum(marks.values())} records in, {waiting} wait, {missing} missing, {told}"
    return waiting == missing == len(rejected) == 0, text


def _alerts(
    incidents: Sequence[dict[str, Any]], told: Sequence[dict[str, Any]], expected: int
) -> tuple[bool, str]:  # fmt: skip
    found = [(row["endpoint"], row["cause"], row["closed_at"] is not None) for row in incidents]
    once = {one["id"]: [event["kind"] for event in one["events"]] for one in told}
    kinds = Counter(kind for some in once.values() for kind in some)
    held = found == [(f"provider {DOWN}", "provider_down", True)] * expected and kinds == {
        "fired": expected, "resolved": expected
    }  # fmt: skip
    return held, f"incidents {found}; messages {dict(kinds)}, sent {len(told)} times"
