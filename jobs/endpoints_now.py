"""What the commands share that ask some endpoints now, one after the other, and judge them in this process."""

import signal
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from fnmatch import fnmatchcase
from typing import TypeVar

from rich.console import Console

from jobs.clients import client_of
from jobs.clock import SystemClock
from jobs.references import scorer_for
from monitor.config_types import Config, EndpointConfig
from monitor.errors import UsageError
from monitor.ports import Client, Scorer
from probes.heartbeat import Heartbeat

INTERRUPTED = 130
"""Exit code after Ctrl-C or SIGTERM."""

T = TypeVar("T")


def chosen(config: Config, patterns: Sequence[str]) -> list[EndpointConfig]:
    """The endpoints that `patterns` name. Raises UsageError when one names none."""
    names = [entry.endpoint.name for entry in config.endpoints]
    unmatched = [pattern for pattern in patterns if not any(fnmatchcase(name, pattern) for name in names)]
    if unmatched:
        raise UsageError(f"no endpoint is called {', '.join(unmatched)}; the configuration has {', '.join(names)}")
    return [entry for entry in config.endpoints if any(fnmatchcase(entry.endpoint.name, one) for one in patterns)]


def require_references(entries: Sequence[EndpointConfig], why: str) -> None:
    """Raise UsageError when an endpoint has no reference, and say that so `why`."""
    lacking = [entry.endpoint.name for entry in entries if entry.endpoint.reference is None]
    if lacking:
        raise UsageError(f"{', '.join(lacking)}: no `reference`, so {why}")


@contextmanager
def interruptible() -> Iterator[None]:
    """Let SIGTERM do what Ctrl-C does, also where Ctrl-C is ignored (a background job of a shell script)."""

    def stop(*_: object) -> None:
        if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
            raise KeyboardInterrupt
        signal.raise_signal(signal.SIGINT)

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def scorers(config: Config, entries: Sequence[EndpointConfig], console: Console) -> Iterator[dict[str, Scorer]]:
    """The golden engines, loaded before anything is sent: a missing one must not cost requests. Closed on leaving."""
    made: dict[str, Scorer] = {}
    with ExitStack() as stack:
        for name in dict.fromkeys(entry.endpoint.reference for entry in entries):
            if name is not None:
                console.print(f"loading reference {name}", markup=False, soft_wrap=True)
                made[name] = scorer_for(config.references[name])
                stack.callback(made[name].close)
        yield made


async def each(
    entries: Sequence[EndpointConfig], measure: Callable[[EndpointConfig, Client], Awaitable[T]]
) -> list[T]:
    """Return what `measure` makes of each endpoint and its client, while the heartbeat watches this process."""
    clock, found = SystemClock(), []
    async with Heartbeat(clock).beating() as heartbeat:
        for entry in entries:
            client = client_of(entry, clock, heartbeat)
            try:
                found.append(await measure(entry, client))
            finally:
                await client.aclose()
    return found


def exit_code(statuses: Sequence[str]) -> int:
    """1 when anything fails or is suspect, 3 when something could not be measured (or nothing is known), else 0."""
    if any(status in {"fail", "suspect"} for status in statuses):
        return 1
    return 3 if not statuses or "inconclusive" in statuses else 0
