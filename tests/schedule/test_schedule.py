"""The schedule against its definition: slots are phase + k * every, none lost, none doubled."""

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise
from typing import ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.cadence import Times, every
from monitor.config import ProbePlan
from monitor.cron import parse_cron
from monitor.schedule import Timetable, due, next_slot, phase_s, slots_between

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
START = datetime(2026, 3, 1, 12, tzinfo=UTC)
PAIR = ("acme/x", "ping")
FIXED = settings(deadline=None, derandomize=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ping:
    kind: ClassVar[str] = "ping"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pong:
    kind: ClassVar[str] = "pong"


def plan(every_s: float = 60.0, *endpoints: str) -> ProbePlan:
    return ProbePlan(probe=Ping(), cadence=every(every_s), endpoints=endpoints or ("acme/x",))


def nine(timezone: str = "UTC") -> ProbePlan:
    return ProbePlan(probe=Ping(), cadence=Times(cron=parse_cron("0 9 * * *", timezone)), endpoints=("acme/x",))


def coming(endpoint: str, one: ProbePlan, after: datetime) -> datetime:
    found = next_slot(endpoint, one, after)
    assert found is not None
    return found


def run(times: list[datetime], every_s: float, last: Mapping[tuple[str, str], datetime]) -> list[datetime]:
    """What an agent accounts for that looks at the clock at `times`: slots run and slots missed."""
    slots: list[datetime] = []
    for now in times:
        agenda = due([plan(every_s)], now, last)
        slots += sorted([*(row.slot_at for row in agenda.missed), *(item.slot_at for item in agenda.due)])
        last = agenda.accounted(last)
    return slots


def test_phase_is_the_same_in_another_process_with_another_hash_seed() -> None:
    code = "from monitor.schedule import phase_s; print(phase_s('acme/x', 'ping', 600.0))"
    printed = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONHASHSEED": "7"}, capture_output=True, text=True, check=True
    ).stdout
    assert float(printed) == phase_s("acme/x", "ping", 600.0)


