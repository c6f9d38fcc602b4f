"""HTTP/1.1 for servers that strangers may reach: bounds on connections, on the head of a request and on waiting for it.

uvicorn closes what idles after an answer, but waits for ever for a head or for the rest of a body, for as many as come;
its faster parser takes heads of any size. Here a head has 64 KiB (h11's own bound) and `HEAD_S`, a body may pause for
`PAUSE_S`, and of more than `most_at_once` connections the one that has waited longest for its request makes room. TLS
handshakes are asyncio's, with its own minute.
"""

import asyncio
import resource
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

HEAD_S = 10.0
"""From the first byte, or from the connection, to the end of the head."""
PAUSE_S = 30.0
"""Longest silence within a body."""
MOST = 512


def most_at_once() -> int:
    """Connections at once: `MOST`, or half of the files that this process may have open."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST if soft == resource.RLIM_INFINITY else max(1, min(MOST, soft // 2))


class BoundedProtocol(H11Protocol):
    """One connection, for uvicorn's ``http=``."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._since = self.loop.time()
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Take the connection, and make room where there are too many."""
        super().connection_made(transport)
        if len(self.connections) > most_at_once():
            waiting = [one for one in self.connections if isinstance(one, BoundedProtocol) and one.is_waiting]
            min(waiting, key=lambda one: one._since, default=self).give_up()  # noqa: SLF001  # of this class
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Take bytes."""
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._stop()
        super().connection_lost(exc)

    @property
    def is_waiting(self) -> bool:
        """Whether no request is being answered: its head is not there yet."""
        cycle: RequestResponseCycle | None = self.cycle  # uvicorn says it is never None, and begins with None
        return cycle is None or cycle.response_complete

    def give_up(self) -> None:
        """Close at once."""
        self.transport.abort()

    def _watch(self) -> None:
        if self.is_waiting:
            if self._timer is None:  # bytes of a head do not buy more time
                self._since = self.loop.time()
                self._timer = self.loop.call_later(HEAD_S, self._no_head)
            return
        self._stop()
        if self.cycle.more_body:
            self._timer = self.loop.call_later(PAUSE_S, self._no_body)

    def _no_head(self) -> None:
        self._timer = None
        if self.is_waiting:
            self.give_up()

    def _no_body(self) -> None:
        self._timer = None
        if not self.is_waiting and self.cycle.more_body:
            self.give_up()

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
