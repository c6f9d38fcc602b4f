"""Wakes the agent at the time that the schedule says. APScheduler fires; it decides nothing.

Timers count on the monotonic clock. When the wall clock is set, they are wrong by as much: somebody compares the two
every few seconds, and wakes the agent to look at the schedule again.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

from apscheduler.schedulers.asyncio import AsyncIOScheduler

from monitor.ports import Clock

log = logging.getLogger(__name__)

COMPARE_EVERY_S = 5.0
STEP_S = 1.0
LOOK_AGAIN_S = 10.0
MOST_RINGS = 1000
"""So many rings may be under way. The next one is often due before APScheduler has seen that the last one ended; with
its default of one it would drop it, and nobody would ring again."""


class Alarm:
    """Calls `wake` at the time that was set last, and whenever the wall clock was set.

    Parameters
    ----------
    clock
        What times mean.
    wake
        A coroutine function, because APScheduler runs plain functions in a thread. It sets the next time.
    speed
        Seconds of `clock` in a real second: above 1 in a simulation.
    """

    def __init__(self, clock: Clock, wake: Callable[[], Awaitable[None]], *, speed: float = 1.0) -> None:
        self._clock, self._wake, self._speed = clock, wake, speed
        self._scheduler = AsyncIOScheduler(timezone=UTC)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Fire as long as the context is open."""
        self._scheduler.start()
        comparing = asyncio.create_task(self._compare())
        try:
            yield
        finally:
            comparing.cancel()
            self._scheduler.shutdown(wait=False)

    def set(self, at: datetime | None) -> None:
        """Wake at `at` instead of any time set before; None: only when the wall clock is set."""
        if at is None:
            return
        delay_s = max((at - self._clock.now()).total_seconds(), 0.0) / self._speed
        # A millisecond later, so that rounding never wakes us just before the slot.
        when = datetime.now(UTC) + timedelta(seconds=delay_s, milliseconds=1)
        self._scheduler.add_job(
            self._ring, "date", id="wake", replace_existing=True, run_date=when, misfire_grace_time=None,
            max_instances=MOST_RINGS,
        )  # fmt: skip

    async def _ring(self) -> None:
        try:
            await self._wake()
        except Exception:
            log.exception("our bug; the schedule is looked at again in %.0f s", LOOK_AGAIN_S)
            self.set(self._clock.now() + timedelta(seconds=LOOK_AGAIN_S))

    async def _compare(self) -> None:
        before = self._offset_s()
        while True:
            await asyncio.sleep(COMPARE_EVERY_S / self._speed)
            step_s = self._offset_s() - before
            if abs(step_s) > STEP_S:
                before += step_s
                self._say(step_s)
                await self._ring()

    def _offset_s(self) -> float:
        """Wall time that no monotonic time accounts for."""
        return self._clock.now().timestamp() - self._clock.monotonic_ns() / 1e9 * self._speed

    def _say(self, step_s: float) -> None:
        if step_s > 0:
            log.warning("the clock went forward by %.0f s: slots in between are missed", step_s)
        else:
            log.warning("the clock went back by %.0f s: slots until where it stood have their rows already", -step_s)
