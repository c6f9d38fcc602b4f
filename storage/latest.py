"""What is newest of everything, kept beside the history, so that no page has to search all of it.

Per key one row; of equal instants the last to arrive wins. All SQL of these tables is here.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import duckdb

from storage.inserting import Types, insert, rows_of
from storage.rows import Row, Rows

_Key = tuple[str | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Newest:
    """A table with the newest row of another by ``key``; ``at`` names the instant, ``columns`` what is copied."""

    source: str
    key: tuple[str, ...]
    at: str
    columns: tuple[str, ...]


_TABLES: Mapping[str, _Newest] = {
    "latest_runs": _Newest(
        source="runs", key=("endpoint",), at="started_at",
        columns=("provider", "model", "reference", "vantage", "lag_ms", "n_exchanges", "n_answered"),
    ),
    "latest_observations": _Newest(
        source="observations", key=("endpoint", "metric"), at="at", columns=("value", "n", "k", "reason")
    ),
    "latest_verdicts": _Newest(
        source="verdicts", key=("endpoint", "detector"), at="at", columns=("status", "record")
    ),
    "latest_slots": _Newest(
        source="slots", key=("endpoint", "probe", "vantage"), at="slot_at", columns=("state", "reason")
    ),
}  # fmt: skip

_OF = "SELECT t.* FROM {table} t WHERE t.endpoint IN (SELECT unnest($endpoints::VARCHAR[]))"
_AGAIN = """
SELECT o.endpoint, o.metric, o.at, o.value, o.n, o.k, o.reason,
       min(o.at) OVER (PARTITION BY o.endpoint, o.metric) AS first_at
FROM observations o
WHERE (o.endpoint, o.metric) IN (SELECT unnest($endpoints::VARCHAR[]), unnest($names::VARCHAR[]))
QUALIFY row_number() OVER (PARTITION BY o.endpoint, o.metric ORDER BY o.at DESC, o.rowid DESC) = 1
"""


def note(con: duckdb.DuckDBPyConnection, types: Types, group: Rows) -> None:
    """Take in the rows of a group that was just written."""
    for table, newest in _TABLES.items():
        if group.get(newest.source):
            _note(con, types, table, newest, group[newest.source])


def _note(con: duckdb.DuckDBPyConnection, types: Types, table: str, newest: _Newest, fresh: list[Row]) -> None:
    endpoints = sorted({row["endpoint"] for row in fresh})
    before = rows_of(con, _OF.format(table=table), endpoints=endpoints)
    found = {_key(newest, row): row for row in before}
    changed: dict[_Key, Row] = {}
    for row in fresh:
        key = _key(newest, row)
        old = found.get(key)
        merged = _merged(newest, old, row)
        if merged is not old:
            found[key] = changed[key] = merged
    if changed:
        _forget(con, table, newest, changed)
        insert(con, types, table, list(changed.values()))


def _key(newest: _Newest, row: Row) -> _Key:
    return tuple(row[name] for name in newest.key)


def _merged(newest: _Newest, old: Row | None, row: Row) -> Row:
    """The newer of two rows; observations remember the first instant too."""
    first = row[newest.at] if old is None else min(old.get("first_at", row[newest.at]), row[newest.at])
    if old is not None and old[newest.at] > row[newest.at]:
        return old if old.get("first_at", first) == first else {**old, "first_at": first}
    kept = {name: row[name] for name in (*newest.key, newest.at, *newest.columns)}
    return {**kept, "first_at": first} if newest.source == "observations" else kept


def _forget(con: duckdb.DuckDBPyConnection, table: str, newest: _Newest, keys: Iterable[_Key]) -> None:
    """Delete the rows of these keys; parts of a key may be null."""
    columns = list(zip(*keys, strict=True))
    gone = ", ".join(f"unnest($k{i}::VARCHAR[]) AS k{i}" for i in range(len(columns)))
    same = " AND ".join(f"gone.k{i} IS NOT DISTINCT FROM t.{name}" for i, name in enumerate(newest.key))
    con.execute(
        f"DELETE FROM {table} t USING (SELECT {gone}) gone WHERE {same}",  # noqa: S608  # our own names
        {f"k{i}": list(column) for i, column in enumerate(columns)},
    )


def recompute(con: duckdb.DuckDBPyConnection, types: Types, pairs: Iterable[tuple[str, str]]) -> None:
    """Look up again what is newest of these (endpoint, metric), of which observations were deleted."""
    chosen: list[_Key] = sorted(set(pairs))
    if not chosen:
        return
    table = "latest_observations"
    _forget(con, table, _TABLES[table], chosen)
    rows = rows_of(con, _AGAIN, endpoints=[one[0] for one in chosen], names=[one[1] for one in chosen])
    insert(con, types, table, rows)
