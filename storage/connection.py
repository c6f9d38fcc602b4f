"""The one opener of the database file: lock, settings, a cursor per use, and opening again after a fatal error."""

import fcntl
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Condition
from typing import IO

import duckdb

from monitor.errors import InUseError, StoreError
from storage.evidence import folder_of
from storage.migrations import MIGRATIONS, migrate

# Files of the 1.5 format can be read by every DuckDB that we support.
_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "storage_compatibility_version": "v1.5.0",
    "threads": 2,
    "memory_limit": "512MB",
}
# After these the whole database is unusable until every connection of the process is closed.
_FATAL = (duckdb.FatalException, duckdb.InternalException)


def flush(*paths: Path) -> None:
    """Make sure that files and folders survive a power cut."""
    for path in paths:
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def quoted(path: Path) -> str:
    """Return the absolute path as SQL text."""
    return "'" + str(path.absolute()).replace("'", "''") + "'"


def lock(path: Path) -> IO[str]:
    """Lock the side file of `path` for this process and write our pid into it; closing it lets go."""
    side = path.with_name(path.name + ".lock").open("a+", encoding="utf-8")
    try:
        fcntl.flock(side, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        side.seek(0)
        pid = side.read().strip() or "unknown"
        side.close()
        raise InUseError(f"{path} is in use by process {pid}: ask that store by its URL, or stop it first") from None
    side.truncate(0)
    side.write(str(os.getpid()))
    side.flush()
    return side


class Database:
    """A DuckDB file that only this process has open.

    Connections are never shared between threads (DuckDB then gives wrong answers without an error): each use gets its
    own cursor, in a transaction of its own.

    Parameters
    ----------
    path
        The file; made when missing.
    steps
        Schema steps, see `storage.migrations`.
    """

    def __init__(self, path: Path, steps: Sequence[str] = MIGRATIONS) -> None:
        self.path = path
        self._steps = steps
        self._gate = Condition()
        self._active = 0
        self._closed = self._broken = False
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._side = lock(path)
        except OSError as error:
            raise StoreError(f"{path} cannot be opened: {error}") from None
        try:
            self._connection = self._open()
        except StoreError:
            self._side.close()
            raise

    def _open(self) -> duckdb.DuckDBPyConnection:
        try:
            connection = duckdb.connect(self.path, config=_CONFIG)
        except duckdb.Error as error:
            raise StoreError(
                f"{self.path} cannot be opened: {error}. Keep the file and its .wal (never delete the .wal alone: rows "
                "would vanish); if it is damaged, move both aside and put a copy in their place"
            ) from error
        try:
            connection.execute("SET GLOBAL TimeZone = 'UTC'")
            migrate(connection, self.path, self._steps)
            connection.execute(f"SET GLOBAL allowed_directories = [{quoted(folder_of(self.path))}]")
            connection.execute("SET GLOBAL enable_external_access = false")
            connection.execute("SET GLOBAL lock_configuration = true")
        except (duckdb.Error, OSError) as error:
            connection.close()
            raise StoreError(f"{self.path}: the schema cannot be brought up to date: {error}") from error
        except StoreError:
            connection.close()
            raise
        return connection

    @contextmanager
    def transaction(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Give a cursor in a transaction: committed at the end, rolled back on any error.

        Raises
        ------
        StoreError
            When the disk, memory or the file fails. After a fatal error the database is opened again, so that the
            next use can work.
        """
        with self._cursor() as cursor, _rolled_back(cursor):
            yield cursor

    @contextmanager
    def _cursor(self) -> Iterator[duckdb.DuckDBPyConnection]:
        cursor = self._enter()
        fatal = False
        try:
            yield cursor
        except _FATAL as error:
            fatal = True
            raise StoreError(f"{self.path}: fatal error of the database, opening it again: {error}") from error
        except duckdb.OperationalError as error:
            raise StoreError(f"{self.path}: {error}") from error
        finally:
            with suppress(duckdb.Error):
                cursor.close()
            self._leave(fatal)

    def _enter(self) -> duckdb.DuckDBPyConnection:
        with self._gate:
            if self._closed:
                raise StoreError(f"{self.path} is closed")
            if self._broken:
                self._gate.wait_for(lambda: self._active == 0)  # closing would pull the others' cursors from under them
                self._reopen()
            cursor = self._connection.cursor()
            self._active += 1
            return cursor

    def _reopen(self) -> None:
        if self._broken:  # several may have waited for it
            with suppress(duckdb.Error):
                self._connection.close()
            self._connection = self._open()
            self._broken = False

    def _leave(self, fatal: bool) -> None:
        with self._gate:
            self._active -= 1
            self._broken = self._broken or fatal
            self._gate.notify_all()

    def renew(self) -> None:
        """Have the next use open the file anew, once those under way have ended.

        Until then DuckDB keeps some kilobytes of memory for every batch that replaces rows (docs/benchmarks.md).
        """
        with self._gate:
            self._broken = True

    def checkpoint(self) -> None:
        """Bring all that is committed into the file itself; call it while nobody writes.

        Raises
        ------
        StoreError
            When the disk refuses; nothing is lost then.
        """
        with self._cursor() as cursor:
            cursor.execute("CHECKPOINT")

    def close(self) -> None:
        """Wait for uses under way, checkpoint, close, release the lock. Idempotent."""
        with self._gate:
            if self._closed:
                return
            self._closed = True
            self._gate.wait_for(lambda: self._active == 0)
            with suppress(duckdb.Error):  # what is not checkpointed stays in the write-ahead log
                self._connection.execute("CHECKPOINT")
            with suppress(duckdb.Error):
                self._connection.close()
            self._side.close()


@contextmanager
def _rolled_back(cursor: duckdb.DuckDBPyConnection) -> Iterator[None]:
    cursor.execute("BEGIN")
    try:
        yield
        cursor.execute("COMMIT")
    except BaseException:
        with suppress(duckdb.Error):
            cursor.execute("ROLLBACK")
        raise
