"""Copies of the store for commands: of the running one by its API, else of the file itself."""

import asyncio
import shutil
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import orjson

from jobs.store_client import StoreClient, client_for
from monitor.config_store import StoreConfig
from monitor.errors import InUseError, StoreError, UsageError
from storage.snapshots import ASKED, PASSING, existing, place_of, restore
from storage.store import DuckStore

T = TypeVar("T")


def take(config: StoreConfig, *, passing: bool = False) -> Path:
    """Take a snapshot and return its folder; one that is `passing` goes after a day, whatever happens.

    Raises
    ------
    UsageError
        When there is no database yet, or the store that has it is on another machine.
    StoreError
        When it cannot be taken.
    """
    path = Path(config.path)
    if not path.exists():
        raise UsageError(f"{path}: no database yet; it is made when the store first runs")
    try:
        with closing(DuckStore(path)) as store:
            return store.snapshot(datetime.now(UTC), PASSING if passing else ASKED).folder
    except InUseError:
        folder = Path(asyncio.run(_ask(config, lambda store: store.snapshot(passing=passing))))
    if not folder.exists():
        raise UsageError(f"the store took the snapshot {folder} on its own machine: run this command there")
    return folder


async def _ask(config: StoreConfig, call: Callable[[StoreClient], Awaitable[T]]) -> T:
    client = client_for(config, config.url)
    try:
        return await call(client)
    finally:
        await client.aclose()


@contextmanager
def readable(config: StoreConfig, chosen: Path | None) -> Iterator[Path]:
    """Give the chosen snapshot, else a fresh one that is removed at the end."""
    if chosen is not None:
        yield named(config, chosen)
        return
    folder = take(config, passing=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def named(config: StoreConfig, chosen: Path) -> Path:
    """The folder of a snapshot, given as a path or by its name."""
    beside = place_of(Path(config.path)) / chosen
    return beside if not chosen.exists() and beside.exists() else chosen


def listed(config: StoreConfig) -> list[dict[str, Any]]:
    """Name, time, folder and size of the snapshots that there are, oldest first."""
    return [
        {
            "name": one.folder.name, "taken_at": one.taken_at.isoformat().replace("+00:00", "Z"),
            "folder": str(one.folder), "bytes": one.database.stat().st_size,
        }
        for one in existing(place_of(Path(config.path)))
    ]  # fmt: skip


def put_back(config: StoreConfig, chosen: Path) -> Path | None:
    """Restore a snapshot; return where the former database went."""
    path = Path(config.path)
    aside = restore(named(config, chosen), path, datetime.now(UTC))
    DuckStore(path).close()  # brings the schema up to date, and fails here rather than at the next start
    return aside


def capture(config: StoreConfig, exchange_id: str) -> bytes:
    """The capture file of an exchange.

    Raises
    ------
    StoreError
        When the store does not know the exchange, or its capture is not kept.
    """
    path = Path(config.path)
    try:
        with closing(DuckStore(path)) as store:
            found = store.capture(exchange_id)
    except InUseError:
        found = asyncio.run(_ask(config, lambda store: store.capture(exchange_id)))
    if found is None:
        raise StoreError(f"no exchange {exchange_id[:80]!r} in {path}")
    if found["capture"] is None:
        raise StoreError(f"{exchange_id}: {found['reason']}")
    return orjson.dumps(found["capture"], option=orjson.OPT_INDENT_2) + b"\n"
