"""Stages after a launch, and what check and alerting compute from a cadence. Oracle: arithmetic by hand."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.cadence import Intervals, Stage, Times, every
from monitor.cron import parse_cron

LAUNCH = datetime(2026, 12, 1, 8, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
FIXED = settings(deadline=None, derandomize=True, max_examples=60)


def launch() -> Intervals:
    return Intervals(stages=(Stage(every_s=3600.0, lasts_s=14 * 86400.0), Stage(every_s=86400.0)), since=LAUNCH)


def test_hourly_for_a_fortnight_and_daily_from_then_on() -> None:
    slots = launch().between("k", LAUNCH - 30 * DAY, LAUNCH + 30 * DAY)
    first = [slot for slot in slots if slot < LAUNCH + 14 * DAY]
    later = [slot for slot in slots if slot >= LAUNCH + 14 * DAY]
    assert slots[0] >= LAUNCH
    assert len(first) == 14 * 24
    assert {b - a for a, b in pairwise(first)} == {HOUR}
    assert len(later) == 16
    assert {b - a for a, b in pairwise(later)} == {DAY}


@FIXED
@given(cuts=st.lists(st.integers(-40 * 24 * 60, 40 * 24 * 60), min_size=2, max_size=6).map(sorted))
def test_cutting_a_span_anywhere_neither_doubles_nor_loses(cuts: list[int]) -> None:
    times = [LAUNCH + timedelta(minutes=cut) for cut in cuts]
    parts = [slot for a, b in pairwise(times) for slot in launch().between("k", a, b)]
    assert parts == launch().between("k", times[0], times[-1])


@FIXED
@given(minutes=st.integers(-40 * 24 * 60, 40 * 24 * 60))
def test_following_is_the_first_of_those_between(minutes: int) -> None:
    after = LAUNCH + timedelta(minutes=minutes)
    assert launch().following("k", after) == launch().between("k", after, after + 45 * DAY)[0]


def test_a_plan_whose_last_stage_ends_has_no_slot_after_it() -> None:
    ended = Intervals(stages=(Stage(every_s=3600.0, lasts_s=86400.0),), since=LAUNCH)
    assert ended.following("k", LAUNCH + 2 * DAY) is None


def test_the_grace_and_the_first_look_are_those_of_the_stage() -> None:
    assert launch().grace_s(LAUNCH + DAY) == 1800.0
    assert launch().grace_s(LAUNCH + 20 * DAY) == 43_200.0
    assert launch().first_look(LAUNCH + 20 * DAY) == LAUNCH + 19 * DAY


@pytest.mark.parametrize(
    ("cadence", "every_s", "most"),
    [
        (every(600.0), 600.0, 144),
        (every(7 * 3600.0), 25_200.0, 4),
        (launch(), 3600.0, 24),
        (Times(cron=parse_cron("0,30 9-17 * * *")), 4800.0, 18),
        (Times(cron=parse_cron("0 9 29 feb *")), 4 * 365.25 * 86400.0, 1),
    ],
    ids=["interval", "uneven", "stages", "times", "leap day"],
)
def test_how_often(cadence: Intervals | Times, every_s: float, most: int) -> None:
    assert cadence.every_s == pytest.approx(every_s)
    assert cadence.most_per_day == most


def test_cadences_read_as_written() -> None:
    assert launch().text() == "1h for 14d then 1d"
    assert Times(cron=parse_cron("0 9 * * mon-fri", "Europe/Berlin")).text() == "0 9 * * mon-fri Europe/Berlin"
    assert every(90).text() == "90s"


def test_times_of_the_day_have_an_hour_of_grace_at_most() -> None:
    assert Times(cron=parse_cron("0 9 * * *")).grace_s(datetime(2026, 3, 1, 9, tzinfo=UTC)) == 3600.0
    assert Times(cron=parse_cron("*/10 * * * *")).grace_s(datetime(2026, 3, 1, 9, tzinfo=UTC)) == 300.0
