"""The state machine: `step(state, signals, now, policy)` gives the next state and what is to be told.

Two layers. A *track* remembers one rule on one subject and turns by hysteresis. An *incident* is open while at least
one track of its subject and topic fires; its id never changes. Absence of signals changes nothing, so it resolves
nothing. Signals are taken in the order of their time, whatever order they come in, and signals that are seen again
change nothing: the caller may look at the same facts twice.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from monitor.alerting.muting import explained, maintenance
from monitor.alerting.nouns import AGENT, PROVIDER, Message, Outage, Policy, Signal, State, Track
from monitor.alerting.outage import is_part_of
from monitor.alerting.telling import tell
from monitor.alerting.tracks import Happening, after, blank, fold, track_id
from monitor.incident import Incident

REMEMBERED = timedelta(days=8)
"""How long an outage is remembered: longer than any window that a rule looks at."""

GONE = "no longer watched: its rule or endpoint left the configuration"


@dataclass(frozen=True, slots=True)
class Stepped:
    """What a step made: the next state, incidents that ended in it, and messages."""

    state: State
    closed: tuple[Incident, ...]
    messages: tuple[Message, ...]


def step(state: State, signals: Iterable[Signal], now: datetime, policy: Policy) -> Stepped:
    """Take `signals` in and say what is to be told at `now`.

    Parameters
    ----------
    state
        What the last step returned.
    signals
        In any order, seen before or not. Signals of rules that `policy` does not know are passed over.
    now
        Aware time of this look; not earlier than the look before.
    """
    work = _Work(state)
    work.retire(now, policy)
    known = [one for one in signals if policy.count(one.rule) and one.bad is not None]
    for start in (AGENT, PROVIDER, None):  # what may explain others goes first
        work.take([one for one in known if _start(one) == start], now, policy)
    opened, closed, messages = tell(work.incidents, work.closed, now, policy)
    outages = tuple(one for one in work.outages if now - one.until < REMEMBERED)
    return Stepped(State(tracks=work.tracks, incidents=opened, outages=outages), closed, messages)


def _start(signal: Signal) -> str | None:
    return next((start for start in (AGENT, PROVIDER) if signal.subject.startswith(start)), None)


class _Work:
    """One step under way."""

    def __init__(self, state: State) -> None:
        self.tracks = dict(state.tracks)
        self.incidents = dict(state.incidents)
        self.outages = list(state.outages)
        self.closed: list[Incident] = []

    def retire(self, now: datetime, policy: Policy) -> None:
        """End what nobody watches any more: no signal will ever do it."""
        for name, track in list(self.tracks.items()):
            watched = policy.count(track.rule) and (policy.subjects is None or track.subject in policy.subjects)
            if watched or not track.firing:
                continue
            incident = self._incident(track)
            self.tracks[name] = replace(track, firing=False, boundary_at=now, recent=())
            if incident is not None:
                self._leave(replace(incident, reason=GONE), track.rule, now)
        for incident in [one for one in self.incidents.values() if not one.rules]:
            self._leave(replace(incident, reason=GONE), "", now)  # of a version that had no rules

    def take(self, signals: Sequence[Signal], now: datetime, policy: Policy) -> None:
        """Take signals in that do not explain each other."""
        by_track: dict[str, list[Signal]] = {}
        for one in signals:
            if not self._is_explained(one):
                by_track.setdefault(track_id(one.rule, one.subject), []).append(one)
        happened: list[Happening] = []
        for name, own in by_track.items():
            before = self.tracks.get(name)
            counting = policy.count(own[0].rule)
            if counting is None or (before is None and not any(one.bad for one in own)):
                continue
            self.tracks[name], more = fold(before or blank(own[0]), own, counting)
            happened += more
        for each in sorted(happened, key=_order):
            self._apply(each, now, policy)

    def _apply(self, one: Happening, now: datetime, policy: Policy) -> None:
        counting, incident = policy.count(one.signal.rule), self._incident(one.signal)
        if one.what == "fires" and counting is not None:
            self._fires(one, now, counting.severity)
        elif one.what == "ends" and incident is not None:
            self._leave(incident, one.signal.rule, one.at)
        elif one.what == "goes on" and incident is not None:
            self._goes_on(incident, one.signal)

    def _is_explained(self, signal: Signal) -> bool:
        """Whether an open or a past outage of its provider, or an agent that is offline, says all of this signal."""
        if explained(signal.subject, signal.provider, signal.vantages, self.incidents.values()):
            return True
        own = " " in signal.subject
        return not own and any(
            one.provider == signal.provider and one.since <= signal.at <= one.until for one in self.outages
        )

    def _incident(self, source: Signal | Track) -> Incident | None:
        """The open incident that a rule takes part in."""
        own = (one for one in self.incidents.values() if one.endpoint == source.subject and source.rule in one.rules)
        return next(own, None)

    def _fires(self, one: Happening, now: datetime, severity: str) -> None:
        signal = one.signal
        same = (
            other for other in self.incidents.values()
            if other.endpoint == signal.subject and other.topic == signal.topic
        )  # fmt: skip
        joined = next(same, None)
        if joined is None:
            made = self._with_its_parts(_opened(one, now, severity), one.at)
            self.incidents[made.incident_id] = made
            return
        self.incidents[joined.incident_id] = replace(
            joined, rules=(*joined.rules, signal.rule), causes=tuple(dict.fromkeys((*joined.causes, signal.cause))),
            last_at=max(joined.last_at, one.at), n_verdicts=joined.n_verdicts + len(one.marks),
        )  # fmt: skip

    def _with_its_parts(self, outage: Incident, at: datetime) -> Incident:
        """End the incidents that are part of an outage of a provider; return it as old as the first of them.

        Where they were told, their group has waited: then the outage is told in the message that ends them.
        """
        parts = [one for one in self.incidents.values() if is_part_of(one, outage)]
        for part in parts:
            for rule in part.rules:
                name = track_id(rule, part.endpoint)
                if name in self.tracks:
                    self.tracks[name] = replace(self.tracks[name], firing=False, boundary_at=at, recent=())
            del self.incidents[part.incident_id]
            why = f"part of the outage of {outage.endpoint}, incident {outage.incident_id}"
            self.closed.append(replace(part, closed_at=at, last_at=at, reason=why))
        first = min((one.detected_at for one in (outage, *parts) if one.detected_at is not None), default=None)
        return replace(outage, detected_at=first)

    def _goes_on(self, incident: Incident, signal: Signal) -> None:
        if signal.at <= incident.last_at:
            return
        seen = replace(
            incident, last_at=signal.at, n_verdicts=incident.n_verdicts + 1, muted=maintenance(signal),
            causes=tuple(dict.fromkeys((*incident.causes, signal.cause))),
        )  # fmt: skip
        lead = signal.rule == incident.rules[0]
        self.incidents[incident.incident_id] = _figures(seen, signal) if lead else seen

    def _leave(self, incident: Incident, rule: str, at: datetime) -> None:
        """Take `rule` out of an incident, which ends when no other is left."""
        left = tuple(one for one in incident.rules if one != rule)
        if left:
            self.incidents[incident.incident_id] = replace(incident, rules=left)
            return
        del self.incidents[incident.incident_id]
        self.closed.append(replace(incident, closed_at=at, last_at=at))
        if incident.endpoint.startswith(PROVIDER):
            self._provider_is_back(incident, at)

    def _provider_is_back(self, incident: Incident, at: datetime) -> None:
        """What its endpoints did while it was down counts for nothing: it has been told."""
        provider = incident.endpoint.removeprefix(PROVIDER)
        self.outages.append(Outage(provider=provider, since=incident.opened_at, until=at))
        for name, track in self.tracks.items():
            if track.provider == provider and not track.subject.startswith(PROVIDER):
                self.tracks[name] = after(track, at)


def _order(one: Happening) -> tuple[datetime, str, str]:
    return one.at, one.signal.subject, one.signal.rule


def _opened(one: Happening, now: datetime, severity: str) -> Incident:
    signal = one.signal
    key = f"{signal.subject}\x00{signal.topic}\x00{signal.rule}\x00{one.at.isoformat()}"
    made = Incident(
        incident_id=hashlib.blake2b(key.encode(), digest_size=10).hexdigest(),
        endpoint=signal.subject, provider=signal.provider, topic=signal.topic, severity=severity,
        detector=signal.detector or signal.rule, rules=(signal.rule,), causes=(signal.cause,), cause=signal.cause,
        opened_at=min(mark.since for mark in one.marks), detected_at=now, last_at=one.at, closed_at=None,
        n_verdicts=len(one.marks), verdict_id=signal.verdict_id, reason=signal.reason, muted=maintenance(signal),
        vantages=signal.vantages, endpoints=signal.endpoints,
    )  # fmt: skip
    return _figures(made, signal)


def _figures(incident: Incident, signal: Signal) -> Incident:
    """The incident with the newest figures of its first rule."""
    return replace(
        incident, detector=signal.detector or signal.rule, cause=signal.cause, reason=signal.reason,
        verdict_id=signal.verdict_id, effect=signal.value, low=signal.low, high=signal.high, unit=signal.unit,
        n=signal.n, threshold=signal.threshold,
    )  # fmt: skip
