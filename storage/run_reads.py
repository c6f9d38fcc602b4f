"""Runs, their exchanges and what the golden side said of them, put together again from rows and token arrays."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import duckdb
import orjson

from storage import queries
from storage.arrays import join_exchange, join_judged
from storage.evidence import Evidence, by_exchange
from storage.inserting import rows_of
from storage.interface import Json
from storage.rows import Row, counted

# How far back the newest rows are looked for, in turn: a short search touches few blocks of a long history.
_BACK = (timedelta(days=1), timedelta(days=10), timedelta(days=100), timedelta(days=36500))
# Clocks step: an exchange may seem to begin somewhat before its run, or after its end.
_MARGIN = timedelta(days=1)


def records(rows: Sequence[Row]) -> list[Any]:
    """The nouns that rows hold, as JSON."""
    return [orjson.loads(row["record"]) for row in rows]


def by(rows: Sequence[Row], key: str) -> defaultdict[str, list[Row]]:
    """Rows by what they have in the column `key`, which is taken out of them."""
    found: defaultdict[str, list[Row]] = defaultdict(list)
    for row in rows:
        found[row.pop(key)].append(row)
    return found


def _newest(
    con: duckdb.DuckDBPyConnection, sql: str, *, endpoint: str, limit: int, **what: str | None
) -> list[Row]:
    """The newest rows of an endpoint, by a query that takes ``since``."""
    last = rows_of(con, queries.LAST_RUN, endpoint=endpoint)
    found: list[Row] = []
    for back in _BACK if last else ():
        since = last[0]["started_at"] - back
        found = rows_of(con, sql, endpoint=endpoint, limit=limit, since=since, **what)
        if len(found) == limit:
            break
    return found


def endpoint_runs(con: duckdb.DuckDBPyConnection, endpoint: str, probe: str | None, limit: int) -> list[Row]:
    """Rows of runs of an endpoint, newest first."""
    return _newest(con, queries.RUNS, endpoint=endpoint, probe=probe, limit=limit)


def run_records(con: duckdb.DuckDBPyConnection, evidence: Evidence, runs: Sequence[Row]) -> list[Json]:
    """RunRecords of rows of runs, in their order."""
    if not runs:
        return []
    what: dict[str, Any] = {
        "run_ids": [run["run_id"] for run in runs],
        "since": min(run["started_at"] for run in runs) - _MARGIN,
        "until": max(run["finished_at"] for run in runs) + _MARGIN,
    }
    exchanges = by(rows_of(con, queries.EXCHANGES_OF_RUNS, **what), "run_id")
    observations = by(rows_of(con, queries.OBSERVATIONS_OF_RUNS, **what), "run_id")
    arrays = by_exchange(evidence.arrays(con, "endpoint", **what))
    return [
        {
            "run": orjson.loads(run["record"]),
            "exchanges": [join_exchange(one, arrays) for one in records(exchanges[run["run_id"]])],
            "observations": observations[run["run_id"]],
        }
        for run in runs
    ]


def unjudged_records(con: duckdb.DuckDBPyConnection, evidence: Evidence, limit: int) -> list[Json]:
    """RunRecords that nobody judged, oldest first."""
    waiting = rows_of(con, queries.UNJUDGED, limit=limit)
    if not waiting:
        return []
    ids = [row["run_id"] for row in waiting]
    since, until = waiting[0]["started_at"], waiting[-1]["started_at"]
    found = {row["run_id"]: row for row in rows_of(con, queries.RUNS_BY_ID, run_ids=ids, since=since, until=until)}
    return run_records(con, evidence, [found[run_id] for run_id in ids if run_id in found])


def judged_records(con: duckdb.DuckDBPyConnection, evidence: Evidence, runs: Sequence[Row]) -> list[Json]:
    """What the golden side said of rows of runs, in their order."""
    if not runs:
        return []
    run_ids = [run["run_id"] for run in runs]
    since = min(run["started_at"] for run in runs) - _MARGIN
    judged = {row["run_id"]: row for row in rows_of(con, queries.JUDGED_OF_RUNS, run_ids=run_ids, since=since)}
    if not judged:
        return []
    at = {run_id: row["judged_at"] for run_id, row in judged.items()}
    rows = evidence.arrays(con, "golden", list(at), min(at.values()), max(at.values()))
    # A run that was judged again may have older positions in a file.
    arrays = by_exchange(row for row in rows if row["at"] == at[row["run_id"]])
    return [join_judged(orjson.loads(judged[run_id]["record"]), arrays) for run_id in run_ids if run_id in judged]


def exchange_records(
    con: duckdb.DuckDBPyConnection, evidence: Evidence, *, endpoint: str, outcome: str | None, limit: int
) -> list[Json]:
    """Exchanges of an endpoint, newest first; ``tokens_golden`` as the judge counted."""
    rows = _newest(con, queries.EXCHANGES, endpoint=endpoint, limit=limit, outcome=outcome)
    if not rows:
        return []
    run_ids = list({row["run_id"] for row in rows})
    since = rows[-1]["at"] - _MARGIN
    counts = rows_of(con, queries.GOLDEN_TOKENS, run_ids=run_ids, since=since)
    golden = {row["exchange_id"]: row["n"] for row in counts}
    arrays = by_exchange(evidence.arrays(con, "endpoint", run_ids, rows[-1]["at"], rows[0]["at"]))
    return counted([join_exchange(one, arrays) for one in records(rows)], golden)
