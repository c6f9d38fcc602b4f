"""Nothing counts twice: a run is taken in once, and a slot has one row and at most one run (case OP-06).

The first to arrive stays. What comes later is kept in the table ``rejected`` with the reason, and so are the captures
of a run that was refused, in whatever batch they come. The key of a slot has no null part: an agent of an older
version, which did not say where it is, is the vantage ``""``. The id of a run is a digest of what it is, its start
among it: the same id is the same run.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import duckdb

from monitor.ports import Entry
from storage.inserting import rows_of
from storage.rows import Row, Rows, rejected

Key = tuple[str, str, str, datetime]
"""Vantage, endpoint, probe and instant of a slot."""

_OF = """
WITH asked AS (
    SELECT unnest($endpoints::VARCHAR[]) AS endpoint, unnest($probes::VARCHAR[]) AS probe,
           unnest($times::TIMESTAMPTZ[]) AS slot_at
)
SELECT '{table}' AS what, coalesce(t.vantage, '') AS vantage, t.endpoint, t.probe, t.slot_at, t.run_id
FROM {table} t SEMI JOIN asked USING (endpoint, probe, slot_at)
WHERE t.slot_at BETWEEN $first AND $last
"""
_TAKEN = " UNION ALL ".join(f"({_OF.format(table=table)})" for table in ("slots", "runs"))

# The instants let the database skip all but the blocks of about that time.
_RUNS = """
SELECT r.run_id FROM runs r
WHERE r.run_id IN (SELECT unnest($run_ids::VARCHAR[]))
  AND r.started_at BETWEEN $first::TIMESTAMPTZ - INTERVAL 1 DAY AND $last::TIMESTAMPTZ + INTERVAL 1 DAY
"""
_REFUSED = """
SELECT x.run_id FROM rejected x
WHERE x.writer = $writer AND x.kind = 'run' AND x.run_id IN (SELECT unnest($run_ids::VARCHAR[]))
"""


@dataclass(slots=True)
class Taken:
    """Slots that have a row or a run, with the run's id; runs that are there; runs of the writer that were refused."""

    slots: dict[Key, str | None] = field(default_factory=dict)
    runs: dict[Key, str | None] = field(default_factory=dict)
    run_ids: set[str] = field(default_factory=set)
    refused: set[str] = field(default_factory=set)

    def add(self, table: str, row: Row) -> None:
        """Note a row of ``slots`` or ``runs``."""
        key = key_of(row)
        if table == "runs":
            self.run_ids.add(row["run_id"])
        if key is not None:
            (self.slots if table == "slots" else self.runs).setdefault(key, row["run_id"])

    def has_slot(self, table: str, row: Row) -> bool:
        """Whether the slot of a row belongs to another."""
        key = key_of(row)
        if key is None:
            return False
        if table == "slots":
            return key in self.slots or self.runs.get(key, row["run_id"]) != row["run_id"]
        return key in self.runs or self.slots.get(key, row["run_id"]) != row["run_id"]


def key_of(row: Row) -> Key | None:
    """Return the key of a row of ``slots`` or ``runs``; None for a run without a slot."""
    if row["slot_at"] is None:
        return None
    return row["vantage"] or "", row["endpoint"], row["probe"], row["slot_at"]


@dataclass(frozen=True, slots=True)
class Claims:
    """What a batch of `writer` is about: slots, ids of runs, and instants near which these runs began."""

    writer: str
    keys: Sequence[Key]
    run_ids: Sequence[str]
    times: Sequence[datetime]


def taken(con: duckdb.DuckDBPyConnection, claims: Claims) -> Taken:
    """Return what the database has of what is claimed."""
    found = Taken()
    if claims.keys:
        times = [key[3] for key in claims.keys]
        rows = rows_of(
            con, _TAKEN, endpoints=[key[1] for key in claims.keys], probes=[key[2] for key in claims.keys],
            times=times, first=min(times), last=max(times),
        )  # fmt: skip
        for row in rows:
            found.add(row["what"], row)
    if claims.run_ids:
        span = {"first": min(claims.times), "last": max(claims.times)}
        found.run_ids.update(row["run_id"] for row in rows_of(con, _RUNS, run_ids=claims.run_ids, **span))
        refused = rows_of(con, _REFUSED, writer=claims.writer, run_ids=claims.run_ids)
        found.refused.update(row["run_id"] for row in refused)
    return found


def without_doubles(
    writer: str, entries: Sequence[Entry], projected: Sequence[Rows], look_up: Callable[[Claims], Taken]
) -> list[Rows]:
    """Return the rows of `entries`, with what is there already or belongs to a slot of another in ``rejected``.

    Parameters
    ----------
    writer, entries, projected
        Who wrote what, and `storage.rows.project` of each entry.
    look_up
        Returns what the store has of what is claimed.
    """
    known = look_up(_claims(writer, projected))
    kept: list[Rows] = []
    for entry, rows in zip(entries, projected, strict=True):
        reason = _reason(rows, known)
        runs = rows.get("runs", [])
        if reason is None:
            kept.append(rows)
            for table in ("slots", "runs"):
                for row in rows.get(table, ()):
                    known.add(table, row)
        else:
            kept.append(rejected(writer, entry, reason, run_id=runs[0]["run_id"] if runs else None))
            known.refused.update(row["run_id"] for row in runs)
    return kept


def _claims(writer: str, projected: Sequence[Rows]) -> Claims:
    runs = [row for rows in projected for row in rows.get("runs", ())]
    slots = [row for rows in projected for row in rows.get("slots", ())]
    captures = [row for rows in projected for row in rows.get("captures", ())]
    return Claims(
        writer=writer, keys=[key for row in (*slots, *runs) if (key := key_of(row)) is not None],
        run_ids=sorted({row["run_id"] for row in (*runs, *captures)}),
        times=[*(row["started_at"] for row in runs), *(row["at"] for row in captures)],
    )  # fmt: skip


def _reason(rows: Rows, known: Taken) -> str | None:
    """Why these rows are refused; None when they are not."""
    for run in rows.get("runs", ()):
        if run["run_id"] in known.run_ids:
            return f"the run {run['run_id']} is in the store already"
    for table in ("slots", "runs"):
        for row in rows.get(table, ()):
            if known.has_slot(table, row):
                return (
                    f"the slot {row['endpoint']} {row['probe']} {row['slot_at']:%Y-%m-%dT%H:%M:%SZ} has its row: "
                    f"do two agents run as vantage {row['vantage']!r}?"
                )
    for row in rows.get("captures", ()):
        if row["run_id"] in known.refused:
            return "the run of this capture was refused"
        if row["run_id"] not in known.run_ids:
            return "the run of this capture is not in the store"
    return None
