"""A full spool: nothing measured is lost, order is kept, and the message says what happens."""

import logging
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from jobs.backlog import Backlog
from monitor.errors import SpoolFullError
from storage.spool import SqliteSpool


class Full:
    """A spool with room for `room` records."""

    writer = "full"

    def __init__(self, room: int) -> None:
        self.room = room
        self.held: list[tuple[str, bytes]] = []

    def append(self, records: Iterable[tuple[str, bytes]], _notes: Mapping[str, bytes]) -> int:
        batch = list(records)
        if len(self.held) + len(batch) > self.room:
            raise SpoolFullError("no room in the spool")
        self.held.extend(batch)
        return len(self.held)


def test_waits_in_memory_and_moves_on_in_order(caplog: pytest.LogCaptureFixture) -> None:
    spool = Full(room=1)
    backlog = Backlog(spool)  # type: ignore[arg-type]  # the part of the port that is used
    for name in (b"1", b"2", b"3"):
        backlog.append([("run", name)])
    waiting = backlog.full
    assert waiting
    assert [data for _, data in spool.held] == [b"1"]
    assert "no room in the spool; results wait in memory and probing pauses" in caplog.text
    assert caplog.text.count("probing pauses") == 1
    backlog.say_what_is_lost()
    assert "lost, the spool is full" in caplog.text
    assert "run 2" in caplog.text
    assert "run 3" in caplog.text
    spool.room = 3
    backlog.retry()
    assert not backlog.full
    assert [data for _, data in spool.held] == [b"1", b"2", b"3"]


def test_a_real_spool_that_is_full(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """SQLite's `max_page_count` stands for a full disk."""
    spool = SqliteSpool(tmp_path / "spool.sqlite", writer="t", max_pages=20)
    backlog = Backlog(spool)
    with caplog.at_level(logging.ERROR):
        for index in range(40):
            backlog.append([("run", bytes([index]) * 4000)])
    n_before = len(spool.pending(100))
    assert 0 < n_before < 40
    seen: list[int] = []
    while entries := spool.pending(5):
        seen.extend(entry.data[0] for entry in entries)
        spool.confirm(entries[-1].seq)
        backlog.retry()
    assert not backlog.full
    assert seen == list(range(40))
    spool.close()
