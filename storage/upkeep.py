"""Keeps the store small: evidence moves into Parquet files, small files become one, what is too old goes.

All SQL that changes the table ``files`` is here. A file is written and flushed before the transaction that lists it, so
after a kill at any point every row is in exactly one place; files that no row lists are swept away at the next pass.
"""

import secrets
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb

from monitor.config_store import RetentionConfig
from storage.alerts import forget_done
from storage.connection import Database, flush, quoted
from storage.evidence import KINDS
from storage.inserting import insert, rows_of, types_of

FRESH = timedelta(hours=6)
"""So long rows of evidence stay in the database: detectors and pages mostly ask for those."""
SMALL_BYTES = 64 * 2**20
"""Files below this are joined with others of their day."""

# The rows that have to move, with the day that they belong to and whether a failure rests on them.
_MOVING = """
CREATE OR REPLACE TEMP TABLE moving AS
WITH bad AS (
    SELECT unnest(from_json(v.record->'run_ids', '["VARCHAR"]')) AS run_id FROM verdicts v
    WHERE v.status IN ('fail', 'suspect')
), broken AS (
    SELECT e.exchange_id FROM exchanges e
    WHERE e.outcome NOT IN ('ok', 'ok_length')
      AND e.at BETWEEN (SELECT min(t.at) FROM {table} t) - INTERVAL 1 DAY AND $before
)
SELECT t.rowid AS id, CAST(t.at AS DATE) AS "day",
       t.run_id IN (SELECT run_id FROM bad) OR t.exchange_id IN (SELECT exchange_id FROM broken) AS failed
FROM {table} t WHERE t.at < $before
"""
_PARTS = 'SELECT m."day", m.failed, count(*) AS n FROM moving m GROUP BY ALL ORDER BY ALL'
_PART = 'SELECT m.id FROM moving m WHERE m."day" = $day AND m.failed = $failed'
_SMALL = """
SELECT f.kind, f."day", list(f.name ORDER BY f.name) AS names FROM files f
WHERE f.n_bytes < $small AND f."day" < $today GROUP BY ALL HAVING count(*) > 1 ORDER BY ALL
"""
_ABOUT = "SELECT count(*) AS n_rows, min(t.at) AS first_at, max(t.at) AS last_at FROM read_parquet($path) t"
_DROP = 'DELETE FROM files f WHERE f.kind = $kind AND f."day" < $day'
# When a row was refused is filled in here: ingest has no clock.
_REFUSED_NOW = 'UPDATE rejected SET "at" = $now WHERE "at" IS NULL'
_REFUSED_OLD = 'DELETE FROM rejected x WHERE x."at" < $cut'
# The first instant that is left, at least about: nothing reads what was before.
_FIRST_LEFT = 'UPDATE latest_observations SET first_at = least(greatest(first_at, $cut), "at") WHERE first_at < $cut'
_NUMBERS = (("runs", "started_at"), ("exchanges", '"at"'), ("observations", '"at"'), ("slots", "slot_at"),
            ("judged", "judged_at"), ("unjudged", "started_at"))  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What one pass did: rows moved into files, files joined, files dropped by age, rows deleted by age."""

    moved: int
    joined: int
    dropped: int
    deleted: int


class Upkeep:
    """Passes over one database; `writing` keeps ingest out while a pass is at work."""

    def __init__(self, database: Database, folder: Path, writing: AbstractContextManager[Any]) -> None:
        self._database, self._folder, self._writing = database, folder, writing

    def run(self, now: datetime, retention: RetentionConfig, fresh: timedelta = FRESH) -> Done:
        """Do all that is due at `now`. Raises StoreError when disk or database refuse; what was done stays done."""
        with self._writing:
            self._sweep()
            dropped = self._expire(now, retention)
            deleted = self._delete_numbers(now, retention.numbers) + self._forget(now, retention.captures)
        moved = sum(self._move(table, now - fresh) for table in KINDS)
        joined = self._join(now.date())
        self._database.renew()
        return Done(moved=moved, joined=joined, dropped=dropped, deleted=deleted)

    def _sweep(self) -> None:
        """Remove files that no row lists: of a pass that was killed, joined by the last pass, or too old."""
        with self._database.transaction() as con:
            listed = {row["name"] for row in rows_of(con, "SELECT f.name FROM files f")}
        for path in self._folder.glob("*/*/*"):
            if str(path.relative_to(self._folder)) not in listed:
                path.unlink()

    def _move(self, table: str, before: datetime) -> int:
        with self._writing, self._database.transaction() as con:
            con.execute(_MOVING.format(table=table), {"before": before})
            parts = rows_of(con, _PARTS)
            for part in parts:
                which = {"day": part["day"], "failed": part["failed"]}
                chosen = f"SELECT t.* FROM {table} t WHERE t.rowid IN ({_PART})"  # noqa: S608  # our own names
                row = self._written(con, KINDS[table][part["failed"]], part["day"], chosen, which)
                insert(con, types_of(con), "files", [row])
                con.execute(f"DELETE FROM {table} t WHERE t.rowid IN ({_PART})", which)  # noqa: S608
        return sum(part["n"] for part in parts)

    def _join(self, today: date) -> int:
        with self._database.transaction() as con:
            groups = rows_of(con, _SMALL, small=SMALL_BYTES, today=today)
        return sum(self._join_day(group["kind"], group["day"], group["names"]) for group in groups)

    def _join_day(self, kind: str, day: date, names: list[str]) -> int:
        present = [name for name in names if (self._folder / name).exists()]
        with self._writing, self._database.transaction() as con:
            con.execute("DELETE FROM files f WHERE f.name IN (SELECT unnest($names))", {"names": names})
            if present:  # somebody may have deleted the others
                what = {"paths": [str(self._folder / name) for name in present]}
                row = self._written(con, kind, day, "SELECT t.* FROM read_parquet($paths) t", what)
                insert(con, types_of(con), "files", [row])
        return len(names)

    def _written(
        self, con: duckdb.DuckDBPyConnection, kind: str, day: date, chosen: str, what: dict[str, Any]
    ) -> dict[str, Any]:
        """Write the rows of the query `chosen` into a new file, flush it, and return its row for ``files``."""
        name = f"{kind}/day={day.isoformat()}/{secrets.token_hex(6)}.parquet"
        path = self._folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        con.execute(f"COPY ({chosen}) TO {quoted(path)} (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 4096)", what)
        flush(path, path.parent, path.parent.parent, self._folder)
        about = rows_of(con, _ABOUT, path=str(path))[0]
        return {"name": name, "kind": kind, "day": day, "n_bytes": path.stat().st_size, **about}

    def _expire(self, now: datetime, retention: RetentionConfig) -> int:
        both = (retention.captures, retention.failures)
        ages = [pair for kinds in KINDS.values() for pair in zip(kinds, both, strict=True)]
        with self._database.transaction() as con:
            return sum(
                int(con.execute(_DROP, {"kind": kind, "day": cut.date()}).fetchall()[0][0])
                for kind, cut in _cuts(now, ages)
            )

    def _delete_numbers(self, now: datetime, age_s: float) -> int:
        deleted = 0
        for _, cut in _cuts(now, [("numbers", age_s)]):
            with self._database.transaction() as con:
                for table, at in _NUMBERS:
                    sql = f"DELETE FROM {table} t WHERE t.{at} < $cut"  # noqa: S608  # our own names
                    deleted += int(con.execute(sql, {"cut": cut}).fetchall()[0][0])
                con.execute(_FIRST_LEFT, {"cut": cut})
        return deleted

    def _forget(self, now: datetime, age_s: float) -> int:
        """Drop what was refused, which may hold whole captures, and what alerting is done with."""
        with self._database.transaction() as con:
            con.execute(_REFUSED_NOW, {"now": now})
            deleted = sum(
                int(con.execute(_REFUSED_OLD, {"cut": cut}).fetchall()[0][0])
                for _, cut in _cuts(now, [("rejected", age_s)])
            )
            return deleted + forget_done(con, now)


def _cuts(now: datetime, ages: Iterable[tuple[str, float]]) -> Iterator[tuple[str, datetime]]:
    """The instants before which kinds are too old; kinds that are kept for ever have none."""
    longest = (now - datetime(1970, 1, 2, tzinfo=UTC)).total_seconds()
    for kind, age_s in ages:
        if age_s < longest:
            yield kind, now - timedelta(seconds=age_s)
