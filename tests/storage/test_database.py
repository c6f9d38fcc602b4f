"""The database file: one opener, settings, schema steps, fatal errors. Oracle: DuckDB's own catalogue and lock."""

import os
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pytest

from monitor.config_store import RetentionConfig
from monitor.errors import StoreError
from storage.connection import Database
from storage.migrations import MIGRATIONS
from storage.store import DuckStore
from tests.storage.asks import put
from tests.storage.factories import entries, minutes, run_record, verdict
from tests.storage.processes import ROOT

LAST = len(MIGRATIONS)


def _rows(path: Path, sql: str) -> list[tuple[object, ...]]:
    with duckdb.connect(path, read_only=True) as con:
        return con.execute(sql).fetchall()


def test_a_reopened_database_has_everything(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "store.duckdb"
    store = DuckStore(path)
    put(store, run_record("r1"), verdict())
    before = (store.runs("lab/faithful", None, limit=9), store.counts(), store.mark("w"))
    store.close()
    store.close()
    with pytest.raises(StoreError, match="is closed"):
        store.counts()
    again = DuckStore(path)
    assert (again.runs("lab/faithful", None, limit=9), again.counts(), again.mark("w")) == before
    again.close()


def test_a_second_opener_is_told_who_has_it(tmp_path: Path) -> None:
    """Case OP-01; readers are not kept out: they ask the store, or a snapshot (test_db_commands.py)."""
    store = DuckStore(tmp_path / "store.duckdb")
    with pytest.raises(StoreError, match=rf"store.duckdb is in use by process {os.getpid()}: "):
        DuckStore(tmp_path / "store.duckdb")
    code = "import sys, pathlib; from storage.store import DuckStore; DuckStore(pathlib.Path(sys.argv[1]))"
    other = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "store.duckdb")], capture_output=True, text=True, check=False
    )
    assert f"is in use by process {os.getpid()}: " in other.stderr
    assert store.counts()["runs"] == 0
    store.close()
    DuckStore(tmp_path / "store.duckdb").close()


def test_a_newer_schema_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "store.duckdb"
    Database(path, [*MIGRATIONS, "CREATE TABLE later (x BIGINT)"]).close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match=rf"has schema {LAST + 1}, .* knows only up to {LAST}: update Weighmaster"):
        DuckStore(path)
    assert path.read_bytes() == before


def test_an_upgrade_keeps_the_rows_and_a_copy_of_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "store.duckdb"
    store = DuckStore(path)
    put(store, run_record("r1"))
    store.close()
    added = "ALTER TABLE runs ADD COLUMN colour VARCHAR DEFAULT 'none'"
    newer = Database(path, [*MIGRATIONS, added])
    with newer.transaction() as con:
        assert con.execute("SELECT run_id, colour FROM runs").fetchall() == [("r1", "none")]
    newer.close()
    versions = [(number,) for number in range(1, LAST + 1)]
    assert _rows(path, "SELECT version FROM schema_migrations ORDER BY 1") == [*versions, (LAST + 1,)]
    copy = tmp_path / f"store.duckdb.schema{LAST}.bak"
    assert _rows(copy, "SELECT run_id FROM runs") == [("r1",)]
    assert _rows(copy, "SELECT version FROM schema_migrations ORDER BY 1") == versions


def test_a_failing_step_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "store.duckdb"
    DuckStore(path).close()
    with pytest.raises(StoreError, match="cannot be brought up to date"):
        Database(path, [*MIGRATIONS, "CREATE TABLE half (x BIGINT); SELECT no_such_function()"])
    assert _rows(path, "SELECT table_name FROM duckdb_tables() WHERE table_name = 'half'") == []
    DuckStore(path).close()


def test_a_foreign_or_damaged_file_is_refused(tmp_path: Path) -> None:
    foreign, damaged = tmp_path / "foreign.duckdb", tmp_path / "damaged.duckdb"
    with duckdb.connect(foreign) as con:
        con.execute("CREATE TABLE mine (x BIGINT)")
    damaged.write_bytes(b"nonsense" * 4000)
    with pytest.raises(StoreError, match="but not Weighmaster's"):
        DuckStore(foreign)
    with pytest.raises(StoreError, match=r"cannot be opened: (?s:.*)never delete the \.wal alone"):
        DuckStore(damaged)
    with pytest.raises(StoreError, match="cannot be opened"):
        DuckStore(damaged / "below")


def test_no_defaults_no_indexes_no_keys_and_the_old_file_format(duck: DuckStore) -> None:
    with duck._database.transaction() as con:
        defaults = "SELECT column_name FROM duckdb_columns() WHERE column_default IS NOT NULL AND NOT internal"
        assert con.execute(defaults).fetchall() == []
        assert con.execute("SELECT index_name FROM duckdb_indexes()").fetchall() == []
        assert con.execute("SELECT constraint_type FROM duckdb_constraints()").fetchall() == []
        version = con.execute("SELECT current_setting('storage_compatibility_version')").fetchall()
        assert version == [("v1.5.0",)]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_csv('/etc/passwd')",
        "COPY runs TO '/tmp/leak.csv'",
        "ATTACH '/tmp/leak.duckdb'",
        "SET TimeZone = 'Europe/Berlin'",
        "SET enable_external_access = true",
    ],
)
def test_the_database_reaches_nothing_else(duck: DuckStore, sql: str) -> None:
    with pytest.raises((duckdb.PermissionException, duckdb.InvalidInputException)), duck._database.transaction() as con:
        con.execute(sql)


def test_a_failed_transaction_leaves_nothing(duck: DuckStore) -> None:
    with pytest.raises(duckdb.CatalogException), duck._database.transaction() as con:
        con.execute("INSERT INTO writers VALUES ('w', 5); INSERT INTO nowhere VALUES (1)")
    assert duck.mark("w") == 0


