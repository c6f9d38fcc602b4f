"""When each probe asks each endpoint: a pure function of the plan, so that every process agrees and nothing is stored.

A slot is an instant ``phase + k * every`` counted from 1970 in UTC. The phase is a hash of endpoint and probe: it
spreads the load and, unlike jitter, does not accumulate (APScheduler's jitter of 0.4 s made a 1 s interval 1.25 s
on average). Time is counted in whole microseconds, so no slot drifts. Cases OP-04, OP-05, OP-06.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import blake2b

from monitor.config_types import ProbePlan
from monitor.results import Slot

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_MISSED = "nothing ran at this time: the agent was stopped, busy or asleep"


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Agenda:
    """What `due` found: slots to run now, and rows for those that passed while nobody ran."""

    due: tuple[Due, ...]
    missed: tuple[Slot, ...]

    def accounted(self, last: Mapping[tuple[str, str], datetime]) -> dict[tuple[str, str], datetime]:
        """Return `last` brought forward over this agenda: what to pass to the next `due`."""
        return {**last, **{(due.endpoint, due.probe): due.slot_at for due in self.due}}


def phase_s(endpoint: str, probe: str, every_s: float) -> float:
    """Return the fixed offset in [0, `every_s`) seconds, the same in every process and on every machine."""
    return _phase_us(endpoint, probe, _interval_us(every_s)) / 1e6


def slots_between(endpoint: str, plan: ProbePlan, after: datetime, until: datetime) -> list[datetime]:
    """Return the slots later than `after`, up to and including `until`, oldest first.

    Raises
    ------
    ValueError
        When a time is naive, or the interval is below one microsecond.
    """
    every = _interval_us(plan.every_s)
    phase = _phase_us(endpoint, str(plan.probe.kind), every)
    first = (_us(after) - phase) // every + 1
    last = (_us(until) - phase) // every
    return [_EPOCH + (phase + k * every) * _MICROSECOND for k in range(first, last + 1)]


def next_slot(endpoint: str, plan: ProbePlan, after: datetime) -> datetime:
    """Return the first slot later than `after`."""
    return slots_between(endpoint, plan, after, after + _interval_us(plan.every_s) * _MICROSECOND)[0]


def due(plans: Iterable[ProbePlan], now: datetime, last: Mapping[tuple[str, str], datetime]) -> Agenda:
    """Return what to run at `now`, given the newest slot already accounted for by (endpoint, probe kind).

    Of the slots since then only the newest is run; older ones become ``missed`` rows. A pair without history runs
    its newest slot at once and has missed nothing. While the clock stands before ``last`` nothing is due, so a
    clock set back never runs a slot twice.

    Parameters
    ----------
    plans
        At most one per endpoint and probe kind, as the configuration guarantees.
    now
        Aware time.
    last
        Newest accounted slot; `Agenda.accounted` brings it forward.
    """
    found: list[Due] = []
    missed: list[Slot] = []
    for endpoint, plan in _pairs(plans):
        after = last.get((endpoint, str(plan.probe.kind))) or now - _interval_us(plan.every_s) * _MICROSECOND
        slots = slots_between(endpoint, plan, after, now)
        if slots:
            found.append(Due(endpoint=endpoint, plan=plan, slot_at=slots[-1]))
            missed.extend(_missed(endpoint, plan, slot_at) for slot_at in slots[:-1])
    return Agenda(due=tuple(found), missed=tuple(missed))


def wake_at(plans: Iterable[ProbePlan], now: datetime) -> datetime | None:
    """Return the next instant at which something is due, or None when there are no plans."""
    return min((next_slot(endpoint, plan, now) for endpoint, plan in _pairs(plans)), default=None)


def _pairs(plans: Iterable[ProbePlan]) -> Iterator[tuple[str, ProbePlan]]:
    return ((endpoint, plan) for plan in plans for endpoint in plan.endpoints)


def _missed(endpoint: str, plan: ProbePlan, slot_at: datetime) -> Slot:
    return Slot(endpoint=endpoint, probe=str(plan.probe.kind), slot_at=slot_at, state="missed", reason=_MISSED)


def _phase_us(endpoint: str, probe: str, every_us: int) -> int:
    digest = blake2b(f"{endpoint}\0{probe}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") % every_us


def _interval_us(every_s: float) -> int:
    every = round(every_s * 1e6)
    if every < 1:
        raise ValueError(f"an interval of {every_s} s is too short")
    return every


def _us(at: datetime) -> int:
    if at.tzinfo is None:
        raise ValueError("a naive time has no place in the schedule: use aware UTC")
    return (at - _EPOCH) // _MICROSECOND
