"""Values that say when: any text is a value or a mistake, and what is accepted can be scheduled.

Oracle: nothing but the loader's own kind of error is raised, and slots can be computed from what was accepted.
"""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pydantic_core import PydanticCustomError

from monitor.cadence import Intervals
from monitor.config_times import parse_every, parse_instant
from monitor.cron import cron_next, parse_cron
from monitor.cron_fields import CronError

FIXED = settings(deadline=None, derandomize=True, max_examples=300)
NOW = datetime(2026, 11, 29, tzinfo=UTC)
WORDS = st.lists(st.sampled_from(["1h", "14d", "for", "then", "0.5m", "3650d", "999999999d", "", "1"]), max_size=7)
CRON = st.lists(
    st.sampled_from(["*", "0", "59", "*/5", "1-5", "5-1", "mon", "sun-tue", "feb", "31", "99", "-", "/", "1/2", "*-3"]),
    min_size=4, max_size=6,
)  # fmt: skip


@FIXED
@given(value=st.one_of(st.text(), WORDS.map(" ".join), st.integers(), st.none(), st.booleans(), st.floats()))
@example(value="1h for 14d then 1d")
def test_any_cadence_is_refused_or_can_be_scheduled(value: object) -> None:
    try:
        found = parse_every(value)
    except PydanticCustomError:
        return
    launched = Intervals(stages=found.stages, since=NOW)
    assert launched.following("k", NOW + timedelta(days=40)) is not None
    assert parse_every(found.text()) == found


@FIXED
@given(text=st.one_of(st.text(), CRON.map(" ".join)))
def test_any_cron_is_refused_or_happens(text: str) -> None:
    try:
        found = parse_cron(text, "Europe/Berlin")
    except CronError:
        return
    assert cron_next(found, NOW) > NOW
    assert parse_cron(found.text, found.timezone) == found


@FIXED
@given(value=st.one_of(st.text(), st.dates().map(str), st.datetimes(timezones=st.timezones()).map(str), st.none()))
@example(value="0001-01-01T00:00:00+23:59")
@example(value="9999-12-31T23:59:59-23:59")
@example(value="20261201T0")
def test_any_instant_is_refused_or_is_aware(value: object) -> None:
    try:
        found = parse_instant(value)
    except PydanticCustomError:
        return
    assert found.utcoffset() == timedelta(0)
    assert found + timedelta(days=3650) > found


@pytest.mark.parametrize(
    ("written", "at"),
    [
        ("2026-12-01", datetime(2026, 12, 1, tzinfo=UTC)),
        (" 2026-12-01T02:00:00Z ", datetime(2026, 12, 1, 2, tzinfo=UTC)),
        ("2026-12-01T02:00+01:00", datetime(2026, 12, 1, 1, tzinfo=UTC)),
    ],
)
def test_instants_as_people_write_them(written: str, at: datetime) -> None:
    assert parse_instant(written) == at
