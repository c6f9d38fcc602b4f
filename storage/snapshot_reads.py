"""Questions that users put to a snapshot: any SELECT, bounded in rows, time and memory; and exports of whole tables.

The snapshot is opened read-only and can reach no file but its own evidence (and, for an export, the folder asked for).
"""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

import duckdb

from monitor.errors import StoreError, UsageError
from storage.connection import quoted
from storage.evidence import KINDS, folder_of
from storage.inserting import rows_of
from storage.migrations import MIGRATIONS
from storage.snapshots import DATABASE, check

_CONFIG: dict[str, str | bool | int | float | list[str]] = {"threads": 2, "memory_limit": "1GB"}
_AT = {
    "runs": "started_at", "exchanges": "at", "observations": "at", "slots": "slot_at", "judged": "judged_at",
    "verdicts": "at", "incidents": "opened_at", "tokens": "at", "captures": "at",
}  # fmt: skip
EXPORTED = ("endpoints", *_AT)
"""Tables that can be exported."""

# Spreadsheets take a cell that begins so for a formula.
_FORMULA = r"^[=+\-@\t\r]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The rows of a query; ``more`` when there would have been others."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    more: bool


@contextmanager
def opened(snapshot: Path, *reachable: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a snapshot for reading, and nothing else but `reachable`. Raises UsageError, StoreError as it is read."""
    version, file = check(snapshot), snapshot / DATABASE
    if version < len(MIGRATIONS):
        raise UsageError(f"{snapshot}: is of an older version (schema {version}): `db restore` brings it up to date")
    try:
        with duckdb.connect(file, read_only=True, config=_CONFIG) as con:
            con.execute("SET GLOBAL TimeZone = 'UTC'")
            folders = ", ".join(quoted(folder) for folder in (folder_of(file), *reachable))
            con.execute(f"SET GLOBAL allowed_directories = [{folders}]")
            _whole_tables(con, folder_of(file))
            con.execute("SET GLOBAL enable_external_access = false")
            con.execute("SET GLOBAL lock_configuration = true")
            yield con
    except duckdb.Error as error:
        raise StoreError(f"{snapshot}: {error}") from None


def _whole_tables(con: duckdb.DuckDBPyConnection, folder: Path) -> None:
    """Let ``tokens`` and ``captures`` hold what lies in files too."""
    for table, kinds in KINDS.items():
        names = rows_of(con, "SELECT f.name FROM files f WHERE f.kind IN (SELECT unnest($kinds))", kinds=list(kinds))
        paths = [quoted(folder / row["name"]) for row in names if (folder / row["name"]).exists()]
        parts = [f"{DATABASE.partition('.')[0]}.main.{table}", *(f"read_parquet({path})" for path in paths)]
        whole = " UNION ALL BY NAME ".join(f"FROM {part}" for part in parts)
        con.execute(f"CREATE TEMP VIEW {table} AS {whole}")


def query(snapshot: Path, sql: str, *, rows: int, timeout_s: float) -> Answer:
    """Answer one SELECT.

    Raises
    ------
    UsageError
        When it is not one SELECT, is wrong, or takes longer than `timeout_s`.
    """
    with opened(snapshot) as con:
        _check_select(con, sql)
        late = threading.Timer(timeout_s, con.interrupt)
        late.start()
        try:
            result = con.execute(sql)
            columns = tuple(column[0] for column in result.description or ())
            found = result.fetchmany(rows + 1)
        except duckdb.InterruptException:
            raise UsageError(f"the query took longer than {timeout_s:g} s: narrow it, or raise --timeout") from None
        except duckdb.Error as error:
            raise UsageError(f"the query does not work: {error}") from None
        finally:
            late.cancel()
    return Answer(columns=columns, rows=tuple(found[:rows]), more=len(found) > rows)


def _check_select(con: duckdb.DuckDBPyConnection, sql: str) -> None:
    try:
        kinds = [statement.type for statement in con.extract_statements(sql)]
    except duckdb.Error as error:
        raise UsageError(f"the query does not work: {error}") from None
    if len(kinds) != 1 or kinds[0] not in {duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN}:
        raise UsageError("one SELECT at a time: a snapshot can be asked, not changed")


def export(
    snapshot: Path, folder: Path, *, tables: Sequence[str], format: Literal["parquet", "csv"],  # noqa: A002
    since: datetime | None,
) -> dict[str, int]:  # fmt: skip
    """Write tables into `folder`, one file each; return the rows written by file name.

    In CSV, text that a spreadsheet would take for a formula gets an apostrophe in front.

    Raises
    ------
    UsageError
        When a table does not exist.
    StoreError
        When the folder cannot be written.
    """
    unknown = sorted(set(tables) - set(EXPORTED))
    if unknown:
        raise UsageError(f"no table {unknown[0]!r}; there are {', '.join(EXPORTED)}")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"{folder}: {error.strerror}") from None
    written = {}
    with opened(snapshot, folder) as con:
        for table in tables or EXPORTED:
            path = folder / f"{table}.{format}"
            written[path.name] = _export(con, table, path, format, since)
    return written


def _export(
    con: duckdb.DuckDBPyConnection, table: str, path: Path, format: str, since: datetime | None  # noqa: A002
) -> int:  # fmt: skip
    at = _AT.get(table)
    bound = f' WHERE t."{at}" >= $since' if since is not None and at else ""
    columns = "*" if format == "parquet" else ", ".join(_safe(con, table))
    how = "FORMAT parquet, COMPRESSION zstd" if format == "parquet" else "FORMAT csv, HEADER"
    unfinished = path.with_name(f"{path.name}.unfinished")
    try:
        result = con.execute(
            f"COPY (SELECT {columns} FROM {table} t{bound}) TO {quoted(unfinished)} ({how})",  # noqa: S608  # our names
            {"since": since} if bound else {},
        )
        n_rows = int(result.fetchall()[0][0])
        unfinished.replace(path)
    finally:
        with suppress(FileNotFoundError):
            unfinished.unlink()
    return n_rows


def _safe(con: duckdb.DuckDBPyConnection, table: str) -> Iterator[str]:
    for row in con.execute(f"DESCRIBE {table}").fetchall():
        name, kind = f't."{row[0]}"', str(row[1])
        if kind.startswith(("VARCHAR", "JSON")):
            text = f"CAST({name} AS VARCHAR)"
            yield f"if(regexp_matches({text}, '{_FORMULA}'), chr(39) || {text}, {text}) AS \"{row[0]}\""
        else:
            yield name


def safe_cell(value: Any) -> Any:
    """Return a value for a cell of CSV; text that a spreadsheet would take for a formula gets an apostrophe."""
    return f"'{value}" if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r")) else value
