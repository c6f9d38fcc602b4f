"""A store in memory, for tests and for commands that work in one process. Same contract as `DuckStore`."""

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from statistics import median
from threading import RLock
from typing import Any

import orjson

from monitor.codec import plain
from monitor.ports import Entry
from monitor.shape import TRAFFIC
from storage.arrays import join_exchange, join_judged, opened_capture
from storage.coverage import coverage_of
from storage.doubles import Claims, Taken, without_doubles
from storage.interface import LAST_RUN, MEASURED, TABLES, Json
from storage.rows import REPLACED, Row, Rows, counted, groups, placed, project
from storage.tally import Tally

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TICK = timedelta(microseconds=1)


def _point(at: datetime, values: list[float]) -> Json:
    if not values:
        return {"at": at, "value": None, "low": None, "high": None, "n": 0}
    return {"at": at, "value": median(values), "low": min(values), "high": max(values), "n": len(values)}


def _records(rows: Iterable[Row]) -> list[Any]:
    return [orjson.loads(row["record"]) for row in rows]


def _newest(rows: Iterable[Row], key: str) -> list[Row]:
    """Sort by `key`, newest first; of equal ones the last to arrive comes first."""
    return sorted(rows, key=lambda row: row[key])[::-1]


def _latest(rows: Iterable[Row], key: Callable[[Row], Any]) -> list[Row]:
    """Return the newest row (by ``at``) of each key, sorted by key."""
    found: dict[Any, Row] = {}
    for row in _newest(rows, "at"):
        found.setdefault(key(row), row)
    return [found[name] for name in sorted(found)]


