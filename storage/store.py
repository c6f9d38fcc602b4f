"""The DuckDB store: idempotent ingest and named reads. The only user of the database file."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Lock
from typing import Any

import duckdb
import orjson

from monitor.codec import plain
from monitor.ports import Entry
from storage import queries
from storage.connection import Database
from storage.interface import MEASURED, TABLES, Json
from storage.rows import Row, counted, groups, project, rejected
from storage.writing import set_mark, write

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _rows(con: duckdb.DuckDBPyConnection, sql: str, **parameters: Any) -> list[Row]:
    result = con.execute(sql, parameters)
    names = [column[0] for column in result.description or ()]
    return [dict(zip(names, row, strict=True)) for row in result.fetchall()]


def _records(rows: Sequence[Row]) -> list[Any]:
    return [orjson.loads(row["record"]) for row in rows]


def _microseconds(at: datetime) -> int:
    return (at - _EPOCH) // timedelta(microseconds=1)


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

    def __init__(self, path: Path) -> None:
        self._database = Database(path)
        self._writing = Lock()

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
        with self._writing:
            mark = self.mark(writer)
            fresh = sorted({entry.seq: entry for entry in entries if entry.seq > mark}.values(), key=lambda e: e.seq)
            if not fresh:
                return mark
            try:
                self._apply(writer, fresh)
            except (duckdb.DataError, duckdb.InvalidInputException):
                self._apply_singly(writer, fresh)
            return fresh[-1].seq

    def _apply(self, writer: str, entries: Sequence[Entry], reason: str | None = None) -> None:
        with self._database.transaction() as con:
            rows = (project(writer, e) if reason is None else rejected(writer, e, reason) for e in entries)
            for group in groups(rows):
                write(con, group)
            set_mark(con, writer, entries[-1].seq)

    def _apply_singly(self, writer: str, entries: Sequence[Entry]) -> None:
        """One value that no column takes must not keep the others out."""
        for entry in entries:
            try:
                self._apply(writer, [entry])
            except (duckdb.DataError, duckdb.InvalidInputException) as error:
                self._apply(writer, [entry], reason=str(error))

    def _read(self, sql: str, **parameters: Any) -> list[Row]:
        with self._database.transaction() as con:
            return _rows(con, sql, **parameters)

    def mark(self, writer: str) -> int:
        """Highest sequence number applied for `writer`; 0 when it never wrote."""
        return int(self._read(queries.MARK, writer=writer)[0]["mark"])

    def knows(self, endpoint: str) -> bool:
        """Whether `endpoint` was ever declared or measured."""
        return bool(self._read(queries.KNOWS, endpoint=endpoint)[0]["known"])

    def overview(self) -> Json:
        """``{"endpoints": [...]}`` by name: declaration, last run, latest verdicts and metrics, open incidents."""
        with self._database.transaction() as con:
            endpoints = _rows(con, queries.ENDPOINTS)
            verdicts = _by(_rows(con, queries.LATEST_VERDICTS), "endpoint")
            incidents = _by(_rows(con, queries.INCIDENTS, endpoint=None, open_only=True), "endpoint")
            metrics = _by(_rows(con, queries.LATEST_METRICS), "endpoint")
        for row in endpoints:
            name = row["endpoint"]
            row["verdicts"] = _records(verdicts[name])
            row["incidents"] = _records(incidents[name])
            row["metrics"] = {metric["metric"]: {key: metric[key] for key in MEASURED} for metric in metrics[name]}
        return {"endpoints": plain(endpoints)}

    def series(
        self, endpoint: str, metric: str, *, since: datetime | None, until: datetime | None, buckets: int
    ) -> Json:
        """Median, minimum, maximum and count of a metric per time bucket; see `ReadStore.series`."""
        with self._database.transaction() as con:
            span = _rows(con, queries.SPAN, endpoint=endpoint, metric=metric)[0]
            if span["first"] is None:
                return {"points": []}
            first = span["first"] if since is None else _microseconds(since)
            last = span["last"] + 1 if until is None else _microseconds(until)
            width = max(1, -((first - last) // buckets))
            points = _rows(
                con, queries.SERIES, endpoint=endpoint, metric=metric, since=first, until=last, width=width
            )
        return {"points": plain(points)}

    def verdicts(self, endpoint: str | None, detector: str | None, *, limit: int) -> Json:
        """``{"verdicts": [Verdict]}``, newest first."""
        return {"verdicts": _records(self._read(queries.VERDICTS, endpoint=endpoint, detector=detector, limit=limit))}

    def verdict(self, verdict_id: str) -> Json | None:
        """The Verdict, or None when there is none of this id."""
        found: list[Json] = _records(self._read(queries.VERDICT, verdict_id=verdict_id))
        return found[0] if found else None

    def exchanges(self, endpoint: str, *, limit: int, outcome: str | None) -> Json:
        """``{"exchanges": [Exchange]}``, newest first; ``tokens_golden`` as the judge counted."""
        with self._database.transaction() as con:
            rows = _rows(con, queries.EXCHANGES, endpoint=endpoint, limit=limit, outcome=outcome)
            run_ids = list({row["run_id"] for row in rows})
            golden = {row["exchange_id"]: row["n"] for row in _rows(con, queries.GOLDEN_TOKENS, run_ids=run_ids)}
        return {"exchanges": counted(_records(rows), golden)}

    def incidents(self, endpoint: str | None, *, open_only: bool) -> Json:
        """``{"incidents": [Incident]}``: the latest state of each, last opened first."""
        return {"incidents": _records(self._read(queries.INCIDENTS, endpoint=endpoint, open_only=open_only))}

    def slots(self, endpoint: str | None, *, since: datetime | None, limit: int) -> Json:
        """``{"slots": [Slot]}``, newest first."""
        return {"slots": plain(self._read(queries.SLOTS, endpoint=endpoint, since=since, limit=limit))}

    def last_slots(self) -> Json:
        """``{"slots": [{"endpoint", "probe", "slot_at"}]}``: the latest slot of each endpoint and probe."""
        return {"slots": plain(self._read(queries.LAST_SLOTS))}

    def runs(self, endpoint: str, probe: str | None, *, limit: int) -> Json:
        """``{"records": [RunRecord], "judged": [JudgedRun]}``, newest first."""
        with self._database.transaction() as con:
            runs = _rows(con, queries.RUNS, endpoint=endpoint, probe=probe, limit=limit)
            ids = [run["run_id"] for run in runs]
            judged = {row["run_id"]: row for row in _rows(con, queries.JUDGED_OF_RUNS, run_ids=ids)}
            records = _run_records(con, runs)
        return {"records": records, "judged": _records([judged[run_id] for run_id in ids if run_id in judged])}

    def unjudged(self, *, limit: int) -> Json:
        """``{"records": [RunRecord]}`` without a judged row, oldest first."""
        with self._database.transaction() as con:
            return {"records": _run_records(con, _rows(con, queries.UNJUDGED, limit=limit))}

    def counts(self) -> dict[str, int]:
        """Rows per table."""
        sql = " UNION ALL ".join(f"SELECT '{table}' AS name, count(*) AS n FROM {table}" for table in TABLES)  # noqa: S608
        return {row["name"]: row["n"] for row in self._read(sql)}


def _by(rows: Sequence[Row], key: str) -> defaultdict[str, list[Row]]:
    found: defaultdict[str, list[Row]] = defaultdict(list)
    for row in rows:
        found[row.pop(key)].append(row)
    return found


def _run_records(con: duckdb.DuckDBPyConnection, runs: Sequence[Row]) -> list[Json]:
    ids = [run["run_id"] for run in runs]
    exchanges = _by(_rows(con, queries.EXCHANGES_OF_RUNS, run_ids=ids), "run_id")
    observations = _by(_rows(con, queries.OBSERVATIONS_OF_RUNS, run_ids=ids), "run_id")
    return [
        {
            "run": orjson.loads(run["record"]),
            "exchanges": _records(exchanges[run["run_id"]]),
            "observations": observations[run["run_id"]],
        }
        for run in runs
    ]
