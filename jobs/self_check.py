"""Whether this machine can connect to anything, and whether its event loop keeps up."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from typing import Any

from monitor.config_fields import Address
from probes.heartbeat import Heartbeat

CONNECT_S = 5.0
LOOK_S = 0.1
LOOKS = 5
PAUSE_S = 1.0

Look = Callable[[], Coroutine[Any, Any, float | None]]
"""Watches the loop for a moment; the longest that it was held up, ms, None when nobody watches."""


async def reachable(targets: Sequence[Address], timeout_s: float = CONNECT_S) -> bool:
    """Return whether any of `targets` takes a TCP connection. Nothing is sent."""
    tries = [asyncio.create_task(_connects(target, timeout_s)) for target in targets]
    try:
        for done in asyncio.as_completed(tries):
            if await done:
                return True
        return False
    finally:
        for one in tries:
            one.cancel()


async def _connects(target: Address, timeout_s: float) -> bool:
    try:
        async with asyncio.timeout(timeout_s):
            _reader, writer = await asyncio.open_connection(target.host, target.port)
    except OSError:  # a time-out is one too
        return False
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()
    return True


def look_with(heartbeat: Heartbeat) -> Look:
    """Return a look at the loop that `heartbeat` beats in."""

    async def look() -> float | None:
        with heartbeat.window() as window:
            await asyncio.sleep(LOOK_S)
        return window.max_ms

    return look


async def busy_for(look: Look, limit_ms: float, *, looks: int = LOOKS, pause_s: float = PAUSE_S) -> float | None:
    """Return the lag (ms) of a loop that was held up for longer than `limit_ms` at every look; None when it is calm."""
    lag_ms = None
    for n in range(looks):
        if n:
            await asyncio.sleep(pause_s)
        lag_ms = await look()
        if lag_ms is None or lag_ms <= limit_ms:
            return None
    return lag_ms
