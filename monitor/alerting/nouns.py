"""The nouns of alerting: signals in, incidents and messages out, and what is remembered between two looks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal

from monitor.incident import Incident

Topic = Literal[
    "availability", "speed", "fidelity", "tools", "conformance", "access", "agent", "configuration", "suite"
]
"""What an incident is about. Rules of one topic on one subject share one incident."""

Severity = Literal["page", "ticket"]

PROVIDER = "provider "
AGENT = "agent "
"""Subjects are names of endpoints, or one of these and a name. Names hold no blanks, so nothing is mixed up."""

VANTAGE = "vantage "
"""The subject, with a name, of the rule on two agents of one vantage: no word on whether any of them is offline."""

CONFIGURATION = "service configuration"
"""The subject of the rule on the configuration file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """``n of m``: n of the newest m signals."""

    n: int
    m: int

    def __str__(self) -> str:
        return f"{self.n} of {self.m}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """What one rule saw of one subject at one time.

    ``bad`` None says that there was too little to tell: it neither fires nor resolves. ``key`` tells two signals of
    one time apart, and one that is seen again from a new one. ``since`` is when what it saw began. ``value`` with
    ``low`` and ``high`` is in ``unit``, out of ``n`` requests or verdicts. ``vantages`` are the places that measured
    it. ``maintenance`` names the window in which it was measured. ``endpoints`` are those that a subject which is
    none itself (a provider, an agent) stands for.
    """

    rule: str
    subject: str
    at: datetime
    key: str
    bad: bool | None
    topic: Topic
    cause: str
    reason: str
    provider: str | None = None
    since: datetime | None = None
    detector: str | None = None
    verdict_id: str | None = None
    value: float | None = None
    low: float | None = None
    high: float | None = None
    unit: str = ""
    n: int = 0
    threshold: float | None = None
    vantages: tuple[str, ...] = ()
    maintenance: str | None = None
    endpoints: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """What is kept of a signal: enough to count it once and in its place."""

    at: datetime
    key: str
    bad: bool
    since: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Track:
    """What is remembered of one rule on one subject.

    ``recent`` are marks later than ``boundary_at``, the time of the last transition, oldest first.
    """

    track_id: str
    rule: str
    subject: str
    provider: str | None
    firing: bool = False
    boundary_at: datetime | None = None
    recent: tuple[Mark, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Outage:
    """A provider was down: what its endpoints did in that time has been told."""

    provider: str
    since: datetime
    until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """All that is remembered: tracks by id, open incidents by id, outages that are over."""

    tracks: Mapping[str, Track] = field(default_factory=dict)
    incidents: Mapping[str, Incident] = field(default_factory=dict)
    outages: tuple[Outage, ...] = ()


EventKind = Literal["fired", "changed", "reminder", "resolved"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One thing to tell about an incident. ``changes`` is what was different before it began."""

    kind: EventKind
    incident: Incident
    changes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """What is told at once: events of one provider. ``message_id`` is the same however often it is sent."""

    message_id: str
    at: datetime
    group: str
    events: tuple[Event, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Silence:
    """Incidents that match are not told about until ``until``. Patterns as in file names; ``*`` is all.

    ``match`` is compared with subject and provider, ``topic`` None is any.
    """

    silence_id: str
    match: str
    until: datetime
    reason: str
    by: str
    made_at: datetime
    topic: Topic | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ack:
    """Somebody knows of an incident: no more reminders."""

    incident_id: str
    at: datetime
    by: str
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counting:
    """When a rule fires and when it is over, and what it is worth."""

    fire: Count
    resolve: Count
    severity: Severity = "page"


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What the state machine goes by at one look.

    ``subjects`` are those that are watched; None: all. What is not watched any more is over. ``in_doubt`` are endpoints
    whose provider may be going down (`monitor.alerting.outage`).
    """

    counting: Mapping[str, Counting]
    subjects: frozenset[str] | None = None
    silences: Sequence[Silence] = ()
    acks: Mapping[str, Ack] = field(default_factory=dict)
    group_wait: timedelta = timedelta(seconds=30)
    remind: timedelta | None = timedelta(hours=4)
    in_doubt: frozenset[str] = frozenset()

    def count(self, rule: str) -> Counting | None:
        """How the signals of `rule` are counted; None for one that is not in force.

        A rule that watches several detectors has a track for each, ``name#detector``.
        """
        return self.counting.get(rule.partition("#")[0])
