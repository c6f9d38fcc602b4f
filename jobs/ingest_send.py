"""The way of a log to the store: what it has got already is left out, answer by answer."""

import asyncio
import hashlib
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import timedelta

from jobs.store_client import StoreClient
from monitor.codec import decode, encode
from monitor.errors import StoreError
from monitor.ports import Spool
from monitor.results import RunRecord
from monitor.shape import TRAFFIC
from monitor.types import Exchange

Made = Callable[[Sequence[Exchange], Collection[str]], Sequence[RunRecord]]
"""Runs of exchanges, oldest first, without those whose ids are known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Held:
    exchanges: tuple[Exchange, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    exchange_ids: tuple[str, ...]


async def send(
    store: StoreClient, spool: Spool, read: Sequence[Exchange], made: Made, *, endpoint: str, name: str
) -> None:  # fmt: skip
    """Send the runs that are `made` of `read`, and close `store`.

    Raises
    ------
    StoreError
        When the store does not answer. Nobody knows then what it has, so `read` waits in the spool as it is, and the
        next call with this endpoint and name asks again.
    """
    note = f"ingest-{hashlib.blake2b(f'{endpoint} {name}'.encode(), digest_size=8).hexdigest()}"
    held = decode(_Held, data).exchanges if (data := spool.notes().get(note)) else ()
    whole = sorted({one.exchange_id: one for one in (*held, *read)}.values(), key=lambda one: str(one.started_at))
    try:
        try:
            known = await _known(store, endpoint, whole)
        except StoreError as error:
            await asyncio.to_thread(spool.append, [], {note: encode(_Held(exchanges=tuple(whole)))})
            raise StoreError(f"{error}; what was read waits in the spool for the next ingest of {name}") from None
        records = made(whole, known | await asyncio.to_thread(_on_the_way, spool))
        await asyncio.to_thread(spool.append, [("run", encode(one)) for one in records], {note: b""})
        await store.push(spool)
    finally:
        await store.aclose()


async def _known(store: StoreClient, endpoint: str, exchanges: Sequence[Exchange]) -> set[str]:
    """Ids of the traffic that the store has of the days of `exchanges`. Raises StoreError."""
    found: set[str] = set()
    days = {one.started_at.replace(hour=0, minute=0, second=0, microsecond=0) for one in exchanges if one.started_at}
    for day in sorted(days):
        span = {"since": day.isoformat(), "until": (day + timedelta(days=1)).isoformat()}
        there = await store.read(_Known, "known", of=endpoint, probe=TRAFFIC, **span)
        found |= set(there.exchange_ids)
    return found


def _on_the_way(spool: Spool) -> set[str]:
    """Ids of what an earlier ingest left in the spool."""
    runs = (decode(RunRecord, entry.data) for entry in spool.pending(spool.backlog()) if entry.kind == "run")
    return {one.exchange_id for record in runs for one in record.exchanges}
