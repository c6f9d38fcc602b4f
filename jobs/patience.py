"""Waiting for somebody, but not for ever."""

import asyncio
from contextlib import suppress


async def set_within(event: asyncio.Event, seconds: float) -> None:
    """Return when `event` is set, at the latest after `seconds`."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