@pytest.mark.parametrize("error", [duckdb.FatalException, duckdb.InternalException])
def test_after_a_fatal_error_the_database_is_opened_again(duck: DuckStore, error: type[duckdb.Error]) -> None:
    put(duck, run_record("r1"))
    before = duck._database._connection
    with pytest.raises(StoreError, match="fatal error of the database, opening it again"), duck._database.transaction():
        raise error("simulated")
    assert duck.counts()["runs"] == 1
    assert duck._database._connection is not before
    assert duck.ingest("w", entries(run_record("r2"), start=2)) == 2


def test_a_fatal_error_waits_for_readers_before_opening_again(duck: DuckStore) -> None:
    put(duck, run_record("r1"))
    counted: list[int] = []
    with duck._database.transaction() as reader:
        with pytest.raises(StoreError, match="fatal"), duck._database.transaction():
            raise duckdb.FatalException("simulated")
        other = threading.Thread(target=lambda: counted.append(duck.counts()["runs"]))
        other.start()
        other.join(0.5)  # it must not get through while the reader is at work, however long it is given
        assert reader.execute("SELECT count(*) FROM runs").fetchall() == [(1,)]
        assert counted == []
    other.join(30)
    assert counted == [1]


def test_a_value_that_no_column_takes_is_kept_aside_alone(duck: DuckStore) -> None:
    bad = run_record("bad", n_exchanges=2**63)
    assert duck.ingest("w", entries(run_record("a"), bad, run_record("b"))) == 3
    assert [r["run"]["run_id"] for r in duck.runs("lab/faithful", None, limit=9)["records"]] == ["b", "a"]
    (row,) = duck.read("SELECT writer, seq, kind, reason, data FROM rejected")
    assert (row["writer"], row["seq"], row["kind"]) == ("w", 2, "run")
    assert '"run_id":"bad"' in row["data"]
    assert duck.counts()["exchanges"] == 4


def test_reads_while_writing_see_whole_batches_only(duck: DuckStore) -> None:
    """Each batch adds 5 runs of 3 exchanges to each of 2 endpoints: any other ratio is a torn or a mixed-up answer."""
    wrong: list[object] = []
    stop = threading.Event()

    def read() -> None:
        while not stop.is_set():
            counts = duck.counts()
            if counts["runs"] % 10 or counts["exchanges"] != 3 * counts["runs"]:
                wrong.append(counts)
            answer = duck.runs("lab/a", None, limit=200)
            if len(answer["records"]) % 5 or any(
                r["run"]["endpoint"] != "lab/a" or len(r["exchanges"]) != 3 for r in answer["records"]
            ):
                wrong.append([r["run"]["run_id"] for r in answer["records"]])

    readers = [threading.Thread(target=read) for _ in range(4)]
    for reader in readers:
        reader.start()
    for batch in range(15):
        put(
            duck,
            *[
                run_record(f"{name}{batch}.{i}", endpoint=f"lab/{name}", at=minutes(batch), n=3)
                for i in range(5)
                for name in ("a", "b")
            ],
        )
    stop.set()
    for reader in readers:
        reader.join()
    assert wrong == []
    assert duck.counts()["runs"] == 150


def test_a_disk_that_is_nearly_full_is_left_some_room(tmp_path: Path) -> None:
    """Case OP-07: ingest refuses before the disk is full, health says why, and all is well once there is room."""
    free = [10 * 2**20]
    store = DuckStore(tmp_path / "store.duckdb", free_bytes=lambda _: free[0])
    with pytest.raises(StoreError, match=r"the disk has only 10 MiB left: make room"):
        put(store, run_record("r1"))
    assert store.counts()["runs"] == 0
    assert "10 MiB left" in (store.trouble() or "")
    free[0] = 2**40
    put(store, run_record("r1"))
    assert store.trouble() is None
    free[0] = 3 * 2**20
    assert "3 MiB left" in (store.trouble() or "")  # also where nobody can send anything: their disk is the same
    free[0] = 2**40
    assert store.counts()["runs"] == 1
    assert store.sizes()["free"] == 2**40
    store.close()


def test_times_do_not_depend_on_the_zone_of_the_machine(tmp_path: Path) -> None:
    """Case OP-03: an instant is stored and read as itself, whatever TZ says."""
    code = (
        "import pathlib, sys\nfrom storage.store import DuckStore\nfrom tests.storage.asks import put\n"
        "from tests.storage.factories import run_record\nstore = DuckStore(pathlib.Path(sys.argv[1]))\n"
        "put(store, run_record('r1'))\nstore.close()\n"
    )
    environ = {**os.environ, "TZ": "Asia/Kolkata"}
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "s.duckdb")], check=True, env=environ, cwd=ROOT)
    store = DuckStore(tmp_path / "s.duckdb")
    assert store.last_runs()["runs"][0]["started_at"] == "2026-03-01T12:00:00Z"
    assert store.read("SELECT CAST(epoch(started_at) AS BIGINT) AS s FROM runs") == [{"s": 1772366400}]
    store.close()


def test_upkeep_opens_the_file_anew_and_nobody_notices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[object] = []
    connect = duckdb.connect

    def counted(*given: Any, **named: Any) -> duckdb.DuckDBPyConnection:
        opened.append(given)
        return connect(*given, **named)

    monkeypatch.setattr("storage.connection.duckdb.connect", counted)
    with closing(DuckStore(tmp_path / "store.duckdb")) as store:
        for n in range(3):
            put(store, run_record(f"r{n}", at=minutes(n)))
            store.upkeep(minutes(n), RetentionConfig())
        assert store.counts()["runs"] == 3
    assert len(opened) == 4
