"""The bound on the own lag. Oracle: how long the test itself blocked the loop."""

import asyncio
import time

from jobs.clock import SystemClock
from probes.heartbeat import COARSE_S, FEW, Heartbeat, LagWindow


def block(seconds: float) -> None:
    time.sleep(seconds)


async def test_without_a_heartbeat_there_is_no_bound() -> None:
    with Heartbeat(SystemClock()).window() as lag:
        await asyncio.sleep(0.01)
    assert lag.max_ms is None


async def test_the_bound_is_at_least_the_block_wherever_it_falls() -> None:
    async with Heartbeat(SystemClock()).beating() as heartbeat:
        for before_s in (0.0, 0.0003, 0.0007, 0.0011, 0.004):
            with heartbeat.window() as lag:
                await asyncio.sleep(before_s)
                block(0.03)
                await asyncio.sleep(0.005)
            assert lag.max_ms is not None
            assert lag.max_ms >= 30


async def test_a_block_at_the_very_end_counts() -> None:
    """What waited for the socket runs before the overdue beat, so the window closes first."""
    async with Heartbeat(SystemClock()).beating() as heartbeat:
        with heartbeat.window() as lag:
            await asyncio.sleep(0.01)
            block(0.03)
    assert lag.max_ms is not None
    assert lag.max_ms >= 30


async def test_windows_see_only_their_own_time() -> None:
    async with Heartbeat(SystemClock()).beating() as heartbeat:
        with heartbeat.window() as whole:
            with heartbeat.window() as first:
                await asyncio.sleep(0.01)
                block(0.2)
                await asyncio.sleep(0.02)
            with heartbeat.window() as second:
                await asyncio.sleep(0.01)
                block(0.08)
                await asyncio.sleep(0.02)
    assert first.max_ms is not None
    assert second.max_ms is not None
    assert first.max_ms >= 200
    assert whole.max_ms == first.max_ms
    assert 80 <= second.max_ms < first.max_ms


async def test_many_windows_beat_coarsely_and_keep_the_bound() -> None:
    async with Heartbeat(SystemClock()).beating() as heartbeat:
        contexts = [heartbeat.window() for _ in range(FEW + 5)]
        windows: list[LagWindow] = [context.__enter__() for context in contexts]
        await asyncio.sleep(0.02)
        block(0.03)
        await asyncio.sleep(0.02)
        for context in contexts:
            context.__exit__(None, None, None)
    for window in windows:
        assert window.max_ms is not None
        assert window.max_ms >= max(30, COARSE_S * 1e3)


async def test_it_rests_while_nobody_watches() -> None:
    async with Heartbeat(SystemClock()).beating() as heartbeat:
        with heartbeat.window():
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.02)
        block(0.05)
        with heartbeat.window() as lag:
            await asyncio.sleep(0.01)
    assert lag.max_ms is not None
    assert lag.max_ms < 50
