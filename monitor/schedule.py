"""When each probe asks each endpoint: a pure function of the plan, so that every process agrees and nothing is stored.

`monitor.cadence` says when slots are; this says which of them to run now, and which passed while nobody ran.
Cases OP-04, OP-05, OP-06.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from heapq import heappop, heappush

from monitor.cadence import interval_us, phase_us
from monitor.config_types import ProbePlan
from monitor.slot import Slot

_MISSED = "nothing ran: the agent was stopped, busy or asleep at this time"
_LATE = "too late: nothing ran at this time, and it is too late to make up for it"

_MOMENT = timedelta(microseconds=1)
_LONG_AGO = datetime.min.replace(tzinfo=UTC)

Pair = tuple[str, str]
"""Endpoint and probe kind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """A slot to run now."""

    endpoint: str
    plan: ProbePlan
    slot_at: datetime

    @property
    def probe(self) -> str:
        """Kind of the probe."""
        return str(self.plan.probe.kind)

    @property
    def pair(self) -> Pair:
        """Endpoint and probe kind."""
        return self.endpoint, self.probe


@dataclass(frozen=True, slots=True, kw_only=True)
class Agenda:
    """What `due` found: slots to run now, rows for those that passed while nobody ran, and where each pair stands.

    ``begun`` are the pairs that are new, with the time after which their slots count.
    """

    due: tuple[Due, ...]
    missed: tuple[Slot, ...]
    begun: Mapping[Pair, datetime]

    def accounted(self, last: Mapping[Pair, datetime]) -> dict[Pair, datetime]:
        """Return `last` brought forward over this agenda: what to pass to the next `due`."""
        missed = {(slot.endpoint, slot.probe): slot.slot_at for slot in self.missed}
        return {**last, **self.begun, **missed, **{due.pair: due.slot_at for due in self.due}}


def phase_s(endpoint: str, probe: str, every_s: float) -> float:
    """Return the fixed offset in [0, `every_s`) seconds, the same in every process and on every machine."""
    return phase_us(_key(endpoint, probe), interval_us(every_s)) / 1e6


def slots_between(endpoint: str, plan: ProbePlan, after: datetime, until: datetime) -> list[datetime]:
    """Return the slots later than `after`, up to and including `until`, oldest first.

    Raises
    ------
    ValueError
        When a time is naive, or an interval is below one microsecond.
    """
    return plan.cadence.between(_key(endpoint, str(plan.probe.kind)), after, until)


def next_slot(endpoint: str, plan: ProbePlan, after: datetime) -> datetime | None:
    """Return the first slot later than `after`; None when the plan has ended."""
    return plan.cadence.following(_key(endpoint, str(plan.probe.kind)), after)


def due(plans: Iterable[ProbePlan], now: datetime, last: Mapping[Pair, datetime]) -> Agenda:
    """Return what to run at `now`, given the newest slot already accounted for by (endpoint, probe kind).

    Of the slots since then only the newest is run, and only while it is within the grace of its cadence; the others
    become ``missed`` rows. A pair without history runs the newest slot of its interval at once and has missed
    nothing. While the clock stands before ``last`` nothing is due, so a clock set back never runs a slot twice.

    Parameters
    ----------
    plans
        At most one per endpoint and probe kind, as the configuration guarantees.
    now
        Aware time.
    last
        Newest accounted slot; `Agenda.accounted` brings it forward.
    """
    return _look(_pairs(plans), now, last)


def _look(pairs: Iterable[tuple[str, ProbePlan]], now: datetime, last: Mapping[Pair, datetime]) -> Agenda:
    found: list[Due] = []
    missed: list[Slot] = []
    begun: dict[Pair, datetime] = {}
    for endpoint, plan in pairs:
        pair = endpoint, str(plan.probe.kind)
        new = pair not in last
        slots = slots_between(endpoint, plan, plan.cadence.first_look(now) if new else last[pair], now)
        if new:
            begun[pair] = slots[-1] - _MOMENT if slots else now
            del slots[:-1]
        if not slots:
            continue
        in_time = new or (now - slots[-1]).total_seconds() <= plan.cadence.grace_s(slots[-1])
        if in_time:
            found.append(Due(endpoint=endpoint, plan=plan, slot_at=slots[-1]))
        missed.extend(_missed(pair, slot_at, _MISSED) for slot_at in slots[:-1])
        missed.extend([] if in_time else [_missed(pair, slots[-1], _LATE)])
    return Agenda(due=tuple(found), missed=tuple(missed), begun=begun)


class Timetable:
    """The schedule of many pairs: what `due` says from look to look, at the cost of what is due and not of all.

    Parameters
    ----------
    plans, last
        As for `due`.
    """

    def __init__(self, plans: Iterable[ProbePlan], last: Mapping[Pair, datetime]) -> None:
        self._last = dict(last)
        self._pairs = {(endpoint, str(plan.probe.kind)): (endpoint, plan) for endpoint, plan in _pairs(plans)}
        self._coming: list[tuple[datetime, Pair]] = []
        for pair in self._pairs:
            self._await(pair)

    @property
    def next_at(self) -> datetime | None:
        """When something is due next: in the past for pairs that were never looked at; None when nothing comes."""
        return self._coming[0][0] if self._coming else None

    def look(self, now: datetime) -> Agenda:
        """Return what is due at `now`."""
        pairs: list[Pair] = []
        while self._coming and self._coming[0][0] <= now:
            pairs.append(heappop(self._coming)[1])
        agenda = _look((self._pairs[pair] for pair in pairs), now, self._last)
        self._last = agenda.accounted(self._last)
        for pair in pairs:
            self._await(pair)
        return agenda

    def _await(self, pair: Pair) -> None:
        last = self._last.get(pair)
        at = _LONG_AGO if last is None else next_slot(*self._pairs[pair], last)
        if at is not None:
            heappush(self._coming, (at, pair))


def _pairs(plans: Iterable[ProbePlan]) -> Iterator[tuple[str, ProbePlan]]:
    return ((endpoint, plan) for plan in plans for endpoint in plan.endpoints)


def _key(endpoint: str, probe: str) -> str:
    return f"{endpoint}\0{probe}"


def _missed(pair: Pair, slot_at: datetime, reason: str) -> Slot:
    return Slot(endpoint=pair[0], probe=pair[1], slot_at=slot_at, state="missed", reason=reason)
