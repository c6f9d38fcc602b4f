"""Snapshots and what is done with them. Oracle: the store's answers at the moment that they were taken."""

import csv
import threading
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pyarrow.parquet
import pytest

from jobs.store_upkeep import DAILY, Housekeeping
from monitor.config_store import RetentionConfig, StoreConfig
from monitor.errors import StoreError, UsageError
from storage.connection import Database
from storage.migrations import MIGRATIONS
from storage.snapshot_reads import export, query
from storage.snapshots import ASKED, DATABASE, PASSING, existing, place_of, prune, restore
from storage.store import DuckStore
from tests.storage.asks import put
from tests.storage.factories import START, judged, minutes, run_record, verdict

FOREVER = RetentionConfig(captures=float("inf"))


def _filled(store: DuckStore) -> None:
    """One run whose arrays lie in a file, and one whose arrays lie in the database."""
    record = run_record("r1")
    put(store, record, judged(record), verdict())
    store.upkeep(minutes(60 * 24), FOREVER)
    put(store, run_record("r2", at=minutes(60 * 24)))


def test_a_restored_store_answers_as_it_did(tmp_path: Path) -> None:
    path = tmp_path / "store.duckdb"
    with closing(DuckStore(path)) as store:
        _filled(store)
        wanted = (store.runs("lab/faithful", None, limit=9), store.overview(), store.counts(), store.mark("w"))
        snapshot = store.snapshot(START, "test")
        put(store, run_record("later", at=minutes(3000)))
        with pytest.raises(StoreError, match="is in use by process"):
            restore(snapshot.folder, path, START)
    aside = restore(snapshot.folder, path, minutes(1))
    with closing(DuckStore(path)) as store:
        assert (store.runs("lab/faithful", None, limit=9), store.overview(), store.counts(), store.mark("w")) == wanted
    assert aside is not None
    assert restore(snapshot.folder, tmp_path / "new.duckdb", START) is None
    with closing(DuckStore(tmp_path / "new.duckdb")) as store:
        assert store.counts() == wanted[2]
    (aside / "store.duckdb").rename(aside / DATABASE)
    assert query(aside, "SELECT count(*) FROM runs", rows=1, timeout_s=60).rows == ((3,),)


def test_a_snapshot_under_writes_holds_whole_batches(tmp_path: Path) -> None:
    store = DuckStore(tmp_path / "store.duckdb")
    stop, began = threading.Event(), threading.Event()

    def write() -> None:
        batch = 0
        while not stop.is_set():
            put(store, *[run_record(f"b{batch}.{i}", at=minutes(batch)) for i in range(5)])
            began.set()
            batch += 1

    writer = threading.Thread(target=write)
    writer.start()
    assert began.wait(60)
    taken = [store.snapshot(minutes(i), "test") for i in range(3)]
    stop.set()
    writer.join()
    for one in taken:
        (row,) = query(one.folder, "SELECT count(*), count(DISTINCT run_id) FROM runs", rows=1, timeout_s=60).rows
        assert row[0] == row[1] > 0
        assert row[0] % 5 == 0
        exchanges = query(one.folder, "SELECT count(*) FROM exchanges", rows=1, timeout_s=60).rows
        assert exchanges == ((2 * row[0],),)
    store.close()


