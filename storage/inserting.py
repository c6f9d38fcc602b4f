"""Rows in and out of tables, inside the caller's transaction."""

from typing import Any

import duckdb

from storage.rows import Row

_TYPES = """
SELECT c.table_name, c.column_name, c.data_type FROM duckdb_columns() c
WHERE NOT c.internal AND c.schema_name = 'main' ORDER BY c.table_name, c.column_index
"""

Types = dict[str, list[tuple[str, str]]]
"""Name and type of the columns of each table."""


def types_of(con: duckdb.DuckDBPyConnection) -> Types:
    """Return what `insert` needs to know of the tables; asked once per transaction, because it takes a millisecond."""
    found: Types = {}
    for table, column, type_ in con.execute(_TYPES).fetchall():
        found.setdefault(table, []).append((column, type_))
    return found


def insert(con: duckdb.DuckDBPyConnection, types: Types, table: str, rows: list[Row]) -> None:
    """Insert `rows` in one statement, a list of values per column: executemany is ten times slower."""
    if not rows:
        return
    batch = ", ".join(f'unnest($c{i}::{type_}[]) AS "{name}"' for i, (name, type_) in enumerate(types[table]))
    values: dict[str, object] = {f"c{i}": [row[name] for row in rows] for i, (name, _) in enumerate(types[table])}
    con.execute(f"INSERT INTO {table} BY NAME SELECT {batch}", values)  # names of our own tables


def rows_of(con: duckdb.DuckDBPyConnection, sql: str, **parameters: Any) -> list[Row]:
    """Return the rows of a query as dicts by column name."""
    result = con.execute(sql, parameters)
    names = [column[0] for column in result.description or ()]
    return [dict(zip(names, row, strict=True)) for row in result.fetchall()]
