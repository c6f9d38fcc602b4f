"""How often: intervals, intervals that change after a launch, and times of the day. Pure.

A slot of an interval is an instant ``phase + k * every`` counted from 1970 in UTC. The phase is a hash of what is
asked: it spreads the load and, unlike jitter, does not accumulate (APScheduler's jitter of 0.4 s made a 1 s interval
1.25 s on average). Time is counted in whole microseconds, so no slot drifts.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from hashlib import blake2b
from typing import Protocol

from monitor.cron import Cron, cron_between, cron_next, days_per_year

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_DAY_S = 86_400.0
_NEVER_US = 2**63
GRACE_S = 3600.0
"""A time of the day that is later than this is missed and not made up for."""
LEAST_GRACE_S = 5.0
"""A short interval gets this much, else a busy second loses it."""


class Cadence(Protocol):
    """When slots are. ``key`` is what fixed offsets are hashed from."""

    @property
    def every_s(self) -> float:
        """Seconds between two slots: the mean where they differ, of the fastest stage where there are several."""
        ...

    @property
    def most_per_day(self) -> int:
        """Most slots that one day can have."""
        ...

    def between(self, key: str, after: datetime, until: datetime) -> list[datetime]:
        """Slots later than `after`, up to and including `until`, oldest first."""
        ...

    def following(self, key: str, after: datetime) -> datetime | None:
        """First slot later than `after`; None when there is none ever."""
        ...

    def first_look(self, now: datetime) -> datetime:
        """From where somebody who never ran looks for slots to run at once."""
        ...

    def grace_s(self, slot_at: datetime) -> float:
        """How late a slot may be run; later it is missed (case OP-04)."""
        ...

    def text(self) -> str:
        """As the configuration writes it."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """An interval and how long it is kept, seconds; ``lasts_s`` None is for ever."""

    every_s: float
    lasts_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Intervals:
    """One interval for ever, or stages counted from ``since``, before which there are no slots."""

    stages: tuple[Stage, ...]
    since: datetime | None = None

    @property
    def every_s(self) -> float:
        """The shortest interval."""
        return min(stage.every_s for stage in self.stages)

    @property
    def most_per_day(self) -> int:
        """Slots in a day of the shortest interval."""
        return math.ceil(_DAY_S / self.every_s)

    def between(self, key: str, after: datetime, until: datetime) -> list[datetime]:
        """Return the slots in (`after`, `until`]."""
        found: list[datetime] = []
        for every, start, end in self._spans():
            phase = phase_us(key, every)
            low = max(_us(after), start - 1)
            high = min(_us(until), end - 1)
            found += [at_us(phase + k * every) for k in range((low - phase) // every + 1, (high - phase) // every + 1)]
        return found

    def following(self, key: str, after: datetime) -> datetime | None:
        """Return the first slot later than `after`."""
        for every, start, end in self._spans():
            phase = phase_us(key, every)
            slot = phase + ((max(_us(after), start - 1) - phase) // every + 1) * every
            if slot < end:
                return at_us(slot)
        return None

    def first_look(self, now: datetime) -> datetime:
        """One interval ago: so the newest slot is run at once."""
        return now - interval_us(self._stage_at(now).every_s) * _MICROSECOND

    def grace_s(self, slot_at: datetime) -> float:
        """Half the interval."""
        return max(self._stage_at(slot_at).every_s / 2, LEAST_GRACE_S)

    def text(self) -> str:
        """Such as ``1h`` or ``1h for 14d then 1d``."""
        return " then ".join(
            f"{duration_text(stage.every_s)}" + (f" for {duration_text(stage.lasts_s)}" if stage.lasts_s else "")
            for stage in self.stages
        )

    def _spans(self) -> Iterator[tuple[int, int, int]]:
        """Yield interval, start and end of each stage, microseconds since 1970."""
        start = -_NEVER_US if self.since is None else _us(self.since)
        for stage in self.stages:
            end = _NEVER_US if stage.lasts_s is None else start + interval_us(stage.lasts_s)
            yield interval_us(stage.every_s), start, end
            start = end

    def _stage_at(self, at: datetime) -> Stage:
        spans = zip(self.stages, self._spans(), strict=True)
        return next((stage for stage, (_, _, end) in spans if _us(at) < end), self.stages[-1])


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """Times of the day and week. No offsets: what is asked for at nine is due at nine."""

    cron: Cron

    @property
    def every_s(self) -> float:
        """Mean over a year."""
        return 365.25 * _DAY_S / (days_per_year(self.cron) * self.most_per_day)

    @property
    def most_per_day(self) -> int:
        """Slots of a day that fits."""
        return len(self.cron.hours) * len(self.cron.minutes)

    def between(self, key: str, after: datetime, until: datetime) -> list[datetime]:  # noqa: ARG002  # the port's
        """Return the slots in (`after`, `until`]."""
        _us(after), _us(until)
        return cron_between(self.cron, after, until)

    def following(self, key: str, after: datetime) -> datetime | None:  # noqa: ARG002  # the port's
        """Return the first slot later than `after`."""
        return cron_next(self.cron, after)

    def first_look(self, now: datetime) -> datetime:
        """Now: a time of the day that passed before anybody was there is not made up for."""
        return now

    def grace_s(self, slot_at: datetime) -> float:
        """Half the time to the next one, at most `GRACE_S`."""
        gap_s = (cron_next(self.cron, slot_at) - slot_at).total_seconds()
        return max(min(gap_s / 2, GRACE_S), LEAST_GRACE_S)

    def text(self) -> str:
        """As the configuration writes it, with the time zone."""
        return str(self.cron)


def every(every_s: float) -> Intervals:
    """Return the cadence of one interval for ever."""
    return Intervals(stages=(Stage(every_s=every_s),))


def duration_text(seconds: float) -> str:
    """Return a duration as the configuration writes it."""
    for unit, size in (("d", 86_400), ("h", 3600), ("m", 60)):
        if seconds >= size and seconds % size == 0:
            return f"{seconds / size:.0f}{unit}"
    return f"{seconds:g}s"


@lru_cache(maxsize=65_536)
def phase_us(key: str, every_us: int) -> int:
    """Return the fixed offset in [0, `every_us`) microseconds, the same in every process and on every machine."""
    return int.from_bytes(blake2b(key.encode(), digest_size=8).digest(), "big") % every_us


def interval_us(every_s: float) -> int:
    """Return whole microseconds.

    Raises
    ------
    ValueError
        When the interval is below one microsecond.
    """
    every = round(every_s * 1e6)
    if every < 1:
        raise ValueError(f"an interval of {every_s} s is too short")
    return every


def at_us(microseconds: int) -> datetime:
    """Return the instant so many microseconds after 1970."""
    return _EPOCH + microseconds * _MICROSECOND


def _us(at: datetime) -> int:
    if at.tzinfo is None:
        raise ValueError("a naive time has no place in the schedule: use aware UTC")
    return (at - _EPOCH) // _MICROSECOND
