"""Copies of a store that can be read or restored: a folder with the database file and the evidence that it lists.

A snapshot appears whole or not at all, and nobody changes it afterwards: evidence files never change either, so they
are linked, not copied, where the disk can do that.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import duckdb

from monitor.errors import StoreError, UsageError
from storage.connection import Database, flush, lock
from storage.evidence import folder_of
from storage.inserting import rows_of
from storage.migrations import MIGRATIONS, version_of

DATABASE = "weighmaster.duckdb"
"""Name of the database file in a snapshot."""
ASKED = "asked"
"""Label of the snapshots that somebody asked for."""
PASSING = "passing"
"""Label of those that one command reads and removes at its end."""
_STAMP = "%Y%m%dT%H%M%SZ"


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A finished snapshot: its folder, and when it was taken."""

    folder: Path
    taken_at: datetime

    @property
    def database(self) -> Path:
        """The database file in it."""
        return self.folder / DATABASE


def place_of(path: Path) -> Path:
    """Return the folder of the snapshots of the database at `path`."""
    return path.with_name(f"{path.name}.snapshots")


def existing(place: Path) -> list[Snapshot]:
    """The finished snapshots in a folder, oldest first."""
    found = []
    for folder in place.glob("*"):
        stamp = folder.name.partition("-")[0]
        try:
            taken_at = datetime.strptime(stamp, _STAMP).replace(tzinfo=UTC)
        except ValueError:
            continue
        if (folder / DATABASE).exists():
            found.append(Snapshot(folder=folder, taken_at=taken_at))
    return sorted(found, key=lambda one: (one.taken_at, one.folder.name))


def take(database: Database, now: datetime, label: str) -> Snapshot:
    """Copy the database and link its evidence; call it while nobody writes.

    Raises
    ------
    StoreError
        When there is no room, or the disk refuses; no half snapshot stays.
    """
    place, name = place_of(database.path), f"{now.astimezone(UTC):{_STAMP}}-{label}"
    unfinished, folder = place / f"unfinished-{name}", place / name
    if folder.exists():
        raise StoreError(f"{folder} exists: a snapshot was taken this very second; try again")
    try:
        for stale in place.glob("unfinished-*"):  # of a process that was killed
            shutil.rmtree(stale, ignore_errors=True)
        unfinished.mkdir(parents=True)
        _check_room(database.path, place)
        _copy(database, unfinished)
        unfinished.rename(folder)
        flush(place)
    except OSError as error:
        raise StoreError(f"{folder}: no snapshot: {error.strerror or error}") from None
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return Snapshot(folder=folder, taken_at=now)


def _check_room(path: Path, place: Path) -> None:
    wanted, free = path.stat().st_size, shutil.disk_usage(place).free
    if free < 2 * wanted:
        raise StoreError(f"no snapshot: {place} has {free >> 20} MiB left, the database has {wanted >> 20} MiB")


def _copy(database: Database, into: Path) -> None:
    database.checkpoint()  # a copy without it would miss what is still in the write-ahead log
    shutil.copy2(database.path, into / DATABASE)
    flush(into / DATABASE)
    with database.transaction() as con:
        names = [row["name"] for row in rows_of(con, "SELECT f.name FROM files f")]
    source, target = folder_of(database.path), folder_of(into / DATABASE)
    for name in names:
        if (source / name).exists():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            _link(source / name, target / name)
    flush(into)


def _link(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError:  # another disk, or one that knows no links
        shutil.copy2(source, target)


def labelled(place: Path, label: str) -> list[Snapshot]:
    """The finished snapshots with this label, oldest first."""
    return [one for one in existing(place) if one.folder.name.endswith(f"-{label}")]


def prune(place: Path, label: str, keep: int) -> int:
    """Remove all but the newest `keep` snapshots with this label; return how many went."""
    ours = labelled(place, label)
    return _remove(ours[: max(0, len(ours) - keep)])


def prune_before(place: Path, label: str, before: datetime) -> int:
    """Remove the snapshots with this label that were taken before an instant; return how many went."""
    return _remove([one for one in labelled(place, label) if one.taken_at < before])


def _remove(old: list[Snapshot]) -> int:
    for one in old:
        shutil.rmtree(one.folder)
    return len(old)


def restore(snapshot: Path, path: Path, now: datetime) -> Path | None:
    """Put a snapshot in the place of the database at `path`; what was there is moved aside.

    Returns
    -------
    Path or None
        Where the former database went; None when there was none.

    Raises
    ------
    StoreError
        When a store has the database open, or `snapshot` cannot be read by this version.
    UsageError
        When `snapshot` is none.
    """
    check(snapshot)
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(lock(path)):
        aside = path.with_name(f"{path.name}.replaced-{now.astimezone(UTC):{_STAMP}}")
        incoming = path.with_name(f"{path.name}.incoming")
        shutil.rmtree(incoming, ignore_errors=True)
        try:
            shutil.copytree(snapshot, incoming)
            flush(incoming / DATABASE)
            moved = _move_aside(path, aside)
            (incoming / DATABASE).rename(path)
            if folder_of(incoming / DATABASE).exists():
                folder_of(incoming / DATABASE).rename(folder_of(path))
            flush(path.parent)
        except OSError as error:
            raise StoreError(f"{path} was not restored: {error}; what was there is in {aside} or still here") from None
        finally:
            shutil.rmtree(incoming, ignore_errors=True)
    return aside if moved else None


def _move_aside(path: Path, aside: Path) -> bool:
    old = [one for one in (path, path.with_name(f"{path.name}.wal"), folder_of(path)) if one.exists()]
    for one in old:
        aside.mkdir(exist_ok=True)
        one.rename(aside / one.name)
    return bool(old)


def check(snapshot: Path) -> int:
    """Return the schema of a snapshot that this version can read.

    Raises
    ------
    UsageError
        When it is not.
    """
    file = snapshot / DATABASE
    if not file.is_file():
        raise UsageError(f"{snapshot}: no snapshot, {DATABASE} is not in it; `weighmaster db snapshots` lists them")
    with _readable(file) as con:
        version = version_of(con, file)
    if not 0 < version <= len(MIGRATIONS):
        raise UsageError(f"{snapshot}: has schema {version}, this Weighmaster knows up to {len(MIGRATIONS)}: update it")
    return version


@contextmanager
def _readable(file: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    try:
        with duckdb.connect(file, read_only=True) as con:
            yield con
    except duckdb.Error as error:
        raise UsageError(f"{file}: cannot be read: {error}") from None
