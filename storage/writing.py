"""All SQL of ingest: rows of one group into the tables, inside the caller's transaction."""

from datetime import timedelta

import duckdb

from storage import latest
from storage.inserting import Types, insert, rows_of, types_of
from storage.interface import TABLES
from storage.rows import REPLACED, Row, Rows, placed

_FORGET_JUDGED = """
DELETE FROM observations o WHERE o.source = 'judged' AND o.run_id IN (SELECT unnest($keys::VARCHAR[]))
RETURNING o.endpoint, o.metric
"""
_FORGET_POSITIONS = """
DELETE FROM tokens t WHERE t.source = 'golden' AND t.run_id IN (SELECT unnest($keys::VARCHAR[]))
"""
_RUNS = """
SELECT r.run_id, r.probe, r.started_at FROM runs r WHERE r.run_id IN (SELECT unnest($keys::VARCHAR[]))
"""
_WAITING = """
SELECT u.run_id, u.probe, u.started_at FROM unjudged u WHERE u.run_id IN (SELECT unnest($keys::VARCHAR[]))
"""
# The instant lets the database skip all but the newest blocks.
_JUDGED = """
SELECT j.run_id FROM judged j WHERE j.run_id IN (SELECT unnest($keys::VARCHAR[])) AND j.judged_at >= $since
"""
_MARGIN = timedelta(days=1)


def _keys(rows: list[Row], key: str) -> list[str]:
    return [row[key] for row in rows]


def _forget(con: duckdb.DuckDBPyConnection, table: str, keys: list[str]) -> int:
    """Delete the rows of these keys; return how many there were."""
    if not keys:
        return 0
    sql = f"DELETE FROM {table} t WHERE t.{REPLACED[table]} IN (SELECT unnest($keys::VARCHAR[]))"  # noqa: S608  # our names
    return int(con.execute(sql, {"keys": keys}).fetchall()[0][0])


def write(con: duckdb.DuckDBPyConnection, group: Rows) -> None:
    """Write a group of `storage.rows.groups`: replaced rows go first, then all rows come in."""
    types = types_of(con)
    judged = _keys(group.get("judged", []), "run_id")
    waiting = {row["run_id"]: row for row in rows_of(con, _WAITING, keys=judged)} if judged else {}
    # Those that waited were not judged before: no search through all that ever was.
    stale = _forget_judged(con, [run_id for run_id in judged if run_id not in waiting])
    for table, key in REPLACED.items():
        if table != "judged":
            _forget(con, table, _keys(group.get(table, []), key))
    for table in TABLES:
        rows = group.get(table, [])
        if table == "observations" and judged:  # runs came before: they say where golden observations belong
            elsewhere = [run_id for run_id in judged if run_id not in waiting]
            known = {row["run_id"]: row for row in rows_of(con, _RUNS, keys=elsewhere)} if elsewhere else {}
            rows = placed(rows, {**known, **waiting})
            group = {**group, table: rows}
        insert(con, types, table, rows)
    latest.recompute(con, types, ((row["endpoint"], row["metric"]) for row in stale))
    latest.note(con, types, group)
    _wait_for_judge(con, types, group.get("runs", []), judged)


def _forget_judged(con: duckdb.DuckDBPyConnection, run_ids: list[str]) -> list[Row]:
    """Delete what the golden side said of runs before; return endpoint and metric of what it had measured."""
    if not _forget(con, "judged", run_ids):
        return []
    con.execute(_FORGET_POSITIONS, {"keys": run_ids})
    return rows_of(con, _FORGET_JUDGED, keys=run_ids)


def _wait_for_judge(con: duckdb.DuckDBPyConnection, types: Types, runs: list[Row], judged: list[str]) -> None:
    """Keep the list of runs that nobody judged; a judgement may also come first."""
    if judged:
        con.execute("DELETE FROM unjudged u WHERE u.run_id IN (SELECT unnest($keys::VARCHAR[]))", {"keys": judged})
    if runs:
        since = min(run["started_at"] for run in runs) - _MARGIN
        known = {row["run_id"] for row in rows_of(con, _JUDGED, keys=_keys(runs, "run_id"), since=since)}
        insert(con, types, "unjudged", [row for row in runs if row["run_id"] not in known])


def set_mark(con: duckdb.DuckDBPyConnection, writer: str, mark: int) -> None:
    """Move the writer's high-water mark."""
    con.execute("DELETE FROM writers w WHERE w.writer = $writer", {"writer": writer})
    con.execute("INSERT INTO writers VALUES ($writer, $mark)", {"writer": writer, "mark": mark})
