"""Where a writer keeps records until the store has them: one SQLite file, safe against a kill at any point."""

import secrets
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from types import MappingProxyType

from monitor.errors import SpoolFullError, StoreError
from monitor.ports import Entry

_SCHEMA = """
CREATE TABLE IF NOT EXISTS spool (seq INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, data BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS identity (writer TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS notes (name TEXT PRIMARY KEY, data BLOB NOT NULL);
"""
_FULL = (
    "SQLITE_FULL", "SQLITE_IOERR_WRITE", "SQLITE_IOERR_FSYNC", "SQLITE_IOERR_TRUNCATE", "SQLITE_IOERR_SHMSIZE",
)  # fmt: skip


class SqliteSpool:
    """A `monitor.ports.Spool` in a SQLite file; usable from several threads of one process.

    Every append is on the disk when it returns (a few ms): sequence numbers are never used twice, not even after a
    power cut, because the store drops numbers that it has already seen.

    Parameters
    ----------
    path
        The file; made when missing.
    writer
        Readable start of the name of a *new* file's writer. A random part follows always: a fresh file counts from 1
        again, so it must not pass for an old one. A file keeps its name for life; never copy one.
    max_pages
        Most database pages (4 KiB each); None leaves it to the disk.
    """

    def __init__(self, path: Path, *, writer: str | None, max_pages: int | None = None) -> None:
        self._path = path
        self._lock = Lock()
        with self._explained():
            path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=10)
        try:
            with self._explained():
                self._prepare(max_pages)
                self._writer = self._identity(writer)
        except StoreError:
            self._db.close()
            raise

    def _prepare(self, max_pages: int | None) -> None:
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = FULL")
        if max_pages is not None:
            self._db.execute(f"PRAGMA max_page_count = {int(max_pages)}")
        self._db.executescript(_SCHEMA)

    def _identity(self, writer: str | None) -> str:
        with self._transaction():
            row = self._db.execute("SELECT writer FROM identity").fetchone()
            if row is not None:
                return str(row[0])
            name = f"{writer or 'writer'}-{secrets.token_hex(8)}"
            self._db.execute("INSERT INTO identity (writer) VALUES (?)", (name,))
        return name

    @property
    def writer(self) -> str:
        """Stable name of the writer, unique per spool file."""
        return self._writer

    def append(self, records: Iterable[tuple[str, bytes]], notes: Mapping[str, bytes] = MappingProxyType({})) -> int:
        """Append (kind, data) records atomically; return the last sequence number (0 when there never was any).

        `notes` replace those of the same names in the same transaction, empty ones take them away; they stay in this
        file.

        Raises
        ------
        SpoolFullError
            When there is no room: none of `records` is kept, all that was there before is.
        """
        rows = list(records)
        with self._lock, self._explained(), self._transaction():
            self._db.executemany("INSERT INTO spool (kind, data) VALUES (?, ?)", rows)
            self._db.executemany("INSERT OR REPLACE INTO notes (name, data) VALUES (?, ?)", notes.items())
            empty = [(name,) for name, data in notes.items() if not data]
            self._db.executemany("DELETE FROM notes WHERE name = ?", empty)
            row = self._db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'spool'").fetchone()
        return int(row[0]) if row else 0

    def pending(self, limit: int) -> list[Entry]:
        """The oldest `limit` records that the store has not confirmed."""
        with self._lock, self._explained():
            rows = self._db.execute("SELECT seq, kind, data FROM spool ORDER BY seq LIMIT ?", (limit,)).fetchall()
        return [Entry(seq, kind, bytes(data)) for seq, kind, data in rows]

    def confirm(self, seq: int) -> None:
        """Forget all records up to and including `seq`."""
        with self._lock, self._explained(), self._transaction():
            self._db.execute("DELETE FROM spool WHERE seq <= ?", (seq,))

    def notes(self) -> dict[str, bytes]:
        """What the writer noted for itself, by name."""
        with self._lock, self._explained():
            return {name: bytes(data) for name, data in self._db.execute("SELECT name, data FROM notes")}

    def backlog(self) -> int:
        """Number of records that the store has not confirmed."""
        with self._lock, self._explained():
            return int(self._db.execute("SELECT count(*) FROM spool").fetchone()[0])

    def close(self) -> None:
        """Close the file. Idempotent."""
        with self._lock:
            self._db.close()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._db.execute("COMMIT")
        except BaseException:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            if getattr(error, "sqlite_errorname", None) in _FULL:
                raise SpoolFullError(
                    f"the spool {self._path} is full; nothing that it holds is lost: make room on the disk, raise its "
                    "limit, or bring the store back so that it can drain"
                ) from error
            raise StoreError(f"the spool {self._path} cannot be used: {error}") from error
