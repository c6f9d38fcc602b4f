"""Connections that are open, and those of them that wait for the next request."""

import asyncio
from collections.abc import Callable

from probes.transport.connection import Connection, Origin


class Pool:
    """Keeps idle connections per origin; the one used last is taken first.

    Parameters
    ----------
    now
        Monotonic ns.
    keep
        How many idle connections to keep per origin; None keeps all.
    idle_s
        A connection that waited longer is closed instead of used: what lies between may have forgotten it silently.
    """

    def __init__(self, now: Callable[[], int], *, keep: int | None, idle_s: float) -> None:
        self._now, self._keep, self._idle_ns = now, keep, int(idle_s * 1e9)
        self._idle: dict[Origin, list[Connection]] = {}
        self._open: set[Connection] = set()

    def __len__(self) -> int:
        """Open connections, idle or not."""
        return len(self._open)

    def take(self, origin: Origin) -> Connection | None:
        """Return a clean idle connection to `origin`, or None."""
        waiting = self._idle.get(origin, [])
        while waiting:
            connection = waiting.pop()
            if connection.usable and self._now() - connection.idle_since_ns <= self._idle_ns:
                return connection
            connection.abandon("cancelled", "idle too long")
        return None

    def add(self, connection: Connection) -> None:
        """Know a new connection, so that `aclose` closes it."""
        self._open.add(connection)

    def put(self, connection: Connection) -> None:
        """Keep `connection` for the next request; the one that waited longest makes room."""
        waiting = self._idle.setdefault(connection.origin, [])
        waiting.append(connection)
        if self._keep is not None and len(waiting) > self._keep:
            waiting.pop(0).abandon("cancelled", "more idle connections than are kept")

    def forget(self, connection: Connection) -> None:
        """Drop what is known of a connection that is gone."""
        self._open.discard(connection)
        waiting = self._idle.get(connection.origin, [])
        if connection in waiting:
            waiting.remove(connection)

    async def aclose(self) -> None:
        """Close all connections and wait until they are gone."""
        leaving = tuple(self._open)
        for connection in leaving:
            connection.abandon("cancelled", "the client was closed")
        if leaving:
            await asyncio.wait([connection.gone for connection in leaving])
