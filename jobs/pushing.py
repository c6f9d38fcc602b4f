"""Hands what is in the spool over to the store, for as long as a process runs."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from jobs.backlog import Backlog
from jobs.store_client import StoreClient
from monitor.errors import StoreError

log = logging.getLogger(__name__)

PUSH_EVERY_S = 1.0


class Pushing:
    """Pushes again and again; says why the store does not take anything, each reason once, and when it is back.

    `pushed` is called after each push that worked.
    """

    def __init__(
        self, backlog: Backlog, store: StoreClient, pushed: Callable[[Backlog, StoreClient], None] | None = None
    ) -> None:
        self._backlog, self._store, self._pushed = backlog, store, pushed
        self._refused: str | None = None
        self._bug: str | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Push as long as the context is open; `finish` is for what comes later."""
        pushing = asyncio.create_task(self._forever())
        try:
            yield
        finally:
            pushing.cancel()

    async def finish(self) -> None:
        """Push what there is."""
        await self._push()
        if self._backlog.full:
            # The push may have made room.
            self._backlog.retry()
            await self._push()

    async def _forever(self) -> None:
        while True:
            await asyncio.sleep(PUSH_EVERY_S)
            await self._push()

    async def _push(self) -> None:
        try:
            self._backlog.retry()
            await self._store.push(self._backlog.spool)
            if self._pushed is not None:
                self._pushed(self._backlog, self._store)
        except StoreError as error:
            if self._refused != str(error):
                log.warning("%s; results stay in the spool", error)
            self._refused = str(error)
        except Exception as error:  # what is in the spool stays there; a push that ended would leave it there for ever
            if self._bug != repr(error):
                log.exception("our bug; pushing again, results stay in the spool")
            self._bug = repr(error)
        else:
            self._bug = None
            if self._refused is not None:
                log.info("the store is back")
            self._refused = None
