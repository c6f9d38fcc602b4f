"""Notes that a writer keeps in its spool: in the same transaction as the rows. Oracle: what the file has afterwards."""

import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from monitor.errors import SpoolFullError
from storage.spool import SqliteSpool

WRITES_UNTIL_KILLED = """
import sys
from pathlib import Path
from storage.spool import SqliteSpool
spool = SqliteSpool(Path(sys.argv[1]), writer="w")
n = 0
while True:
    n += 1
    spool.append([("slot", str(n).encode())], {"last": str(n).encode()})
    print(n, flush=True)
"""


def test_notes_outlive_the_process_and_the_newest_counts(tmp_path: Path) -> None:
    spool = SqliteSpool(tmp_path / "spool.sqlite", writer="w")
    spool.append([("slot", b"1")], {"a": b"1", "b": b"2"})
    spool.append([], {"a": b"3"})
    spool.confirm(99)
    spool.close()
    again = SqliteSpool(tmp_path / "spool.sqlite", writer="w")
    assert again.notes() == {"a": b"3", "b": b"2"}
    assert again.pending(9) == []
    again.close()


def test_a_full_spool_takes_neither_rows_nor_notes(tmp_path: Path) -> None:
    spool = SqliteSpool(tmp_path / "spool.sqlite", writer="w", max_pages=20)
    spool.append([("slot", b"1")], {"last": b"1"})
    with pytest.raises(SpoolFullError):
        spool.append([("slot", b"x" * 200_000)], {"last": b"2"})
    assert spool.notes() == {"last": b"1"}
    assert len(spool.pending(9)) == 1
    spool.close()


def test_a_kill_leaves_rows_and_notes_of_the_same_moment(tmp_path: Path) -> None:
    path = tmp_path / "spool.sqlite"
    with subprocess.Popen(
        [sys.executable, "-c", WRITES_UNTIL_KILLED, str(path)], stdout=subprocess.PIPE, text=True
    ) as writer:
        assert writer.stdout is not None
        told = [int(writer.stdout.readline()) for _ in range(20)][-1]
        os.kill(writer.pid, signal.SIGKILL)
        told = max([told, *(int(line) for line in writer.stdout.read().split())])
    spool = SqliteSpool(path, writer="w")
    rows = [int(entry.data) for entry in spool.pending(10**6)]
    assert rows == list(range(1, len(rows) + 1))
    assert int(spool.notes()["last"]) == rows[-1] >= told
    spool.close()


def test_a_spool_from_before_there_were_notes_gets_them(tmp_path: Path) -> None:
    path = tmp_path / "spool.sqlite"
    SqliteSpool(path, writer="w").close()
    with sqlite3.connect(path) as old:
        old.execute("DROP TABLE notes")
    old.close()
    spool = SqliteSpool(path, writer="w")
    assert spool.notes() == {}
    spool.close()
