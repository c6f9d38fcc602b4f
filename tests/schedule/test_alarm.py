"""The alarm on the real clock. Oracle: it goes on ringing for as long as a next time is set."""

import asyncio
import time
from datetime import timedelta

from jobs.alarm import Alarm
from jobs.clock import SystemClock

RINGS = 20


async def test_a_next_time_that_is_past_before_the_ring_has_ended_is_rung() -> None:
    """As with two probes a few ms apart: the first one's work holds up the loop until the second is due."""
    clock, rung, enough = SystemClock(), list[asyncio.Task[None]](), asyncio.Event()

    async def busy() -> None:
        time.sleep(0.006)  # noqa: ASYNC251  # holds up the loop, as decoding does

    async def wake() -> None:
        rung.append(asyncio.create_task(busy()))
        if len(rung) == RINGS:
            enough.set()
        else:
            alarm.set(clock.now() + timedelta(seconds=0.003))

    alarm = Alarm(clock, wake)
    async with asyncio.timeout(30), alarm.running():
        alarm.set(clock.now())
        await enough.wait()
    await asyncio.wait(rung)
    assert len(rung) == RINGS


async def test_a_wake_that_is_still_at_it_keeps_no_other_from_ringing() -> None:
    clock, n, over = SystemClock(), 0, asyncio.Event()

    async def wake() -> None:
        nonlocal n
        n += 1
        if n == RINGS:
            over.set()
        else:
            alarm.set(clock.now() - timedelta(seconds=1))
            await over.wait()

    alarm = Alarm(clock, wake)
    async with asyncio.timeout(30), alarm.running():
        alarm.set(clock.now())
        await over.wait()
    assert n == RINGS
