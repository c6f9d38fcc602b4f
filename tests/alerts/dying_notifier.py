"""A notifier that is killed by SIGKILL at a chosen point: after its n-th append, push or sending (`--die append:2`)."""

import argparse
import asyncio
import os
import signal
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from jobs.clock import SystemClock
from jobs.notify import Notifier
from jobs.notify_routes import sender_of
from jobs.store_client import StoreClient
from monitor.config import load
from storage.spool import SqliteSpool
from tests.config.catalogue import CATALOGUES

N_LOOKS = 3


class _Striding(SystemClock):
    """A clock that runs ahead, so that nobody waits for a group."""

    ahead = timedelta(0)

    def now(self) -> datetime:
        return super().now() + self.ahead


class _Death:
    """Counts what was done, and dies at the point that was chosen."""

    def __init__(self, point: str | None) -> None:
        self._what, _, n = (point or "").partition(":")
        self._left = int(n or 0)

    def after(self, what: str) -> None:
        if what == self._what:
            self._left -= 1
            if self._left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    def wrapped(self, what: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def act(*given: Any, **named: Any) -> Any:
            done = call(*given, **named)
            self.after(what)
            return done

        return act

    def awaited(self, what: str, call: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def act(*given: Any, **named: Any) -> Any:
            done = await call(*given, **named)
            self.after(what)
            return done

        return act


async def main() -> None:
    """Look three times, deliver after each."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--store")
    parser.add_argument("--die")
    given = parser.parse_args()
    config = load((given.folder / "weighmaster.yaml").read_text(), {"KEY": "k"}, CATALOGUES)
    death, clock = _Death(given.die), _Striding()
    spool, store = SqliteSpool(given.folder / "alerts.sqlite", writer="alerts"), StoreClient(given.store)
    spool.append = death.wrapped("append", spool.append)  # type: ignore[method-assign]
    store.push = death.awaited("push", store.push)  # type: ignore[method-assign, assignment]
    senders: dict[str, Any] = {route.name: sender_of(route, clock) for route in config.alerts.routes}
    for sender in senders.values():
        sender.send = death.awaited("send", sender.send)
    notifier = Notifier(config, spool, store, clock, senders)
    for _ in range(N_LOOKS):
        await notifier.look()
        await notifier.deliver()
        clock.ahead += timedelta(seconds=2)
    await store.push(spool)
    await store.aclose()
    spool.close()


if __name__ == "__main__":
    asyncio.run(main())
