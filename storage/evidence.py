"""Token arrays and captures: new ones in the database, older ones in Parquet files beside it. Their reads.

A file holds rows of one kind and one UTC day, compressed by zstd, and is never changed: ``<kind>/day=<day>/<name>``.
Only files that the table ``files`` lists exist for readers; `storage.upkeep` writes, joins and drops them.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path

import duckdb

from storage.inserting import rows_of
from storage.rows import Row

KINDS: Mapping[str, tuple[str, ...]] = {
    "tokens": ("tokens", "tokens-failed"), "captures": ("captures", "captures-failed")
}  # fmt: skip
"""Table to the kinds of files that its rows go into: ``-failed`` what is behind a failure, and kept longer."""

_FILES = """
SELECT f.name FROM files f
WHERE f.kind IN (SELECT unnest($kinds::VARCHAR[])) AND f.first_at <= $until AND f.last_at >= $since ORDER BY f.name
"""
_ARRAYS = """
SELECT t.run_id, t.exchange_id, t.at, t.data FROM {source} t
WHERE t.run_id IN (SELECT unnest($run_ids::VARCHAR[])) AND t.source = $source AND t.at BETWEEN $since AND $until
"""
_CAPTURE = """
SELECT t.exchange_id, t.run_id, t.endpoint, t.at, t.capture FROM {source} t WHERE t.exchange_id = $id LIMIT 1
"""
_KNOWN = "SELECT e.at FROM exchanges e WHERE e.exchange_id = $id LIMIT 1"


def folder_of(path: Path) -> Path:
    """Return the folder of the files that belong to the database at `path`."""
    return path.with_name(f"{path.name}.evidence")


class Evidence:
    """Reads token arrays and captures wherever they are, inside the caller's transaction."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def arrays(
        self, con: duckdb.DuckDBPyConnection, source: str, run_ids: Sequence[str], since: datetime, until: datetime
    ) -> list[Row]:
        """Rows (run_id, exchange_id, at, data) of runs, stamped from `since` through `until`."""
        what = {"source": source, "run_ids": run_ids, "since": since, "until": until}
        found = rows_of(con, _ARRAYS.format(source="tokens"), **what)
        if paths := self.paths(con, "tokens", since, until):
            found += rows_of(con, _ARRAYS.format(source="read_parquet($paths)"), paths=paths, **what)
        return found

    def paths(self, con: duckdb.DuckDBPyConnection, table: str, since: datetime, until: datetime) -> list[str]:
        """The files that may hold rows of `table` from `since` through `until`; one that is missing has no rows."""
        names = rows_of(con, _FILES, kinds=KINDS[table], since=since, until=until)
        return [str(path) for row in names if (path := self._folder / row["name"]).exists()]

    def capture(self, con: duckdb.DuckDBPyConnection, exchange_id: str) -> tuple[Row | None, datetime | None]:
        """The capture of an exchange, and when the exchange was; None for what there is not."""
        found = rows_of(con, _CAPTURE.format(source="captures"), id=exchange_id)
        known = rows_of(con, _KNOWN, id=exchange_id)
        at = known[0]["at"] if known else None
        if not found and at is not None and (paths := self.paths(con, "captures", at, at)):
            found = rows_of(con, _CAPTURE.format(source="read_parquet($paths)"), id=exchange_id, paths=paths)
        return (found[0] if found else None), at


def by_exchange(rows: Iterable[Row]) -> dict[str, str]:
    """Token arrays by exchange id."""
    return {row["exchange_id"]: row["data"] for row in rows}
