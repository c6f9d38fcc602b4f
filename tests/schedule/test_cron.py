"""Cron against two oracles: every minute of a span tried one by one, and APScheduler where the two agree on terms."""

from datetime import UTC, date, datetime, time, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from apscheduler.triggers.cron import CronTrigger
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.cron import Cron, cron_between, cron_next, days_per_year, parse_cron
from monitor.cron_fields import CronError

FIXED = settings(deadline=None, derandomize=True, max_examples=60)
MINUTE = timedelta(minutes=1)
ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "America/Santiago")
TIMES = ("0 9 * * mon-fri", "*/30 2 * * *", "30 2 * * *", "15,45 0-3 * * *", "0 0 1 * *", "10 */6 * * sat,sun")


def walls(cron: Cron, zone: ZoneInfo, first: datetime, last: datetime) -> list[tuple[datetime, datetime]]:
    """Every UTC minute of a span with its wall time, that fits the expression. Knows nothing of folds and gaps."""
    minutes = (first + n * MINUTE for n in range(int((last - first) / MINUTE) + 1))
    shown = ((at, at.astimezone(zone).replace(tzinfo=None)) for at in minutes)
    return [(at, wall) for at, wall in shown if cron.on(wall.date()) and fits(cron, wall.time())]


def fits(cron: Cron, wall: time) -> bool:
    return wall.hour in cron.hours and wall.minute in cron.minutes


def oracle(cron: Cron, zone: ZoneInfo, first: datetime, last: datetime) -> list[datetime]:
    """The rule by exhaustion: a wall time counts the first time it shows, or when the clock jumps over it."""
    seen: dict[datetime, datetime] = {}
    for at, wall in walls(cron, zone, first, last):
        seen.setdefault(wall, at)
    found = set(seen.values())
    at = first
    while at < last:
        before, after = at.astimezone(zone).replace(tzinfo=None), (at + MINUTE).astimezone(zone).replace(tzinfo=None)
        skipped = (before + n * MINUTE for n in range(1, max(int((after - before) / MINUTE), 1)))
        if any(cron.on(wall.date()) and fits(cron, wall.time()) for wall in skipped):
            found.add(at + MINUTE)
        at += MINUTE
    return sorted(one for one in found if first < one <= last)


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("text", TIMES)
@pytest.mark.parametrize("month", [3, 4, 10, 11])
def test_as_every_minute_tried_one_by_one_over_the_days_on_which_clocks_change(
    text: str, zone: str, month: int
) -> None:
    cron = parse_cron(text, zone)
    change = {3: date(2026, 3, 29), 4: date(2026, 4, 5), 10: date(2026, 10, 25), 11: date(2026, 11, 1)}[month]
    noon = datetime.combine(change, time(12), UTC)
    first, last = noon - timedelta(hours=30), noon + timedelta(hours=12)
    # The oracle starts a day early, so that it knows what showed before.
    wanted = [at for at in oracle(cron, ZoneInfo(zone), first - timedelta(hours=6), last) if at > first]
    assert cron_between(cron, first, last) == wanted


def apscheduler(text: str, first: datetime, n: int) -> list[datetime]:
    minute, hour, day, month, weekday = text.split()
    trigger = CronTrigger(minute=minute, hour=hour, day=day, month=month, day_of_week=weekday, timezone=UTC)
    found: list[datetime] = []
    at = first
    for _ in range(n):
        following = trigger.get_next_fire_time(None, at)
        assert following is not None
        found.append(following)
        at = following + timedelta(seconds=1)
    return found


def fields(low: int, high: int) -> st.SearchStrategy[str]:
    number = st.integers(low, high)
    span = st.tuples(number, number).map(lambda pair: f"{min(pair)}-{max(pair)}")
    return st.one_of(st.just("*"), number.map(str), span, st.tuples(number, number).map(lambda p: f"{p[0]},{p[1]}"))


