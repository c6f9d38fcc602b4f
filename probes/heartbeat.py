"""How late the prober's own event loop runs: the bound on what it can say about somebody else's speed."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass

from monitor.ports import Clock

TICK_S = 0.005


@dataclass(slots=True)
class LagWindow:
    """The largest lag seen while the window was open, ms; None until the first tick."""

    max_ms: float | None = None

    def note(self, lag_ms: float) -> None:
        """Take in one more lag."""
        if self.max_ms is None or lag_ms > self.max_ms:
            self.max_ms = lag_ms


class Heartbeat:
    """Sleeps `TICK_S` again and again and notes how much later than asked it woke up.

    Lag shorter than one tick that falls between two ticks is not seen; the tick is the resolution of the bound.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._due_ns: int | None = None
        self._open: dict[int, LagWindow] = {}

    @asynccontextmanager
    async def beating(self) -> AsyncIterator["Heartbeat"]:
        """Beat for as long as the context is open."""
        task = asyncio.create_task(self._beat())
        try:
            yield self
        finally:
            task.cancel()
            await asyncio.wait([task])
            self._due_ns = None

    @contextmanager
    def window(self) -> Iterator[LagWindow]:
        """Watch the lag for as long as the context is open."""
        window = LagWindow()
        self._open[id(window)] = window
        try:
            yield window
        finally:
            del self._open[id(window)]
            # After a blocked loop, what waited for the socket runs before the tick that is overdue.
            if self._due_ns is not None and (overdue_ns := self._clock.monotonic_ns() - self._due_ns) > 0:
                window.note(overdue_ns / 1e6)

    async def _beat(self) -> None:
        while True:
            self._due_ns = self._clock.monotonic_ns() + int(TICK_S * 1e9)
            await asyncio.sleep(TICK_S)
            lag_ms = max(0.0, (self._clock.monotonic_ns() - self._due_ns) / 1e6)
            for window in self._open.values():
                window.note(lag_ms)
