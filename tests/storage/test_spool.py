"""The spool on its own. Oracle: what was appended, and the promise that a number is never used twice."""

import sqlite3
import threading
from pathlib import Path

import pytest

from monitor.errors import SpoolFullError, StoreError
from monitor.ports import Entry
from storage.spool import SqliteSpool


def test_records_come_back_in_order_until_they_are_confirmed(tmp_path: Path) -> None:
    spool = SqliteSpool(tmp_path / "a" / "spool.sqlite", writer=None)
    assert spool.pending(9) == []
    assert spool.append([]) == 0
    assert spool.append([("run", b"1"), ("slot", b"\x00\xff")]) == 2
    assert spool.append([("run", b"")]) == 3
    assert spool.pending(9) == [Entry(1, "run", b"1"), Entry(2, "slot", b"\x00\xff"), Entry(3, "run", b"")]
    assert [e.seq for e in spool.pending(2)] == [1, 2]
    spool.confirm(2)
    assert [e.seq for e in spool.pending(9)] == [3]
    assert spool.backlog() == 1
    assert spool.append([]) == 3
    spool.close()
    spool.close()


def test_numbers_are_never_used_twice(tmp_path: Path) -> None:
    path = tmp_path / "spool.sqlite"
    spool = SqliteSpool(path, writer="eu-1")
    spool.confirm(spool.append([("run", b"1"), ("run", b"2")]))
    spool.close()
    again = SqliteSpool(path, writer="eu-1")
    assert again.pending(9) == []
    assert again.append([("run", b"3")]) == 3
    again.close()


def test_the_writers_name_belongs_to_the_file(tmp_path: Path) -> None:
    first = SqliteSpool(tmp_path / "a", writer="eu-1")
    again = SqliteSpool(tmp_path / "a", writer="us-2")
    other = SqliteSpool(tmp_path / "b", writer="eu-1")
    assert again.writer == first.writer
    assert first.writer.startswith("eu-1-")
    assert other.writer != first.writer
    for spool in (first, again, other):
        spool.close()


def test_an_append_is_all_or_nothing(tmp_path: Path) -> None:
    spool = SqliteSpool(tmp_path / "spool.sqlite", writer=None)
    with pytest.raises(StoreError, match="cannot be used"):
        spool.append([("run", b"1"), ("run", None)])  # type: ignore[list-item]
    assert spool.pending(9) == []
    assert spool.append([("run", b"2")]) >= 1
    spool.close()


def _fill(spool: SqliteSpool) -> None:
    for _ in range(1000):
        spool.append([("run", b"x" * 3000), ("run", b"y" * 3000)])


def test_a_full_spool_says_so_keeps_all_and_takes_more_once_there_is_room(tmp_path: Path) -> None:
    spool = SqliteSpool(tmp_path / "spool.sqlite", writer=None, max_pages=40)
    with pytest.raises(SpoolFullError, match="is full; nothing that it holds is lost"):
        _fill(spool)
    kept = spool.backlog() // 2
    assert kept > 5
    assert [e.seq for e in spool.pending(9999)] == list(range(1, 2 * kept + 1))
    spool.confirm(kept)
    last = spool.append([("run", b"z" * 3000)])
    assert last > 2 * kept
    assert spool.pending(9999)[-1].data == b"z" * 3000
    assert spool.backlog() == kept + 1
    spool.close()


def test_threads_do_not_disturb_each_other(tmp_path: Path) -> None:
    spool = SqliteSpool(tmp_path / "spool.sqlite", writer=None)

    def write(name: int) -> None:
        for i in range(20):
            spool.append([("run", b"%d.%d" % (name, i)), ("slot", b"%d.%d" % (name, i))])

    threads = [threading.Thread(target=write, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = spool.pending(999)
    assert [e.seq for e in found] == list(range(1, 161))
    pairs = list(zip(found[::2], found[1::2], strict=True))
    assert all(a.data == b.data and (a.kind, b.kind) == ("run", "slot") for a, b in pairs)
    spool.close()


def test_what_is_no_spool_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("this is not a database, whatever its name is" * 50)
    with pytest.raises(StoreError, match=r"text cannot be used: file is not a database"):
        SqliteSpool(tmp_path / "text", writer=None)
    with pytest.raises(StoreError, match="text/spool cannot be used"):
        SqliteSpool(tmp_path / "text" / "spool", writer=None)


def test_a_closed_spool_is_a_clear_error(tmp_path: Path) -> None:
    spool = SqliteSpool(tmp_path / "spool.sqlite", writer=None)
    spool.close()
    with pytest.raises(StoreError, match="closed"):
        spool.append([("run", b"")])


def test_appends_reach_the_disk(tmp_path: Path) -> None:
    spool = SqliteSpool(tmp_path / "spool.sqlite", writer=None)
    assert spool._db.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL
    assert spool._db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    spool.close()
    with sqlite3.connect(tmp_path / "spool.sqlite") as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    db.close()
