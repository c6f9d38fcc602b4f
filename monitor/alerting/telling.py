"""Which incidents are told now, once each, and what goes into one message."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from monitor.alerting.muting import muted
from monitor.alerting.nouns import Event, Message, Policy
from monitor.incident import Incident


def tell(
    opened: Mapping[str, Incident], closed: Sequence[Incident], now: datetime, policy: Policy
) -> tuple[dict[str, Incident], tuple[Incident, ...], tuple[Message, ...]]:
    """Return the open incidents as they stand once the messages are sent, the closed ones, and the messages.

    An incident is announced once it has waited for others of its provider, unless it is muted; then a reminder comes
    after each interval, and the end is told if the beginning was.
    """
    current = {name: replace(one, muted=muted(one, policy, now, opened.values())) for name, one in opened.items()}
    due = {_group(one) for one in current.values() if _is_due(one, now, policy)}
    events = [event for one in current.values() for event in _events(one, due, now, policy)]
    told = {event.incident.incident_id: event.incident for event in events}
    ended = [Event(kind="resolved", incident=one) for one in closed if one.announced_at is not None]
    return {**current, **told}, tuple(closed), tuple(_messages([*events, *ended], now))


def _group(incident: Incident) -> str:
    return incident.provider or incident.endpoint


def _is_due(incident: Incident, now: datetime, policy: Policy) -> bool:
    waited = incident.detected_at is None or now - incident.detected_at >= policy.group_wait
    return incident.announced_at is None and incident.muted is None and waited


def _events(incident: Incident, due: set[str], now: datetime, policy: Policy) -> Iterator[Event]:
    if incident.muted is not None:
        return
    if incident.announced_at is None:
        if _group(incident) in due:
            yield Event(kind="fired", incident=replace(incident, announced_at=now, told_at=now, told=incident.causes))
    elif set(incident.causes) - set(incident.told):
        yield Event(kind="changed", incident=replace(incident, told_at=now, told=incident.causes))
    elif _wants_reminder(incident, now, policy):
        yield Event(kind="reminder", incident=replace(incident, told_at=now))


def _wants_reminder(incident: Incident, now: datetime, policy: Policy) -> bool:
    if policy.remind is None or incident.told_at is None or incident.incident_id in policy.acks:
        return False
    return now - incident.told_at >= policy.remind


def _order(event: Event) -> tuple[bool, str, str]:
    """What begins goes before what ends: an outage before the incidents that it takes in."""
    return event.kind == "resolved", event.incident.endpoint, event.incident.incident_id


def _messages(events: Iterable[Event], now: datetime) -> Iterator[Message]:
    groups: dict[str, list[Event]] = {}
    for event in sorted(events, key=_order):
        groups.setdefault(_group(event.incident), []).append(event)
    for group, own in sorted(groups.items()):
        parts = "\x00".join((now.isoformat(), *(f"{one.kind}\x00{one.incident.incident_id}" for one in own)))
        name = hashlib.blake2b(parts.encode(), digest_size=10).hexdigest()
        yield Message(message_id=name, at=now, group=group, events=tuple(own))
