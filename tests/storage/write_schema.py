"""Writes tests/storage/schemas/<N>.sql: what a store of this version's schema holds, as tables and rows of SQL.

Run once per release that changed the schema (``python -m tests.storage.write_schema``); the file is never changed then.
"""

import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from monitor.ports import Entry
from storage.connection import Database
from storage.migrations import MIGRATIONS
from storage.store import DuckStore
from tests.storage.asks import put
from tests.storage.factories import endpoint, exchange, incident, judged, minutes, run_record, slot, verdict

STALLED = exchange(0, run_id="r2", at=minutes(5), outcome="stalled", ttft_ms=None)
FIRST = run_record("r1", slot_at=minutes(0))
SECOND = run_record("r2", at=minutes(5), slot_at=minutes(5), exchanges=[STALLED])


def fill(store: DuckStore) -> None:
    """Put in what tests/storage/test_upgrades.py expects to find."""
    put(store, endpoint(), endpoint("lab/degraded", precision=None), FIRST, SECOND, slot(run_id="r1"))
    put(store, slot(at=minutes(5), state="skipped", reason="it's busy", run_id="r2"), verdict())
    put(store, verdict("verdict-2", at=minutes(6), status="fail", cause="weights"), incident())
    put(store, judged(FIRST), writer="judge")
    store.ingest("odd", [Entry(7, "dream", b"{}")])


def _literal(value: Any) -> str:
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).lower()
        case int() | float():
            return repr(value)
        case datetime():
            return f"TIMESTAMPTZ '{value.astimezone(UTC).isoformat()}'"
        case list():
            return f"[{', '.join(map(_literal, value))}]"
        case _:
            return "'" + str(value).replace("'", "''") + "'"


def _statements(database: Database) -> Iterator[str]:
    with database.transaction() as con:
        tables = con.execute("SELECT table_name, sql FROM duckdb_tables() ORDER BY table_oid").fetchall()
        for name, sql in tables:
            yield sql
            for row in con.execute(f"FROM {name}").fetchall():
                yield f"INSERT INTO {name} VALUES ({', '.join(map(_literal, row))});"  # noqa: S608


def main(folder: Path) -> None:
    """Write the file of the newest schema into `folder`."""
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "store.duckdb"
        with closing(DuckStore(path)) as store:
            fill(store)
        with closing(Database(path)) as database:
            text = "\n".join(_statements(database))
    head = f"-- A store of schema {len(MIGRATIONS)}: its tables, its rows.\n"
    (folder / f"{len(MIGRATIONS)}.sql").write_text(f"{head}{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("schemas"))
