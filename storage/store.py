"""The DuckDB store: idempotent ingest and named reads. The only user of the database file."""

import shutil
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any

import duckdb

from monitor.codec import plain
from monitor.config_store import RetentionConfig
from monitor.errors import StoreError
from monitor.ports import Entry
from monitor.shape import TRAFFIC
from storage import queries
from storage.arrays import opened_capture
from storage.connection import Database
from storage.doubles import taken, without_doubles
from storage.evidence import Evidence, folder_of
from storage.inserting import rows_of
from storage.interface import MEASURED, Json
from storage.rows import Row, groups, project, rejected
from storage.run_reads import (
    by,
    endpoint_runs,
    exchange_records,
    judged_records,
    records,
    run_records,
    unjudged_records,
)
from storage.snapshots import Snapshot, take
from storage.tally import Tally
from storage.upkeep import Done, Upkeep
from storage.writing import set_mark, write

RESERVE_BYTES = 64 * 2**20
"""Room that ingest leaves on the disk, so that a checkpoint and a clean end always fit."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _microseconds(at: datetime) -> int:
    return (at - _EPOCH) // timedelta(microseconds=1)


def free_bytes(folder: Path) -> int:
    """Bytes that the disk of `folder` has left."""
    return shutil.disk_usage(folder).free


class DuckStore:
    """A `storage.interface.ReadStore` in a DuckDB file.

    Parameters
    ----------
    path
        The file; made when missing. Only one process can have it open.

    Raises
    ------
    StoreError
        When another process has the file, when it is of a newer schema, or when it cannot be opened.
    """

    def __init__(self, path: Path, *, free_bytes: Callable[[Path], int] = free_bytes) -> None:
        self._database = Database(path)
        self._evidence = Evidence(folder_of(path))
        self._writing = Lock()
        self._upkeep = Upkeep(self._database, folder_of(path), self._writing)
        self._path, self._free_bytes = path, free_bytes
        self._trouble: str | None = None
        self.tally = Tally()

    def close(self) -> None:
        """Checkpoint and close. Idempotent."""
        self._database.close()

    def ingest(self, writer: str, entries: Sequence[Entry]) -> int:
        """Apply entries above the writer's high-water mark in one transaction; return the new mark.

        Entries that are no noun of ours are kept in the table ``rejected`` with the reason.

        Raises
        ------
        StoreError
            When the database cannot take them now; nothing of this call is applied then.
        """
        try:
            with self._writing:
                mark = self._ingest(writer, entries)
        except StoreError as error:
            self._trouble = str(error)
            raise
        self._trouble = None
        return mark

    def _ingest(self, writer: str, entries: Sequence[Entry]) -> int:
        mark = self.mark(writer)
        fresh = sorted({entry.seq: entry for entry in entries if entry.seq > mark}.values(), key=lambda e: e.seq)
        if not fresh:
            return mark
        if full := self._full():
            raise StoreError(full)
        try:
            self._apply(writer, fresh)
        except (duckdb.DataError, duckdb.InvalidInputException):
            self._apply_singly(writer, fresh)
        return fresh[-1].seq

    def trouble(self) -> str | None:
        """Why an ingest would fail now, or the last one failed; None when neither is known."""
        return self._full() or self._trouble

    def _full(self) -> str | None:
        free = self._free_bytes(self._path.parent)
        if free >= RESERVE_BYTES:
            return None
        return f"{self._path}: the disk has only {free >> 20} MiB left: make room; writers keep results"

    def upkeep(self, now: datetime, retention: RetentionConfig) -> Done:
        """Move evidence into files, join small ones, drop what is too old. Raises StoreError when the disk refuses."""
        return self._upkeep.run(now, retention)

    def snapshot(self, now: datetime, label: str) -> Snapshot:
        """Take a snapshot; ingest waits meanwhile. Raises StoreError when there is no room."""
        with self._writing:
            return take(self._database, now, label)

    def _apply(self, writer: str, entries: Sequence[Entry], reason: str | None = None) -> None:
        with self._database.transaction() as con:
            rows = [project(writer, e) if reason is None else rejected(writer, e, reason) for e in entries]
            rows = without_doubles(writer, entries, rows, partial(taken, con))
            for group in groups(rows):
                write(con, group)
            set_mark(con, writer, entries[-1].seq)
        self.tally.add(rows)

    def _apply_singly(self, writer: str, entries: Sequence[Entry]) -> None:
        """One value that no column takes must not keep the others out."""
        for entry in entries:
            try:
                self._apply(writer, [entry])
            except (duckdb.DataError, duckdb.InvalidInputException) as error:
                self._apply(writer, [entry], reason=str(error))

    def read(self, sql: str, **parameters: Any) -> list[Row]:
        """Rows of a query of ours, as dicts by column name; `parameters` are its named ones."""
        with self._database.transaction() as con:
            return rows_of(con, sql, **parameters)

    def mark(self, writer: str) -> int:
        """Highest sequence number applied for `writer`; 0 when it never wrote."""
        return int(self.read(queries.MARK, writer=writer)[0]["mark"])

    def knows(self, endpoint: str) -> bool:
        """Whether `endpoint` was ever declared or measured."""
        return bool(self.read(queries.KNOWS, endpoint=endpoint)[0]["known"])

    def overview(self) -> Json:
        """``{"endpoints": [...]}`` by name: declaration, last run, latest verdicts and metrics, open incidents."""
        with self._database.transaction() as con:
            endpoints = rows_of(con, queries.ENDPOINTS)
            verdicts = by(rows_of(con, queries.LATEST_VERDICTS), "endpoint")
            incidents = by(rows_of(con, queries.INCIDENTS, endpoint=None, open_only=True), "endpoint")
            metrics = by(rows_of(con, queries.LATEST_METRICS), "endpoint")
        for row in endpoints:
            name = row["endpoint"]
            row["verdicts"] = records(verdicts[name])
            row["incidents"] = records([*incidents[name], *incidents[f"provider {row['provider']}"]])
            row["metrics"] = {metric["metric"]: {key: metric[key] for key in MEASURED} for metric in metrics[name]}
        return {"endpoints": plain(endpoints)}

    def series(
        self, endpoint: str, metric: str, *, since: datetime | None, until: datetime | None, buckets: int
    ) -> Json:
        """Median, minimum, maximum and count of a metric per time bucket; see `ReadStore.series`."""
        with self._database.transaction() as con:
            span = rows_of(con, queries.SPAN, endpoint=endpoint, metric=metric)
            if not span:
                return {"points": []}
            first = span[0]["first"] if since is None else _microseconds(since)
            last = span[0]["last"] + 1 if until is None else _microseconds(until)
            width = max(1, -((first - last) // buckets))
            points = rows_of(
                con, queries.SERIES, endpoint=endpoint, metric=metric, since=first, until=last, width=width
            )
        return {"points": plain(points)}

    def verdicts(self, endpoint: str | None, detector: str | None, *, limit: int) -> Json:
        """``{"verdicts": [Verdict]}``, newest first."""
        return {"verdicts": records(self.read(queries.VERDICTS, endpoint=endpoint, detector=detector, limit=limit))}

    def verdict(self, verdict_id: str) -> Json | None:
        """The Verdict, or None when there is none of this id."""
        found: list[Json] = records(self.read(queries.VERDICT, verdict_id=verdict_id))
        return found[0] if found else None

    def exchanges(self, endpoint: str, *, limit: int, outcome: str | None) -> Json:
        """``{"exchanges": [Exchange]}``, newest first; ``tokens_golden`` as the judge counted."""
        with self._database.transaction() as con:
            found = exchange_records(con, self._evidence, endpoint=endpoint, outcome=outcome, limit=limit)
        return {"exchanges": found}

    def capture(self, exchange_id: str) -> Json | None:
        """``{"exchange_id", "at", "capture", "reason"}`` of an exchange; see `ReadStore.capture`."""
        with self._database.transaction() as con:
            row, at = self._evidence.capture(con, exchange_id)
        return None if at is None else {"exchange_id": exchange_id, "at": plain(at), **opened_capture(row)}

    def incidents(self, endpoint: str | None, *, open_only: bool) -> Json:
        """``{"incidents": [Incident]}``: the latest state of each, last opened first."""
        return {"incidents": records(self.read(queries.INCIDENTS, endpoint=endpoint, open_only=open_only))}

    def slots(self, endpoint: str | None, *, since: datetime | None, limit: int) -> Json:
        """``{"slots": [Slot]}``, newest first."""
        return {"slots": plain(self.read(queries.SLOTS, endpoint=endpoint, since=since, limit=limit))}

    def last_slots(self, vantage: str | None = None) -> Json:
        """``{"slots": [{"endpoint", "probe", "slot_at"}]}``: the latest slot of each endpoint and probe."""
        return {"slots": plain(self.read(queries.LAST_SLOTS, vantage=vantage))}

    def coverage(self, since: datetime | None) -> Json:
        """What became of the slots since then, and what was spent; see `ReadStore.coverage`."""
        with self._database.transaction() as con:
            slots = rows_of(con, queries.COVERAGE, since=since)
            spent = rows_of(con, queries.SPENT, since=since, traffic=TRAFFIC)
        return {"slots": plain(slots), "spent": plain(spent)}

    def runs(self, endpoint: str, probe: str | None, *, limit: int) -> Json:
        """``{"records": [RunRecord], "judged": [JudgedRun]}``, newest first."""
        with self._database.transaction() as con:
            runs = endpoint_runs(con, endpoint, probe, limit)
            judged = judged_records(con, self._evidence, runs)
            return {"records": run_records(con, self._evidence, runs), "judged": judged}

    def runs_of(self, run_ids: Sequence[str], *, since: datetime, until: datetime) -> Json:
        """Like `runs`, for these runs, of those that began between both instants; in the order of the ids."""
        with self._database.transaction() as con:
            found = rows_of(con, queries.RUNS_BY_ID, run_ids=list(run_ids), since=since, until=until)
            runs = sorted(found, key=lambda row: run_ids.index(row["run_id"]))
            judged = judged_records(con, self._evidence, runs)
            return {"records": run_records(con, self._evidence, runs), "judged": judged}

    def unjudged(self, *, limit: int) -> Json:
        """``{"records": [RunRecord]}`` without a judged row, oldest first."""
        with self._database.transaction() as con:
            return {"records": unjudged_records(con, self._evidence, limit)}

    def counts(self) -> dict[str, int]:
        """Rows per table, those in files included."""
        return {row["name"]: int(row["n"]) for row in self.read(queries.COUNTS)}

    def last_runs(self) -> Json:
        """``{"runs": [...]}``: the newest run of each endpoint; see `ReadStore.last_runs`."""
        return {"runs": plain(self.read(queries.LAST_RUNS))}

    def sizes(self) -> dict[str, int]:
        """Bytes on the disk: ``database``, ``log``, ``evidence``, and ``free``."""
        evidence = int(self.read(queries.EVIDENCE_BYTES)[0]["n"])
        log = self._path.with_name(f"{self._path.name}.wal")
        free = self._free_bytes(self._path.parent)
        return {"database": _size(self._path), "log": _size(log), "evidence": evidence, "free": free}


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
