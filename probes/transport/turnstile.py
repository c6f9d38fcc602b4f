"""Spreads the work around requests over turns of the event loop, so that it never holds up the reads of many streams.

When hundreds of streams end (or start) together, the work of each would stand in front of the next stream's bytes.
"""

import asyncio
from collections import deque


class Turnstile:
    """Lets one task through per turn of the loop; the reads of all streams come in between."""

    def __init__(self) -> None:
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._free = True

    async def turn(self) -> None:
        """Wait for a turn of one's own; the first to come in a turn goes straight through."""
        loop = asyncio.get_running_loop()
        if self._free:
            self._free = False
            loop.call_soon(self._next)
            return
        turn: asyncio.Future[None] = loop.create_future()
        self._waiting.append(turn)
        await turn

    def _next(self) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                asyncio.get_running_loop().call_soon(self._next)
                return
        self._free = True