def test_phases_lie_in_the_interval_and_spread() -> None:
    phases = [phase_s(f"acme/{i}", "ping", 600.0) for i in range(1000)]
    assert all(0 <= phase < 600 for phase in phases)
    tenths = [sum(1 for phase in phases if int(phase // 60) == i) for i in range(10)]
    assert min(tenths) > 60  # binomial(1000, 0.1): below 60 has probability 1e-5


def test_slots_are_phase_plus_multiples() -> None:
    phase = timedelta(seconds=phase_s(*PAIR, 60.0))
    slots = slots_between("acme/x", plan(60.0), START, START + timedelta(hours=1))
    assert len(slots) == 60
    assert {(slot - EPOCH - phase) % timedelta(seconds=60) for slot in slots} == {timedelta(0)}


def test_bounds_leave_out_after_and_include_until() -> None:
    first, second = slots_between("acme/x", plan(60.0), START, START + timedelta(minutes=2))
    assert slots_between("acme/x", plan(60.0), first, second) == [second]


@FIXED
@given(
    every_s=st.floats(1, 1e6).map(lambda value: round(value, 6)),
    cuts=st.lists(st.integers(0, 10**9), min_size=2, max_size=8).map(sorted),
)
def test_intervals_add_up(every_s: float, cuts: list[int]) -> None:
    """Cutting a span anywhere gives the same slots as the whole span."""
    one = plan(max(every_s, 3600.0))
    times = [START + timedelta(milliseconds=cut) for cut in cuts]
    parts = [slot for a, b in pairwise(times) for slot in slots_between("acme/x", one, a, b)]
    assert parts == slots_between("acme/x", one, times[0], times[-1])


def test_next_slot_is_the_first_of_the_slots() -> None:
    for offset in range(0, 120, 7):
        after = START + timedelta(seconds=offset)
        expected = slots_between("acme/x", plan(60.0), after, after + timedelta(minutes=5))[0]
        assert coming("acme/x", plan(60.0), after) == expected


def test_only_the_newest_runs_and_the_others_are_missed_with_a_reason() -> None:
    slots = slots_between("acme/x", plan(60.0), START, START + timedelta(minutes=5))
    agenda = due([plan(60.0)], slots[-1] + timedelta(seconds=29), {PAIR: START})
    assert [item.slot_at for item in agenda.due] == slots[-1:]
    assert [row.slot_at for row in agenda.missed] == slots[:-1]
    assert {(row.state, row.endpoint, row.probe) for row in agenda.missed} == {("missed", "acme/x", "ping")}
    assert all(row.reason for row in agenda.missed)


def test_case_op_04_a_slot_runs_late_within_half_its_interval_and_is_missed_beyond() -> None:
    """Every 60 s with a grace of 30 s: 3 s late it runs, 45 s late it is a row with the reason."""
    slot = coming("acme/x", plan(60.0), START)
    late = due([plan(60.0)], slot + timedelta(seconds=3), {PAIR: START})
    assert [item.slot_at for item in late.due][-1:] == [slot]
    too_late = due([plan(60.0)], slot + timedelta(seconds=45), {PAIR: slot - timedelta(seconds=60)})
    assert (too_late.due, [row.slot_at for row in too_late.missed]) == ((), [slot])
    assert "too late" in (too_late.missed[0].reason or "")
    assert due([plan(60.0)], slot + timedelta(seconds=46), too_late.accounted({})).missed == ()


def test_a_short_interval_is_not_missed_for_a_busy_second() -> None:
    slot = coming("acme/x", plan(1.0), START)
    assert due([plan(1.0)], slot + timedelta(seconds=0.9), {PAIR: slot - timedelta(seconds=1)}).missed == ()


def test_a_time_of_the_day_that_passed_before_anybody_was_there_does_not_run_but_the_next_one_does() -> None:
    agenda = due([nine()], START, {})
    assert (agenda.due, agenda.missed) == ((), ())
    last = agenda.accounted({})
    morning = datetime(2026, 3, 2, 9, tzinfo=UTC)
    assert [item.slot_at for item in due([nine()], morning + timedelta(milliseconds=1), last).due] == [morning]
    assert [row.slot_at for row in due([nine()], morning + timedelta(hours=2), last).missed] == [morning]


def test_a_pair_without_history_runs_at_once_and_has_missed_nothing() -> None:
    agenda = due([plan(3600.0, "acme/x", "acme/y")], START, {})
    assert [item.endpoint for item in agenda.due] == ["acme/x", "acme/y"]
    assert all(START - timedelta(hours=1) < item.slot_at <= START for item in agenda.due)
    assert agenda.missed == ()


@FIXED
@given(steps=st.lists(st.integers(0, 1000), min_size=1, max_size=30))
def test_no_slot_is_lost_or_doubled_over_restarts_and_forward_steps(steps: list[int]) -> None:
    """However irregularly the agent looks (pauses, restarts, clock set forward), each slot is accounted for once."""
    times = [START + timedelta(seconds=sum(steps[: i + 1])) for i in range(len(steps))]
    assert run(times, 60.0, {PAIR: START}) == slots_between("acme/x", plan(60.0), START, times[-1])


@FIXED
@given(steps=st.lists(st.integers(-2000, 1000), min_size=1, max_size=30))
def test_a_clock_set_back_never_doubles_and_loses_nothing(steps: list[int]) -> None:
    times = [START + timedelta(seconds=sum(steps[: i + 1])) for i in range(len(steps))]
    newest = max([START, *times])
    assert run(times, 60.0, {PAIR: START}) == slots_between("acme/x", plan(60.0), START, newest)


@FIXED
@given(every_s=st.sampled_from([1.0, 0.3, 7.7, 86400.0]), days=st.integers(0, 20_000))
def test_slots_do_not_drift_over_years(every_s: float, days: int) -> None:
    """Oracle: exact integer arithmetic on microseconds."""
    first = coming("acme/x", plan(every_s), EPOCH + timedelta(days=days))
    second = coming("acme/x", plan(every_s), first)
    assert second - first == timedelta(microseconds=round(every_s * 1e6))


def test_the_repeated_hour_in_autumn_has_four_half_hour_slots() -> None:
    """Case OP-05: 02:00 to 03:00 happens twice in Berlin on 2026-10-25; UTC knows four half hours."""
    summer, winter = timezone(timedelta(hours=2)), timezone(timedelta(hours=1))
    after = datetime(2026, 10, 25, 2, tzinfo=summer)
    until = datetime(2026, 10, 25, 3, tzinfo=winter)
    slots = slots_between("acme/x", plan(1800.0), after, until)
    assert len(slots) == len(set(slots)) == 4
    assert all(slot.utcoffset() == timedelta(0) for slot in slots)


@FIXED
@given(steps=st.lists(st.integers(-2000, 9000), min_size=1, max_size=30), known=st.booleans())
def test_a_timetable_says_what_due_says_however_often_anybody_looks(steps: list[int], known: bool) -> None:
    plans = [plan(60.0, "a/b", "acme/x"), plan(3600.0, "e/f"), ProbePlan(
        probe=Pong(), cadence=Times(cron=parse_cron("*/20 12-15 * * *", "Europe/Berlin")), endpoints=("a/b",)
    )]  # fmt: skip
    last: Mapping[tuple[str, str], datetime] = {PAIR: START, ("a/b", "pong"): START} if known else {}
    timetable, now = Timetable(plans, last), START
    for step in steps:
        now += timedelta(seconds=step)
        wanted, said = due(plans, now, last), timetable.look(now)
        last = wanted.accounted(last)
        assert set(said.due) == set(wanted.due)
        assert sorted(map(repr, said.missed)) == sorted(map(repr, wanted.missed))
        assert said.begun == wanted.begun
        assert timetable.next_at == min(coming(end, one, last[end, one.probe.kind]) for one in plans
                                        for end in one.endpoints)  # fmt: skip
    assert Timetable([], {}).next_at is None


def test_naive_times_are_refused() -> None:
    with pytest.raises(ValueError, match="naive"):
        slots_between("acme/x", plan(), START.replace(tzinfo=None), START)


def test_intervals_below_the_resolution_are_refused() -> None:
    with pytest.raises(ValueError, match="too short"):
        slots_between("acme/x", plan(1e-7), START, START)
