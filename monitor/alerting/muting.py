"""Why nobody is told of an incident now: a silence, a maintenance window, or a fault that explains it."""

from collections.abc import Iterable
from datetime import datetime
from fnmatch import fnmatchcase

from monitor.alerting.nouns import AGENT, PROVIDER, Policy, Signal, Silence
from monitor.alerting.outage import LONGEST_DOUBT, is_about_requests
from monitor.incident import Incident

MAINTENANCE = "maintenance: "


def silenced(incident: Incident, silences: Iterable[Silence], now: datetime) -> str | None:
    """Say which silence holds for `incident` at `now`, or None."""
    for one in silences:
        if one.made_at <= now < one.until and one.topic in {None, incident.topic} and _matches(one.match, incident):
            return f"silenced until {one.until:%Y-%m-%d %H:%M} UTC by {one.by}: {one.reason}"
    return None


def _matches(pattern: str, incident: Incident) -> bool:
    """By its own name or its provider's; of what concerns several endpoints, a silence has to hold for all of them."""
    if any(fnmatchcase(name, pattern) for name in (incident.endpoint, incident.provider) if name is not None):
        return True
    return bool(incident.endpoints) and all(fnmatchcase(name, pattern) for name in incident.endpoints)


def explained(
    subject: str, provider: str | None, vantages: Iterable[str], opened: Iterable[Incident]
) -> str | None:
    """Say which open incident explains what `subject` does: its provider is down, or nobody measures it any more."""
    if subject.startswith(AGENT):
        return None
    subjects = {one.endpoint for one in opened if one.topic in {"availability", "agent"}}
    measured = tuple(vantages)
    if measured and all(AGENT + place in subjects for place in measured):
        return "the agent is offline"
    if provider is not None and not subject.startswith(PROVIDER) and PROVIDER + provider in subjects:
        return f"provider {provider} is down"
    return None


def muted(incident: Incident, policy: Policy, now: datetime, opened: Iterable[Incident]) -> str | None:
    """Say why `incident` is not told about at `now`, or None.

    A maintenance window mutes for as long as the newest sign was seen in it.
    """
    doubt = _held_back(incident, policy, now)
    held = incident.muted if incident.muted and incident.muted.startswith(MAINTENANCE) else None
    others = [one for one in opened if one.incident_id != incident.incident_id]
    explanation = explained(incident.endpoint, incident.provider, incident.vantages, others)
    return silenced(incident, policy.silences, now) or explanation or held or doubt


def _held_back(incident: Incident, policy: Policy, now: datetime) -> str | None:
    """What is said while nobody knows whether the whole provider is down."""
    waited = incident.detected_at is None or now - incident.detected_at >= LONGEST_DOUBT
    if waited or incident.endpoint not in policy.in_doubt or not is_about_requests(incident):
        return None
    return f"waits: no endpoint of {incident.provider} has answered since, so the provider may be down"


def maintenance(signal: Signal) -> str | None:
    """What stands in `Incident.muted` for a signal of a maintenance window."""
    return None if signal.maintenance is None else MAINTENANCE + signal.maintenance