def test_no_room_leaves_nothing_behind(duck: DuckStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("storage.snapshots.shutil.disk_usage", lambda _: type("Usage", (), {"free": 1000}))
    with pytest.raises(StoreError, match=r"no snapshot: .* has 0 MiB left"):
        duck.snapshot(START, "test")
    assert list(place_of(tmp_path / "store.duckdb").iterdir()) == []


def test_only_the_newest_of_a_label_are_kept(duck: DuckStore, tmp_path: Path) -> None:
    place = place_of(tmp_path / "store.duckdb")
    for i in range(3):
        duck.snapshot(minutes(i), "daily")
    (place / "unfinished-of-a-killed-process").mkdir()
    mine = duck.snapshot(START, "asked")
    assert not (place / "unfinished-of-a-killed-process").exists()
    with pytest.raises(StoreError, match="this very second"):
        duck.snapshot(START, "asked")
    assert prune(place, "daily", 2) == 1
    assert [one.taken_at for one in existing(place)] == [START, minutes(1), minutes(2)]
    assert mine.database.exists()


def test_what_is_no_snapshot_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no snapshot"):
        restore(tmp_path, tmp_path / "x.duckdb", START)
    (tmp_path / DATABASE).write_bytes(b"nonsense" * 999)
    with pytest.raises(UsageError, match="cannot be read"):
        restore(tmp_path, tmp_path / "x.duckdb", START)
    (tmp_path / DATABASE).unlink()
    Database(tmp_path / DATABASE, [*MIGRATIONS, "CREATE TABLE later (x BIGINT)"]).close()
    with pytest.raises(UsageError, match=rf"has schema {len(MIGRATIONS) + 1}"):
        restore(tmp_path, tmp_path / "x.duckdb", START)
    assert not (tmp_path / "x.duckdb").exists()


def test_an_older_snapshot_is_restored_and_brought_up_to_date(tmp_path: Path) -> None:
    Database(tmp_path / "old" / DATABASE, MIGRATIONS[:1]).close()
    with pytest.raises(UsageError, match="`db restore` brings it up to date"):
        query(tmp_path / "old", "SELECT 1", rows=1, timeout_s=60)
    restore(tmp_path / "old", tmp_path / "x.duckdb", START)
    with closing(DuckStore(tmp_path / "x.duckdb")) as store:
        assert store.counts()["runs"] == 0


class _Clock:
    at = START

    def now(self) -> object:
        return self.at

    def monotonic_ns(self) -> int:
        return 0


def test_housekeeping_takes_a_snapshot_a_day(duck: DuckStore, tmp_path: Path) -> None:
    path = tmp_path / "store.duckdb"
    clock = _Clock()
    look = Housekeeping(duck, lambda: StoreConfig(path=str(path), snapshots=2), clock).look  # type: ignore[arg-type]
    for hours in (0, 1, 23, 24, 25, 49, 73):
        clock.at = START + timedelta(hours=hours)
        look()
    assert [(one.taken_at - START) / timedelta(hours=1) for one in existing(place_of(path))] == [49, 73]
    assert all(one.folder.name.endswith(DAILY) for one in existing(place_of(path)))


def test_what_a_command_left_behind_goes_after_a_day(duck: DuckStore, tmp_path: Path) -> None:
    path, clock = tmp_path / "store.duckdb", _Clock()
    look = Housekeeping(duck, lambda: StoreConfig(path=str(path), snapshots=0), clock).look  # type: ignore[arg-type]
    for label in (PASSING, ASKED):
        duck.snapshot(START, label)
    left = []
    for hours in (23, 25):
        clock.at = START + timedelta(hours=hours)
        look()
        left.append([one.folder.name.partition("-")[2] for one in existing(place_of(path))])
    assert left == [[ASKED, PASSING], [ASKED]]


def test_exports_hold_every_row_wherever_it_lies(duck: DuckStore, tmp_path: Path) -> None:
    _filled(duck)
    snapshot = duck.snapshot(START, "test")
    out = tmp_path / "out"
    written = export(snapshot.folder, out, tables=["runs", "tokens"], format="parquet", since=None)
    assert written == {"runs.parquet": 2, "tokens.parquet": 6}
    read = pyarrow.parquet.read_table(out / "tokens.parquet", columns=["exchange_id", "source"]).to_pylist()
    assert sorted((row["exchange_id"], row["source"]) for row in read) == [
        ("r1.0", "endpoint"), ("r1.0", "golden"), ("r1.1", "endpoint"), ("r1.1", "golden"),
        ("r2.0", "endpoint"), ("r2.1", "endpoint"),
    ]  # fmt: skip
    assert export(snapshot.folder, out, tables=["runs"], format="csv", since=minutes(1)) == {"runs.csv": 1}
    assert query(snapshot.folder, "SELECT count(*) FROM tokens", rows=1, timeout_s=60).rows == ((6,),)
    with pytest.raises(UsageError, match="no table 'writers'; there are endpoints, runs"):
        export(snapshot.folder, out, tables=["writers"], format="csv", since=None)
    assert sorted(path.name for path in out.iterdir()) == ["runs.csv", "runs.parquet", "tokens.parquet"]


FORMULAS = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", '=cmd|"/c calc"!A1']


def test_formulas_in_csv_are_text(duck: DuckStore, tmp_path: Path) -> None:
    """Issue 8, 7: text that a spreadsheet would execute gets an apostrophe; numbers and other text stay as they are."""
    plain_texts = ["a=b", "", " =1", "'", "ünï"]
    for i, text in enumerate([*FORMULAS, *plain_texts]):
        put(duck, verdict(f"v{i:02d}", effect=-0.5, reason=text, unit=text))
    snapshot = duck.snapshot(START, "test")
    export(snapshot.folder, tmp_path, tables=["verdicts"], format="csv", since=None)
    with (tmp_path / "verdicts.csv").open(encoding="utf-8", newline="") as file:
        rows = sorted(csv.DictReader(file), key=lambda row: row["verdict_id"])
    assert [row["unit"] for row in rows] == [*(f"'{text}" for text in FORMULAS), *plain_texts]
    assert {row["effect"] for row in rows} == {"-0.5"}
    assert all(row["record"].startswith("{") for row in rows)


REFUSED = {
    "DELETE FROM runs": "one SELECT at a time",
    "SELECT 1; SELECT 2": "one SELECT at a time",
    "COPY runs TO '/tmp/leak.csv'": "one SELECT at a time",
    "ATTACH '/tmp/leak.duckdb'": "one SELECT at a time",
    "SET memory_limit = '99GB'": "one SELECT at a time",
    "INSTALL httpfs": "one SELECT at a time",
    "": "one SELECT at a time",
    "SELEC 1": "the query does not work",
    "SELECT * FROM nowhere": "the query does not work",
    "SELECT * FROM read_csv('/etc/passwd')": "the query does not work",
    "SELECT * FROM read_text('/etc/passwd')": "the query does not work",
    "SELECT * FROM '/etc/passwd'": "the query does not work",
    "SELECT * FROM glob('/etc/*')": "the query does not work",
    "SELECT getenv('HOME')": "the query does not work",
    "SELECT 1/0 AS x, error('boom')": "the query does not work",
}


def test_a_query_can_only_look_and_only_here(duck: DuckStore) -> None:
    put(duck, run_record("r1"))
    snapshot = duck.snapshot(START, "test").folder
    before = (snapshot / DATABASE).read_bytes()
    for sql, message in REFUSED.items():
        with pytest.raises(UsageError, match=message):
            query(snapshot, sql, rows=10, timeout_s=60)
    assert (snapshot / DATABASE).read_bytes() == before


def test_a_query_is_bounded_in_rows_and_time(duck: DuckStore) -> None:
    snapshot = duck.snapshot(START, "test").folder
    found = query(snapshot, "SELECT range AS x FROM range(1000000000000)", rows=3, timeout_s=60)
    assert (found.columns, found.rows, found.more) == (("x",), ((0,), (1,), (2,)), True)
    assert not query(snapshot, "SELECT 1", rows=1, timeout_s=60).more
    endless = "SELECT count(*) FROM range(1000000000000) a WHERE a.range % 7 = 3"
    with pytest.raises(UsageError, match=r"took longer than 0\.3 s"):
        query(snapshot, endless, rows=3, timeout_s=0.3)
