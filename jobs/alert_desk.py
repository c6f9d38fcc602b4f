"""What people do about alerts: look, acknowledge, silence, try a route."""

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from fnmatch import fnmatchcase
from typing import TypeVar, get_args

import typer

from jobs.clock import SystemClock
from jobs.notify_routes import SendError, sender_of
from jobs.store_client import SOON_S, StoreClient, client_for
from monitor.alerting.nouns import AGENT, CONFIGURATION, PROVIDER, VANTAGE, Ack, Event, Message, Silence, Topic
from monitor.alerting.outbox import Delivery
from monitor.codec import encode
from monitor.config_fields import parse_duration
from monitor.config_types import Config
from monitor.errors import UsageError
from monitor.incident import Incident
from monitor.ports import Clock

T = TypeVar("T")

MOST = 1000
_OTHERS = (AGENT, VANTAGE, CONFIGURATION)
"""What incidents are about that have no endpoint or provider."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed(Incident):
    """An incident and who knows of it."""

    ack: Ack | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """The answer of ``/api/alerts``."""

    incidents: tuple[Listed, ...]
    undelivered: tuple[Delivery, ...]
    silences: tuple[Silence, ...]


class Desk:
    """Asks and tells one store. Every failure of the store is a StoreError."""

    def __init__(self, config: Config, url: str, clock: Clock | None = None) -> None:
        self._config, self._url, self._clock = config, url, clock or SystemClock()

    def listed(self, limit: int) -> Listing:
        """Incidents, open ones first, silences in force, and messages that do not arrive."""
        now = self._clock.now().isoformat()
        return self._ask(lambda store: store.read(Listing, "alerts", limit=limit, now=now))

    def acknowledge(self, start: str, *, by: str, note: str) -> str:
        """Acknowledge the open incident whose id begins with `start`; return its id."""
        opened = [one.incident_id for one in self.listed(MOST).incidents if one.closed_at is None]
        incident_id = _only(start, opened, "open incident")
        self._tell("ack", Ack(incident_id=incident_id, at=self._clock.now(), by=by, note=note))
        return incident_id

    def silence(self, match: str, length: timedelta, *, reason: str, by: str, topic: str | None) -> Silence:
        """Make a silence from now on. Raises UsageError when it could match nothing, or gives no reason."""
        if not match.strip():
            raise UsageError("the pattern is empty; write names or a pattern such as acme/*, or * for everything")
        if not reason.strip():
            raise UsageError("--reason is empty; it stands beside every incident that is muted")
        known = {name: name for name in get_args(Topic)}
        if topic is not None and topic not in known:
            raise UsageError(f"unknown topic {topic!r}; one of {', '.join(known)}")
        now = self._clock.now()
        made = Silence(
            silence_id=secrets.token_hex(4), match=match, until=now + length, reason=reason, by=by, made_at=now,
            topic=None if topic is None else known[topic],
        )  # fmt: skip
        self._tell("silence", made)
        return made

    def knows(self, match: str) -> bool:
        """Whether a pattern matches an endpoint or provider of the store, or is about an agent or the service."""
        if match.startswith(_OTHERS):
            return True
        found = self._ask(lambda store: store.overview())["endpoints"]
        names = {name for one in found for name in (one["endpoint"], one["provider"], PROVIDER + one["provider"])}
        return any(fnmatchcase(name, match) for name in names)

    def silences(self) -> Sequence[Silence]:
        """Silences in force."""
        now = self._clock.now()
        return (*(one for one in self._config.alerts.silences if one.until > now), *self.listed(1).silences)

    def end(self, start: str) -> str:
        """End the silence whose id begins with `start`; return its id."""
        found = {one.silence_id: one for one in self.silences()}
        silence_id = _only(start, list(found), "silence")
        if silence_id.startswith("config-"):
            raise UsageError(f"{silence_id} stands in the configuration: take it out there")
        self._tell("silence", replace(found[silence_id], until=self._clock.now()))
        return silence_id

    def _tell(self, kind: str, noun: object) -> None:
        self._ask(lambda store: store.tell(kind, encode(noun)))

    def _ask(self, call: Callable[[StoreClient], Awaitable[T]]) -> T:
        async def asked() -> T:
            store = client_for(self._config.store, self._url, answer_s=SOON_S)
            try:
                return await call(store)
            finally:
                await store.aclose()

        return asyncio.run(asked())


def _only(start: str, names: Sequence[str], what: str) -> str:
    found = [name for name in names if name.startswith(start)]
    if len(found) != 1:
        raise UsageError(f"{len(found)} ids of {what}s begin with {start!r}; `--json` lists them whole")
    return found[0]


def duration_s(text: str) -> float:
    """Seconds of ``2h``. Raises UsageError."""
    try:
        return parse_duration(text)
    except ValueError as error:
        raise UsageError(f"{text!r} {error}; write a number and a unit: 90s, 10m, 2h, 1d") from None


def tried(config: Config, name: str, clock: Clock | None = None) -> int:
    """Send a test message to the route `name`; return the exit code."""
    route = next((one for one in config.alerts.routes if one.name == name), None)
    if route is None:
        known = ", ".join(one.name for one in config.alerts.routes) or "there are none"
        raise UsageError(f"no route {name!r} in the configuration; known: {known}")
    clock = clock or SystemClock()
    try:
        asyncio.run(sender_of(route, clock).send(a_test(name, clock.now())))
    except SendError as error:
        typer.echo(f"{name}: {error}", err=True)
        return 3
    typer.echo(f"{name}: taken")
    return 0


def a_test(route: str, now: datetime) -> Delivery:
    """A message that says what it is."""
    one = Incident(
        incident_id="test" + secrets.token_hex(8), endpoint="weighmaster/test", provider="weighmaster", topic="agent",
        severity="ticket", detector="test", rules=("test",), cause="test", causes=("test",), opened_at=now, last_at=now,
        closed_at=now, n_verdicts=0, verdict_id=None, reason="a test of this route; nothing is wrong",
    )  # fmt: skip
    events = (Event(kind="resolved", incident=one),)
    message = Message(message_id=one.incident_id, at=now, group="weighmaster", events=events)
    return Delivery(
        delivery_id=f"{one.incident_id}-{route}", route=route, created_at=now, next_at=now, message=message
    )
