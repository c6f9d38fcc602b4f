"""A message as people and programs read it. All text from outside is made harmless before it is put in.

Names come from the configuration, but reasons may quote what an endpoint said: in plain text everything that is no
printable character becomes a blank, so that nothing can begin a line, move a cursor or write backwards; JSON is written
by the encoder and nothing is put together by hand.
"""

import unicodedata
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from monitor.alerting.nouns import CONFIGURATION, VANTAGE, Event, Message
from monitor.codec import encode, plain
from monitor.incident import Incident
from monitor.replay_command import replay_command

SCHEMA = "weighmaster.alert/1"
LONGEST = 500
"""Characters of one reason; the whole of it is behind the command."""

_TAME = str.maketrans({
    "<": "\N{SINGLE LEFT-POINTING ANGLE QUOTATION MARK}", ">": "\N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK}",
    "@": "\N{FULLWIDTH COMMERCIAL AT}", "[": "(", "]": ")",
})  # fmt: skip

_HEADS = {"fired": "FIRING", "changed": "CHANGED", "reminder": "STILL FIRING", "resolved": "RESOLVED"}


def clean(text: str, most: int = LONGEST) -> str:
    """Return `text` as one printable line of at most `most` characters."""
    line = "".join(one if unicodedata.category(one)[0] not in "CZ" else " " for one in text)
    line = " ".join(line.split())
    return line if len(line) <= most else line[: most - 3] + "..."


def tame(text: str) -> str:
    """Return one line that no chat takes for a link, a mention or a tag."""
    return clean(text).translate(_TAME)


def title(message: Message) -> str:
    """One line: what happened, to whom, how many."""
    first = message.events[0]
    more = f" and {len(message.events) - 1} more" if len(message.events) > 1 else ""
    return f"{_HEADS[first.kind]}: {clean(first.incident.endpoint, 120)} {_cause(first.incident)}{more}"


def text(message: Message) -> str:
    """The whole message in plain text."""
    return "\n\n".join(_paragraph(event) for event in message.events)


def payload(message: Message, delivery_id: str) -> bytes:
    """The whole message as JSON."""
    return encode({
        "schema": SCHEMA, "id": delivery_id, "at": message.at, "group": clean(message.group), "title": title(message),
        "text": text(message), "events": [document(event) for event in message.events],
    })  # fmt: skip


def document(event: Event) -> dict[str, Any]:
    """One event as JSON-able figures."""
    one = event.incident
    found: dict[str, Any] = plain({
        "kind": event.kind, "incident_id": one.incident_id, "endpoint": clean(one.endpoint),
        "provider": one.provider, "topic": one.topic, "severity": one.severity, "cause": clean(one.cause or ""),
        "causes": [clean(cause) for cause in one.causes], "rules": one.rules, "detector": one.detector,
        "opened_at": one.opened_at, "last_at": one.last_at, "closed_at": one.closed_at, "n_signs": one.n_verdicts,
        "value": one.effect, "low": one.low, "high": one.high, "unit": one.unit, "n": one.n,
        "threshold": one.threshold, "reason": clean(one.reason), "verdict_id": one.verdict_id,
        "changes": [clean(change) for change in event.changes], "command": command(one),
    })  # fmt: skip
    return found


def command(incident: Incident) -> str:
    """What to type to see or repeat what the incident rests on."""
    if incident.verdict_id:
        return replay_command(incident.detector, incident.endpoint, incident.verdict_id)
    if incident.endpoint == CONFIGURATION:
        return "weighmaster check"
    if incident.endpoint.startswith(VANTAGE):
        return "weighmaster fleet"
    if " " in incident.endpoint:
        return "weighmaster status"
    return f"weighmaster probe {incident.endpoint} --kind speed"


def _cause(incident: Incident) -> str:
    return clean(", ".join(incident.causes) or incident.cause or "no cause named", 200)


def _paragraph(event: Event) -> str:
    one = event.incident
    lines = [
        f"{_HEADS[event.kind]}: {clean(one.endpoint, 120)}: {_cause(one)}",
        f"  evidence: {tame(one.reason)}",
        f"  figures: {_figures(one)}",
        f"  since: {_instant(one.opened_at)}{_ended(one)}, seen {one.n_verdicts} times, last {_instant(one.last_at)}",
        *(f"  changed: {tame(change)}" for change in event.changes),
        f"  replay: {clean(command(one))}",
        f"  incident: {one.incident_id} ({clean(', '.join(one.rules) or one.detector)})",
    ]
    return "\n".join(lines)


def _figures(one: Incident) -> str:
    if one.effect is None:
        return f"n={one.n}"
    ends = _interval((one.low, one.high))
    limit = "" if one.threshold is None else f", limit {one.threshold:.4g}"
    return clean(f"{one.effect:.4g} {one.unit}{ends}, n={one.n}{limit}")


def _interval(ends: Iterable[float | None]) -> str:
    known = ["?" if end is None else f"{end:.4g}" for end in ends]
    return "" if known == ["?", "?"] else f" [{known[0]}, {known[1]}]"


def _instant(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M} UTC"


def _ended(one: Incident) -> str:
    return "" if one.closed_at is None else f" until {_instant(one.closed_at)}"
