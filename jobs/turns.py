"""Has probes wait for their turn, so that they do not disturb each other (`monitor.lanes` says who may run)."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from monitor.lanes import Lane, Turn, startable
from monitor.ports import Clock


class Turns:
    """Who runs and who waits, on one agent."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._running: list[Turn] = []
        self._waiting: dict[Turn, asyncio.Event] = {}

    @asynccontextmanager
    async def turn(self, provider: str, lane: Lane) -> AsyncIterator[None]:
        """Wait until a probe of `provider` may run in `lane`; let others go on at the end."""
        mine, mine_now = Turn(provider=provider, lane=lane, asked_s=self._clock.monotonic_ns() / 1e9), asyncio.Event()
        self._waiting[mine] = mine_now
        self._advance()
        try:
            await mine_now.wait()
            yield
        finally:
            self._waiting.pop(mine, None)
            if mine in self._running:
                self._running.remove(mine)
            self._advance()

    def _advance(self) -> None:
        for turn in startable(self._waiting.keys(), self._running):
            self._running.append(turn)
            self._waiting.pop(turn).set()
