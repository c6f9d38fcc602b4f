"""Messages on their way: one delivery per message and route, tried again until it arrives."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from fnmatch import fnmatchcase

from monitor.alerting.nouns import Event, Message
from monitor.config_alerts import Route

FIRST_WAIT = timedelta(seconds=5)
LONGEST_WAIT = timedelta(minutes=30)
GIVES_UP_AFTER = timedelta(days=7)


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """A message for one route. ``delivery_id`` is the idempotency key: the same at every attempt.

    ``done_at`` is when it arrived, ``given_up_at`` when it was no longer tried; ``error`` says why the last attempt
    failed, in our own words and never in those of the receiver.
    """

    delivery_id: str
    route: str
    created_at: datetime
    next_at: datetime
    message: Message
    attempts: int = 0
    done_at: datetime | None = None
    given_up_at: datetime | None = None
    error: str | None = None


def deliveries(message: Message, routes: Iterable[Route]) -> list[Delivery]:
    """One delivery per route that takes something of `message`."""
    found = []
    for route in routes:
        events = tuple(event for event in message.events if takes(route, event))
        if events:
            found.append(Delivery(
                delivery_id=f"{message.message_id}-{route.name}", route=route.name, created_at=message.at,
                next_at=message.at, message=replace(message, events=events),
            ))  # fmt: skip
    return found


def takes(route: Route, event: Event) -> bool:
    """Whether `route` is for this event: of what concerns several endpoints, if it is for any of them."""
    entry, incident = route.entry, event.incident
    names = [name for name in (incident.endpoint, incident.provider, *incident.endpoints) if name]
    return (
        (entry.resolved or event.kind != "resolved")
        and (not entry.topics or incident.topic in entry.topics)
        and (not entry.severities or incident.severity in entry.severities)
        and any(fnmatchcase(name, pattern) for name in names for pattern in entry.endpoints)
    )


def due(waiting: Sequence[Delivery], now: datetime) -> list[Delivery]:
    """Those to try now: of each route and provider the oldest, so that no end arrives before its beginning."""
    oldest: dict[tuple[str, str], Delivery] = {}
    for one in sorted(waiting, key=lambda one: (one.created_at, one.delivery_id)):
        oldest.setdefault((one.route, one.message.group), one)
    return [one for one in oldest.values() if one.next_at <= now]


def arrived(one: Delivery, now: datetime) -> Delivery:
    """The delivery once the route has taken it."""
    return replace(one, attempts=one.attempts + 1, done_at=now, error=None)


def failed(one: Delivery, error: str, now: datetime) -> Delivery:
    """The delivery after an attempt that failed: twice the wait each time, until it is given up."""
    tried = replace(one, attempts=one.attempts + 1, error=error)
    if now - one.created_at >= GIVES_UP_AFTER:
        return replace(tried, given_up_at=now)
    wait = min(FIRST_WAIT * 2.0 ** min(one.attempts, 20), LONGEST_WAIT)
    return replace(tried, next_at=now + wait)


def withdrawn(one: Delivery, now: datetime) -> Delivery:
    """The delivery when its route is no longer there."""
    return replace(one, given_up_at=now, error=f"the configuration has no route {one.route}")
