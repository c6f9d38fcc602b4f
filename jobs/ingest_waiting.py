"""Answers that were taken and are no run yet. They wait on the disk: what was answered with 200 outlives a kill.

Each body is a note in the spool, written before it is answered. The runs that are made of what waits go into the spool
in the transaction that takes the notes away, so a kill at any point loses nothing and counts nothing twice.
"""

import hashlib
import logging
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Lock

from jobs.ingest import Tally, append, of_model, runs_of
from monitor.codec import decode, encode
from monitor.ports import Spool
from monitor.types import Endpoint, Exchange

log = logging.getLogger(__name__)

MOST_WAITING = 20_000
"""Answers that wait for their run; beyond that senders are told to come back."""


class RefusedError(Exception):
    """A request that is not taken, with its status."""

    def __init__(self, status: int, message: str) -> None:
        self.status = status
        super().__init__(message)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Waiting:
    exchanges: tuple[Exchange, ...]


def mark_of(endpoint: str, name: str) -> str:
    """How the names of the notes of one receiver begin; no blanks."""
    return f"traffic-{hashlib.blake2b(f'{endpoint} {name}'.encode(), digest_size=8).hexdigest()}"


@dataclass(slots=True, kw_only=True)
class Receiver:
    """Where events go: they wait here until `flush` makes runs of them. Safe to use from several threads.

    What waited in the spool for the same endpoint and name, when the one before was killed, waits again.
    """

    endpoint: Endpoint
    spool: Spool
    name: str
    vantage: str
    token: str | None = None
    any_model: bool = False
    keep: bool = False
    waiting: list[Exchange] = field(default_factory=list)
    tally: Tally = field(default_factory=Tally)
    _notes: list[str] = field(init=False, default_factory=list)
    _lock: Lock = field(init=False, default_factory=Lock)

    def __post_init__(self) -> None:
        for note, data in self.spool.notes().items():
            if note.startswith(mark_of(self.endpoint.name, self.name)):
                self._notes.append(note)
                self.waiting += decode(_Waiting, data).exchanges
        if self._notes:
            log.info("%d answers of before wait for their runs", len(self.waiting))
            self.tally.accepted += len(self.waiting)

    def take(self, found: Sequence[Exchange]) -> None:
        """Let `found` wait, on the disk.

        Raises
        ------
        RefusedError
            When too many wait, or these are too many in any case.
        StoreError
            When the spool has no room; none of them wait then.
        """
        if len(found) > MOST_WAITING:
            raise RefusedError(413, f"{len(found)} answers at once: send at most {MOST_WAITING} in one body")
        mine = [one for one in found if self.any_model or of_model(one, self.endpoint)]
        with self._lock:
            if len(self.waiting) + len(mine) > MOST_WAITING:
                raise RefusedError(503, "too many answers wait for the store: send again later")
            if mine:
                note = f"{mark_of(self.endpoint.name, self.name)}-{secrets.token_hex(8)}"
                self.spool.append([], {note: encode(_Waiting(exchanges=tuple(mine)))})
                self._notes.append(note)
                self.waiting += mine
            self.tally.other_model += len(found) - len(mine)
            self.tally.accepted += len(mine)

    def flush(self) -> int:
        """Put what waits into the spool as runs; return how many runs.

        Raises StoreError when the spool takes none; then all wait on.
        """
        with self._lock:
            records = runs_of(self.waiting, self.endpoint, name=self.name, vantage=self.vantage)
            append(self.spool, records, dict.fromkeys(self._notes, b""))
            self.waiting, self._notes = [], []
            self.tally.runs += len(records)
        return len(records)
