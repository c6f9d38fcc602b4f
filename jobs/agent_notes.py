"""What the agent must know again after a restart: slots accounted for, waits, and what endpoints have cost today.

Kept as notes in the spool, each written in the same transaction as the rows that it belongs to: a kill at any point
leaves both or neither. Nothing needs the store for it.
"""

import logging
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TypeVar

from monitor.backoff import Wait, wait_after
from monitor.budget import Amount, Budget, Spent, cost_of, over
from monitor.codec import decode, encode
from monitor.schedule import Pair
from monitor.slot import Slot
from monitor.types import Endpoint, Exchange

log = logging.getLogger(__name__)

T = TypeVar("T")

_SLOT, _WAIT, _SPENT = "slot", "wait", "spent"


class AgentNotes:
    """The agent's memory. What changes is collected until `changes` hands it over with the rows.

    Parameters
    ----------
    notes
        As the spool has them. One that cannot be read is ignored: it is of a newer version.
    """

    def __init__(self, notes: Mapping[str, bytes]) -> None:
        self._waits = dict(_read(notes, _WAIT, Wait))
        self._spent = dict(_read(notes, _SPENT, Spent))
        self._last = dict(_read(notes, _SLOT, datetime))
        self._changes: dict[str, bytes] = {}

    @property
    def last(self) -> dict[Pair, datetime]:
        """Newest slot of each pair that has a row, as have all before it."""
        return {(endpoint, probe): at for (endpoint, probe), at in self._last.items()}

    def changes(self) -> dict[str, bytes]:
        """Return what changed since the last call."""
        changes, self._changes = self._changes, {}
        return changes

    def accounted(self, slots: Iterable[Slot]) -> None:
        """Note that these slots have rows."""
        for slot in slots:
            self.begun((slot.endpoint, slot.probe), slot.slot_at)

    def begun(self, pair: Pair, at: datetime) -> None:
        """Note that slots of a pair up to `at` are accounted for."""
        if pair not in self._last or self._last[pair] < at:
            self._last[pair] = at
            self._change(_SLOT, pair, at)

    def wait(self, endpoint: str, now: datetime) -> Wait | None:
        """Return the wait that `endpoint` is in."""
        wait = self._waits.get((endpoint,))
        return wait if wait is not None and wait.holds(now) else None

    def ran(self, endpoint: str, exchanges: tuple[Exchange, ...], ended_at: datetime) -> Wait | None:
        """Note the wait that a run ended with; return it."""
        before = self._waits.get((endpoint,))
        after = wait_after(exchanges, ended_at, before)
        if after is not None:
            self._waits[endpoint,] = after
            self._change(_WAIT, (endpoint,), after)
        elif before is not None:
            # Over, but a note cannot be taken back: it is replaced by one that has ended.
            del self._waits[endpoint,]
            self._change(_WAIT, (endpoint,), Wait(since=ended_at, until=ended_at, why=before.why, n=0))
        return after

    def over(self, endpoint: str, budget: Budget, planned: Amount, now: datetime) -> str | None:
        """Return why a run that may cost `planned` is over the budget; None when it is within."""
        return over(budget, self.spent(endpoint, now), planned)

    def spent(self, endpoint: str, now: datetime) -> Spent:
        """Return the account of today."""
        return self._spent.get((endpoint,), Spent(day=now.date())).on(now)

    def reserve(self, endpoint: str, planned: Amount, now: datetime) -> None:
        """Count a run at the most that it can cost."""
        self._account(endpoint, self.spent(endpoint, now).reserved(planned))

    def settle(self, endpoint: Endpoint, planned: Amount, exchanges: Iterable[Exchange], now: datetime) -> None:
        """Count a run at what it did cost instead."""
        cost = cost_of(endpoint, exchanges, planned)
        self._account(endpoint.name, self.spent(endpoint.name, now).settled(planned, cost))

    def _account(self, endpoint: str, spent: Spent) -> None:
        self._spent[endpoint,] = spent
        self._change(_SPENT, (endpoint,), spent)

    def _change(self, kind: str, key: tuple[str, ...], noun: object) -> None:
        self._changes["\0".join((kind, *key))] = encode(noun)


def _read(notes: Mapping[str, bytes], kind: str, noun: type[T]) -> Iterable[tuple[tuple[str, ...], T]]:
    for name, data in notes.items():
        first, *key = name.split("\0")
        if first == kind:
            try:
                yield tuple(key), decode(noun, data)
            except ValueError as error:
                log.warning("a note of the agent is ignored: %s", error)
