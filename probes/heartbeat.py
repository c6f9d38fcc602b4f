"""How late the prober's own event loop can have been: the bound on what it can say about somebody else's speed."""

import asyncio
from bisect import bisect_left
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass

from monitor.ports import Clock

FINE_S, COARSE_S = 0.001, 0.004
FEW = 8
"""Up to this many open windows a beat per millisecond costs nothing that matters; above, it would load the prober."""


@dataclass(slots=True)
class LagWindow:
    """The longest time between two beats while the window was open, ms; None while it is open or without a heartbeat.

    Whatever held up a read (a blocked loop, a busy machine) held up the next beat as well. So nothing that was read
    while the window was open had waited for longer than this.
    """

    max_ms: float | None = None


class Heartbeat:
    """Has the loop call it at short intervals while somebody watches, and notes how long they really were."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._last_ns = 0
        self._n_open = self._n_beats = 0
        # Intervals that no later one exceeded, as (number of the beat, ms): all that an open window can still ask for.
        self._peaks: list[tuple[int, float]] = []

    @asynccontextmanager
    async def beating(self) -> AsyncIterator["Heartbeat"]:
        """Beat whenever a window is open, for as long as the context is open."""
        self._loop = asyncio.get_running_loop()
        if self._n_open:
            self._arm(self._loop)
        try:
            yield self
        finally:
            self._loop = None
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

    @contextmanager
    def window(self) -> Iterator[LagWindow]:
        """Watch for as long as the context is open."""
        window, first = LagWindow(), self._n_beats
        self._n_open += 1
        if self._timer is None and self._loop is not None:
            self._arm(self._loop)
        try:
            yield window
        finally:
            self._n_open -= 1
            window.max_ms = self._longest_since(first)

    def _longest_since(self, first: int) -> float | None:
        position = bisect_left(self._peaks, (first, 0.0))
        seen = [interval_ms for _, interval_ms in self._peaks[position : position + 1]]
        if self._timer is not None:
            # After a blocked loop, what waited for the socket runs before the beat that is overdue.
            seen.append(self._interval_ms())
        if not self._n_open:
            self._peaks.clear()
        return max(seen, default=None)

    def _interval_ms(self) -> float:
        return (self._clock.monotonic_ns() - self._last_ns) / 1e6

    def _arm(self, loop: asyncio.AbstractEventLoop) -> None:
        self._last_ns = self._clock.monotonic_ns()
        self._timer = loop.call_later(FINE_S if self._n_open <= FEW else COARSE_S, self._beat, loop)

    def _beat(self, loop: asyncio.AbstractEventLoop) -> None:
        interval_ms = self._interval_ms()
        while self._peaks and self._peaks[-1][1] <= interval_ms:
            self._peaks.pop()
        self._peaks.append((self._n_beats, interval_ms))
        self._n_beats += 1
        self._timer = None
        if self._n_open:
            self._arm(loop)
