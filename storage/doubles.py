"""Two agents by mistake: a slot of a vantage, endpoint and probe has one row, and at most one run (case OP-06).

The first to arrive stays. What comes later is kept in the table ``rejected`` with the reason, so nothing that was
measured is lost, and nothing counts twice. The key has no null part: an agent of an older version, which did not say
where it is, is the vantage ``""``.
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


@dataclass(slots=True)
class Taken:
    """Slots that have a row or a run, with the run's id."""

    slots: dict[Key, str | None] = field(default_factory=dict)
    runs: dict[Key, str | None] = field(default_factory=dict)

    def add(self, table: str, row: Row) -> None:
        """Note a row of ``slots`` or ``runs``."""
        key = key_of(row)
        if key is not None:
            (self.slots if table == "slots" else self.runs).setdefault(key, row["run_id"])

    def refuses(self, table: str, row: Row) -> bool:
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


def taken(con: duckdb.DuckDBPyConnection, keys: Sequence[Key]) -> Taken:
    """Return what the database has of the slots `keys`."""
    found = Taken()
    if keys:
        times = [key[3] for key in keys]
        rows = rows_of(
            con, _TAKEN, endpoints=[key[1] for key in keys], probes=[key[2] for key in keys], times=times,
            first=min(times), last=max(times),
        )  # fmt: skip
        for row in rows:
            found.add(row["what"], row)
    return found


def without_doubles(
    writer: str, entries: Sequence[Entry], projected: Sequence[Rows], look_up: Callable[[Sequence[Key]], Taken]
) -> list[Rows]:
    """Return the rows of `entries`, with what belongs to a slot of another in ``rejected``.

    Parameters
    ----------
    writer, entries, projected
        Who wrote what, and `storage.rows.project` of each entry.
    look_up
        Returns what the store has of some slots.
    """
    claims = [(table, row) for rows in projected for table in ("slots", "runs") for row in rows.get(table, ())]
    known = look_up([key for _, row in claims if (key := key_of(row)) is not None])
    gone: set[str] = set()
    kept: list[Rows] = []
    for entry, rows in zip(entries, projected, strict=True):
        double = _double(rows, known, gone)
        kept.append(rows if double is None else rejected(writer, entry, double))
        for table in ("slots", "runs") if double is None else ():
            for row in rows.get(table, ()):
                known.add(table, row)
    return kept


def _double(rows: Rows, known: Taken, gone: set[str]) -> str | None:
    for table in ("slots", "runs"):
        for row in rows.get(table, ()):
            if known.refuses(table, row):
                if table == "runs":
                    gone.add(row["run_id"])
                return (
                    f"the slot {row['endpoint']} {row['probe']} {row['slot_at']:%Y-%m-%dT%H:%M:%SZ} has its row: "
                    f"do two agents run as vantage {row['vantage']!r}?"
                )
    orphan = any(row["run_id"] in gone for row in rows.get("captures", ()))
    return "the run of this capture was refused" if orphan else None