class MemoryStore:
    """A `storage.interface.ReadStore` that keeps rows in lists and forgets them with the process."""

    def __init__(self) -> None:
        self._lock = RLock()
        self._marks: dict[str, int] = {}
        self.tally = Tally()
        self._tables: Rows = {table: [] for table in TABLES}

    def close(self) -> None:
        """Nothing to close."""

    def ingest(self, writer: str, entries: Sequence[Entry]) -> int:
        """Apply entries above the writer's high-water mark; return the new mark."""
        with self._lock:
            mark = self.mark(writer)
            fresh = sorted({entry.seq: entry for entry in entries if entry.seq > mark}.values(), key=lambda e: e.seq)
            rows = [project(writer, entry) for entry in fresh]
            rows = without_doubles(writer, fresh, rows, self._taken)
            for group in groups(rows):
                self._write(group)
            self.tally.add(rows)
            self._marks[writer] = fresh[-1].seq if fresh else mark
            return self._marks[writer]

    def _taken(self, claims: Claims) -> Taken:
        refused = self._where("rejected", writer=claims.writer, kind="run")
        found = Taken(refused={row["run_id"] for row in refused} - {None})
        for table in ("slots", "runs"):
            for row in self._tables[table]:
                found.add(table, row)
        return found

    def _write(self, group: Rows) -> None:
        for table, key in REPLACED.items():
            gone = {row[key] for row in group.get(table, ())}
            self._tables[table] = [row for row in self._tables[table] if row[key] not in gone]
        judged = {row["run_id"] for row in group.get("judged", ())}
        self._tables["observations"] = [
            row for row in self._tables["observations"] if row["source"] == "run" or row["run_id"] not in judged
        ]
        self._tables["tokens"] = [
            row for row in self._tables["tokens"] if row["source"] == "endpoint" or row["run_id"] not in judged
        ]
        self._tables["runs"].extend(group.get("runs", ()))
        runs = {run["run_id"]: run for run in self._tables["runs"] if run["run_id"] in judged}
        group = {**group, "runs": [], "observations": placed(group.get("observations", []), runs)}
        for table in TABLES:
            self._tables[table].extend(group.get(table, ()))

    def _exchanges(self, rows: Iterable[Row]) -> list[Json]:
        arrays = {row["exchange_id"]: row["data"] for row in self._where("tokens", source="endpoint")}
        return [join_exchange(record, arrays) for record in _records(rows)]

    def _judged(self, rows: Iterable[Row]) -> list[Json]:
        arrays = {row["exchange_id"]: row["data"] for row in self._where("tokens", source="golden")}
        return [join_judged(record, arrays) for record in _records(rows)]

    def _where(self, table: str, **wanted: str | None) -> list[Row]:
        """Rows whose columns equal what is wanted; None means any."""
        with self._lock:
            return [
                row
                for row in self._tables[table]
                if all(value is None or row[name] == value for name, value in wanted.items())
            ]

    def mark(self, writer: str) -> int:
        """Highest sequence number applied for `writer`; 0 when it never wrote."""
        return self._marks.get(writer, 0)

    def knows(self, endpoint: str) -> bool:
        """Whether `endpoint` was ever declared or measured."""
        return any(self._where(table, endpoint=endpoint) for table in ("endpoints", "runs", "slots", "verdicts"))

    def overview(self) -> Json:
        """``{"endpoints": [...]}`` by name: declaration, last run, latest verdicts and metrics, open incidents."""
        with self._lock:
            names = {row["endpoint"] for table in ("endpoints", "runs") for row in self._tables[table]}
            return {"endpoints": plain([self._endpoint(name) for name in sorted(names)])}

    def _endpoint(self, name: str) -> Json:
        runs = _newest(self._where("runs", endpoint=name), "started_at")
        said = (self._where("endpoints", endpoint=name) or [{**runs[0], "precision": None}])[0]
        metrics = _latest(self._where("observations", endpoint=name), lambda row: row["metric"])
        return {
            "endpoint": name,
            **{key: said[key] for key in ("provider", "model", "reference", "precision")},
            "last_run_at": runs[0]["started_at"] if runs else None,
            "verdicts": _records(_latest(self._where("verdicts", endpoint=name), lambda row: row["detector"])),
            "incidents": [
                incident
                for subject in (name, f"provider {said['provider']}")
                for incident in self.incidents(subject, open_only=True)["incidents"]
            ],
            "metrics": {row["metric"]: {key: row[key] for key in MEASURED} for row in metrics},
        }

    def series(
        self, endpoint: str, metric: str, *, since: datetime | None, until: datetime | None, buckets: int
    ) -> Json:
        """Median, minimum, maximum and count of a metric per time bucket; see `ReadStore.series`."""
        rows = self._where("observations", endpoint=endpoint, metric=metric)
        if not rows:
            return {"points": []}
        first = since or min(row["at"] for row in rows)
        last = until or max(row["at"] for row in rows) + _TICK
        width = max(1, -(((first - last) // _TICK) // buckets)) * _TICK
        found: dict[int, list[float]] = {}
        for row in rows:
            if first <= row["at"] < last:
                values = found.setdefault((row["at"] - first) // width, [])
                values.extend([row["value"]] if row["value"] is not None else [])
        return {
            "points": plain([_point(first + bucket * width, values) for bucket, values in sorted(found.items())])
        }

    def verdicts(self, endpoint: str | None, detector: str | None, *, limit: int) -> Json:
        """``{"verdicts": [Verdict]}``, newest first."""
        rows = self._where("verdicts", endpoint=endpoint, detector=detector)
        return {"verdicts": _records(_newest(rows, "at")[:limit])}

    def verdict(self, verdict_id: str) -> Json | None:
        """The Verdict, or None when there is none of this id."""
        found: list[Json] = _records(_newest(self._where("verdicts", verdict_id=verdict_id), "at"))
        return found[0] if found else None

    def exchanges(self, endpoint: str, *, limit: int, outcome: str | None) -> Json:
        """``{"exchanges": [Exchange]}``, newest first; ``tokens_golden`` as the judge counted."""
        rows = self._where("exchanges", endpoint=endpoint, outcome=outcome)
        views = [view for judged in _records(self._where("judged", endpoint=endpoint)) for view in judged["views"]]
        golden = {one["exchange_id"]: n for one in views if (n := one.get("completion_tokens")) is not None}
        return {"exchanges": counted(self._exchanges(_newest(rows, "at")[:limit]), golden)}

    def capture(self, exchange_id: str) -> Json | None:
        """``{"exchange_id", "at", "capture", "reason"}`` of an exchange; see `ReadStore.capture`."""
        known = self._where("exchanges", exchange_id=exchange_id)
        found = self._where("captures", exchange_id=exchange_id)
        said = opened_capture(found[0] if found else None)
        return {"exchange_id": exchange_id, "at": plain(known[0]["at"]), **said} if known else None

    def trouble(self) -> str | None:
        """Memory takes everything."""
        return None

    def incidents(self, endpoint: str | None, *, open_only: bool) -> Json:
        """``{"incidents": [Incident]}``: the latest state of each, last opened first."""
        rows = self._where("incidents", endpoint=endpoint)
        return {
            "incidents": _records(
                _newest([row for row in rows if row["closed_at"] is None or not open_only], "opened_at")
            )
        }

    def slots(self, endpoint: str | None, *, since: datetime | None, limit: int) -> Json:
        """``{"slots": [Slot]}``, newest first."""
        rows = [row for row in self._where("slots", endpoint=endpoint) if since is None or row["slot_at"] >= since]
        return {"slots": plain(_newest(rows, "slot_at")[:limit])}

    def coverage(self, since: datetime | None) -> Json:
        """What became of the slots since then, and what was spent; see `ReadStore.coverage`."""
        real = {row["run_id"] for row in self._where("runs", probe=TRAFFIC)}
        asked = [row for row in self._where("exchanges") if row["run_id"] not in real]
        return coverage_of(self._where("slots"), asked, since)

    def last_slots(self, vantage: str | None = None) -> Json:
        """``{"slots": [{"endpoint", "probe", "slot_at"}]}``: the latest slot of each endpoint and probe."""
        last: dict[tuple[str, str], datetime] = {}
        for row in self._where("slots"):
            if vantage is not None and row["vantage"] not in {vantage, None}:
                continue
            key = (row["endpoint"], row["probe"])
            last[key] = max(last.get(key, _EPOCH), row["slot_at"])
        return {"slots": plain([{"endpoint": e, "probe": p, "slot_at": at} for (e, p), at in sorted(last.items())])}

    def runs(self, endpoint: str, probe: str | None, *, limit: int) -> Json:
        """``{"records": [RunRecord], "judged": [JudgedRun]}``, newest first."""
        with self._lock:
            runs = _newest(self._where("runs", endpoint=endpoint, probe=probe), "started_at")[:limit]
            judged = [row for run in runs for row in self._where("judged", run_id=run["run_id"])]
            return {"records": [self._run_record(run) for run in runs], "judged": self._judged(judged)}

    def unjudged(self, *, limit: int) -> Json:
        """``{"records": [RunRecord]}`` without a judged row, oldest first."""
        with self._lock:
            judged = {row["run_id"] for row in self._tables["judged"]}
            runs = sorted(
                (run for run in self._tables["runs"] if run["run_id"] not in judged), key=lambda run: run["started_at"]
            )
            return {"records": [self._run_record(run) for run in runs[:limit]]}

    def _run_record(self, run: Row) -> Json:
        rows = [row for row in self._where("observations", run_id=run["run_id"]) if row["source"] == "run"]
        return {
            "run": _records([run])[0],
            "exchanges": self._exchanges(self._where("exchanges", run_id=run["run_id"])),
            "observations": [{key: row[key] for key in ("metric", "value", "n", "k", "reason")} for row in rows],
        }

    def counts(self) -> dict[str, int]:
        """Rows per table."""
        with self._lock:
            return {table: len(rows) for table, rows in self._tables.items()}

    def last_runs(self) -> Json:
        """``{"runs": [...]}``: the newest run of each endpoint; see `ReadStore.last_runs`."""
        newest: dict[str, Row] = {}
        for row in _newest(self._where("runs"), "started_at"):
            newest.setdefault(row["endpoint"], row)
        return {"runs": plain([{key: newest[name][key] for key in LAST_RUN} for name in sorted(newest)])}

    def sizes(self) -> dict[str, int]:
        """Nothing is on the disk."""
        return {}