@FIXED
@given(
    clock=st.tuples(fields(0, 59), fields(0, 23), fields(1, 12)), day=fields(1, 28),
    weekday=st.sampled_from([None, "mon-fri", "sun", "sat,sun", "tue"]),
    start=st.datetimes(datetime(2020, 1, 1), datetime(2035, 1, 1)),  # noqa: DTZ001  # hypothesis wants naive bounds
)  # fmt: skip
def test_in_utc_as_apscheduler_says(
    clock: tuple[str, str, str], day: str, weekday: str | None, start: datetime
) -> None:
    minute, hour, month = clock
    text = f"{minute} {hour} * {month} {weekday}" if weekday else f"{minute} {hour} {day} {month} *"
    first = start.replace(tzinfo=UTC, second=0, microsecond=0)
    wanted = apscheduler(text, first + timedelta(seconds=1), 6)
    found = cron_between(parse_cron(text), first, wanted[-1])
    assert found[:6] == wanted
    assert cron_next(parse_cron(text), first) == wanted[0]


@FIXED
@given(
    zone=st.sampled_from(ZONES), text=st.sampled_from(TIMES),
    cuts=st.lists(st.integers(0, 400 * 24 * 3600), min_size=2, max_size=5).map(sorted),
)  # fmt: skip
def test_cutting_a_span_anywhere_neither_doubles_nor_loses(zone: str, text: str, cuts: list[int]) -> None:
    cron = parse_cron(text, zone)
    start = datetime(2026, 1, 1, tzinfo=UTC)
    times = [start + timedelta(seconds=cut) for cut in cuts]
    parts = [at for a, b in pairwise(times) for at in cron_between(cron, a, b)]
    assert parts == cron_between(cron, times[0], times[-1])


def test_the_night_that_skips_half_past_two_runs_once_at_three() -> None:
    cron = parse_cron("0,30 2 * * *", "Europe/Berlin")
    night = datetime(2026, 3, 28, 12, tzinfo=UTC), datetime(2026, 3, 29, 12, tzinfo=UTC)
    assert cron_between(cron, *night) == [datetime(2026, 3, 29, 1, tzinfo=UTC)]  # 03:00 in summer time


def test_the_night_with_two_half_past_twos_runs_once_at_the_first() -> None:
    cron = parse_cron("0,30 2 * * *", "Europe/Berlin")
    night = datetime(2026, 10, 24, 12, tzinfo=UTC), datetime(2026, 10, 25, 12, tzinfo=UTC)
    assert cron_between(cron, *night) == [
        datetime(2026, 10, 25, 0, 0, tzinfo=UTC), datetime(2026, 10, 25, 0, 30, tzinfo=UTC),
    ]  # fmt: skip


def test_a_day_that_an_island_skipped_runs_when_the_next_one_begins() -> None:
    """Samoa had no 30 December 2011."""
    cron = parse_cron("0 9 30 12 *", "Pacific/Apia")
    assert cron_next(cron, datetime(2011, 12, 1, tzinfo=UTC)) == datetime(2011, 12, 30, 10, tzinfo=UTC)


def test_a_leap_day_is_found_however_far() -> None:
    cron = parse_cron("0 0 29 feb *")
    assert cron_next(cron, datetime(2096, 3, 1, tzinfo=UTC)) == datetime(2104, 2, 29, tzinfo=UTC)
    assert days_per_year(cron) == 0.25


def test_monday_is_monday() -> None:
    """APScheduler's from_crontab("0 9 * * 1") fires on Tuesdays; the number is refused here, the name is right."""
    at = cron_next(parse_cron("0 9 * * mon"), datetime(2026, 11, 25, tzinfo=UTC))
    assert at == datetime(2026, 11, 30, 9, tzinfo=UTC)
    assert f"{at:%a}" == "Mon"
    with pytest.raises(CronError, match="different days in different tools"):
        parse_cron("0 9 * * 1")


def test_weekdays_may_wrap_around_the_week_and_names_may_be_written_large() -> None:
    assert parse_cron("0 0 * * FRI-Mon").weekdays == {4, 5, 6, 0}
    assert parse_cron("0 0 1 JAN-mar/2 *").months == {1, 3}
    assert str(parse_cron(" 0  9 * * mon ", "Asia/Kolkata")) == "0 9 * * mon Asia/Kolkata"


@pytest.mark.parametrize("name", ["", "../etc/passwd", "Europe", "Nowhere/Town", "\0"])
def test_what_is_no_time_zone_is_refused(name: str) -> None:
    with pytest.raises(CronError, match="is not a time zone"):
        parse_cron("0 9 * * *", name)
