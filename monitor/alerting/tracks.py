"""Hysteresis: n of the newest m signals fire a rule on a subject, n of m others end it."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from monitor.alerting.nouns import Count, Counting, Mark, Signal, Track


def track_id(rule: str, subject: str) -> str:
    """Id of what is remembered of `rule` on `subject`."""
    return hashlib.blake2b(f"{rule}\x00{subject}".encode(), digest_size=10).hexdigest()


def blank(signal: Signal) -> Track:
    """The memory of a rule that has seen nothing yet."""
    name = track_id(signal.rule, signal.subject)
    return Track(track_id=name, rule=signal.rule, subject=signal.subject, provider=signal.provider)


@dataclass(frozen=True, slots=True)
class Happening:
    """What one signal did: the rule fires, ends, or goes on being bad. ``marks`` are those that turned it.

    ``at`` is when; the signal is the nearest one of this look where an older one, kept as a mark, turned the rule.
    """

    what: Literal["fires", "ends", "goes on"]
    at: datetime
    signal: Signal
    marks: tuple[Mark, ...] = ()


def fold(track: Track, signals: Sequence[Signal], counting: Counting) -> tuple[Track, list[Happening]]:
    """Take signals of one look in; return the new memory and what happened, oldest first.

    Signals that are not later than the last transition count for nothing. The others are put where their time belongs
    among those that are remembered, and all is counted again from the last transition on: so a signal that is seen
    again, or late, finds its old neighbours. (Where a look sees again what it saw, it sees all since then again.)
    """
    fresh = {
        one.key: one for one in signals
        if one.bad is not None and (track.boundary_at is None or one.at > track.boundary_at)
    }  # fmt: skip
    if not fresh:
        return track, []
    marks = {mark.key: mark for mark in (*(_mark(one) for one in fresh.values()), *track.recent)}
    happened: list[Happening] = []
    seen: list[Mark] = []
    for mark in sorted(marks.values(), key=lambda one: (one.at, one.key)):
        seen = [*seen, mark][-max(counting.fire.m, counting.resolve.m) :]
        told = _counted(seen, counting.resolve if track.firing else counting.fire, bad=not track.firing)
        if told:
            nearest = fresh.get(mark.key) or max(fresh.values(), key=lambda one: one.at)
            what: Literal["fires", "ends"] = "ends" if track.firing else "fires"
            happened.append(Happening(what, mark.at, nearest, tuple(told)))
            track, seen = replace(track, firing=not track.firing, boundary_at=mark.at), []
        elif track.firing and mark.bad and mark.key in fresh:
            happened.append(Happening("goes on", mark.at, fresh[mark.key]))
    return replace(track, recent=_worth(seen, firing=track.firing)), happened


def _mark(signal: Signal) -> Mark:
    return Mark(at=signal.at, key=signal.key, bad=signal.bad is True, since=signal.since or signal.at)


def after(track: Track, at: datetime) -> Track:
    """Forget all signals up to `at`; whether the rule fires stays as it is."""
    boundary = at if track.boundary_at is None else max(at, track.boundary_at)
    kept = tuple(mark for mark in track.recent if mark.at > boundary)
    return replace(track, boundary_at=boundary, recent=kept)


def _counted(marks: Sequence[Mark], wanted: Count, *, bad: bool) -> list[Mark]:
    """Those of the newest m marks that count, if they are enough."""
    found = [mark for mark in marks[-wanted.m :] if mark.bad is bad]
    return found if len(found) >= wanted.n else []


def _worth(marks: Sequence[Mark], *, firing: bool) -> tuple[Mark, ...]:
    """Drop leading marks that can never count: so a quiet rule has nothing to remember, and nothing is written."""
    first = next((index for index, mark in enumerate(marks) if mark.bad is not firing), len(marks))
    return tuple(marks[first:])
