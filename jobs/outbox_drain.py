"""Drains the outbox: each route in a task of its own, so that a dead one holds no other."""

import asyncio
import logging
from collections.abc import Callable, Mapping

from jobs.notify_routes import Sender, SendError
from monitor.alerting.outbox import Delivery, arrived, due, failed, withdrawn
from monitor.codec import encode
from monitor.errors import StoreError
from monitor.ports import Clock

log = logging.getLogger(__name__)


class Drain:
    """Sends what waits and hands every result to `keep`, as entries for the spool."""

    def __init__(
        self, senders: Mapping[str, Sender], clock: Clock, keep: Callable[[list[tuple[str, bytes]]], None]
    ) -> None:
        self._senders, self._clock, self._keep = senders, clock, keep
        self._waiting: dict[str, Delivery] = {}
        self._done: set[str] = set()
        self._busy: dict[str, asyncio.Task[None]] = {}
        self._unkept: list[tuple[str, bytes]] = []

    def waiting(self, found: Mapping[str, Delivery]) -> None:
        """Take what the store says is waiting. What was sent since it was asked is not sent again."""
        fresh = {name: one for name, one in found.items() if name not in self._done}
        known = {name: one for name, one in self._waiting.items() if name in fresh}
        self._done &= set(found)
        self._waiting = {**fresh, **known}

    def start_due(self) -> None:
        """Start a task for every route that has something due and none under way."""
        self._record()
        by_route: dict[str, list[Delivery]] = {}
        for one in due(list(self._waiting.values()), self._clock.now()):
            by_route.setdefault(one.route, []).append(one)
        for route, own in by_route.items():
            if route not in self._busy:
                task = asyncio.create_task(self._send(own))
                self._busy[route] = task
                task.add_done_callback(lambda done, route=route: self._ended(route, done))  # type: ignore[misc]

    async def end(self) -> None:
        """Wait for what is under way."""
        if self._busy:
            await asyncio.wait(list(self._busy.values()))

    def _ended(self, route: str, task: "asyncio.Task[None]") -> None:
        del self._busy[route]
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("route %s: our bug", route, exc_info=error)

    async def _send(self, own: list[Delivery]) -> None:
        for one in own:
            after = await self._attempt(one)
            self._unkept.append(("delivery", encode(after)))
            if after.done_at is None and after.given_up_at is None:
                self._waiting[one.delivery_id] = after
            else:
                self._waiting.pop(one.delivery_id, None)
                self._done.add(one.delivery_id)
            self._record()

    def _record(self) -> None:
        """Write down how attempts went; what finds no room waits for the next time."""
        try:
            self._keep(self._unkept)
        except StoreError as error:
            log.warning("what was sent is not written down yet: %s", error)
        else:
            self._unkept = []

    async def _attempt(self, one: Delivery) -> Delivery:
        sender = self._senders.get(one.route)
        if sender is None:
            return withdrawn(one, self._clock.now())
        try:
            await sender.send(one)
        except SendError as error:
            log.warning("route %s: %s; attempt %d", one.route, error, one.attempts + 1)
            return failed(one, str(error), self._clock.now())
        except Exception:  # it counts as an attempt: else it would be tried for ever, and hold up its route
            log.exception("route %s: our bug; attempt %d", one.route, one.attempts + 1)
            return failed(one, "our bug, see the log of the judge", self._clock.now())
        return arrived(one, self._clock.now())
