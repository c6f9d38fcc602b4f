"""How far a run of a suite is, told while it goes on: golden may take minutes for a single answer."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import timedelta

from monitor.ports import Clock

EVERY_S = 10.0
"""Between two lines."""


@asynccontextmanager
async def telling(tell: Callable[[str], None], counts: Callable[[], str], clock: Clock) -> AsyncIterator[None]:
    """Tell what `counts` says, with the time since the beginning: every `EVERY_S`, and once more at the end."""
    begun_ns = clock.monotonic_ns()

    def line() -> str:
        seconds = (clock.monotonic_ns() - begun_ns) // 1_000_000_000
        return f"{counts()}, {timedelta(seconds=seconds)} elapsed"

    async def tick() -> None:
        while True:
            await asyncio.sleep(EVERY_S)
            tell(line())

    ticking = asyncio.create_task(tick())
    try:
        yield
    finally:
        ticking.cancel()
        with suppress(asyncio.CancelledError):
            await ticking
    tell(line())
