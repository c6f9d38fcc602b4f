"""All SQL of ingest: rows of one group into the tables, inside the caller's transaction."""

import duckdb

from storage.interface import TABLES
from storage.rows import REPLACED, Row, Rows

_TYPES = "SELECT c.column_name, c.data_type FROM duckdb_columns() c WHERE c.table_name = $table ORDER BY c.column_index"

_FORGET_JUDGED = """
DELETE FROM observations o WHERE o.source = 'judged' AND o.run_id IN (SELECT unnest($keys::VARCHAR[]))
"""

# What the golden side added belongs to the time and probe of its run, not to when the judge got round to it.
_PLACED_AT_RUN = """
SELECT batch.* REPLACE (coalesce(batch.probe, run.probe) AS probe, coalesce(run.started_at, batch.at) AS "at")
FROM ({batch}) batch LEFT JOIN (
    SELECT r.run_id, any_value(r.probe) AS probe, min(r.started_at) AS started_at FROM runs r
    WHERE r.run_id IN (SELECT unnest($judged::VARCHAR[])) GROUP BY r.run_id
) run ON batch.run_id = run.run_id
"""


def _insert(con: duckdb.DuckDBPyConnection, table: str, rows: list[Row], judged: list[str]) -> None:
    """Insert `rows` in one statement, a list of values per column: executemany is ten times slower."""
    columns = con.execute(_TYPES, {"table": table}).fetchall()
    batch = "SELECT " + ", ".join(f'unnest($c{i}::{type_}[]) AS "{name}"' for i, (name, type_) in enumerate(columns))
    values: dict[str, object] = {f"c{i}": [row[name] for row in rows] for i, (name, _) in enumerate(columns)}
    if table == "observations":
        batch, values = _PLACED_AT_RUN.format(batch=batch), {**values, "judged": judged}
    con.execute(f"INSERT INTO {table} BY NAME {batch}", values)  # names of our own tables


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
    gone = {table: _forget(con, table, _keys(group.get(table, []), key)) for table, key in REPLACED.items()}
    judged = _keys(group.get("judged", []), "run_id")
    if gone["judged"]:
        con.execute(_FORGET_JUDGED, {"keys": judged})
    for table in TABLES:  # runs before observations, which look them up
        if group.get(table):
            _insert(con, table, group[table], judged)


def set_mark(con: duckdb.DuckDBPyConnection, writer: str, mark: int) -> None:
    """Move the writer's high-water mark."""
    con.execute("DELETE FROM writers w WHERE w.writer = $writer", {"writer": writer})
    con.execute("INSERT INTO writers VALUES ($writer, $mark)", {"writer": writer, "mark": mark})
