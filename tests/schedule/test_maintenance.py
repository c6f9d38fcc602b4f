"""Maintenance windows. Oracle: a minute-by-minute look at a calendar written by hand."""

from datetime import UTC, datetime, timedelta

import pytest

from monitor.config import load
from monitor.cron import parse_cron
from monitor.maintenance import Window, maintained
from tests.config.catalogue import CATALOGUES

TEXT = """
endpoints:
  - {name: acme/x, base_url: http://h, model: m}
  - {name: acme/y, base_url: http://h, model: m}
  - {name: other/z, base_url: http://h, model: m}
maintenance:
  - {providers: [acme], start: 2026-12-01T02:00:00Z, duration: 2h, reason: upgrade}
  - {endpoints: [other/*], cron: "0 3 * * sun", timezone: Europe/Berlin, duration: 1h}
  - {start: 2026-12-24, duration: 1d, reason: freeze}
"""
WINDOWS = load(TEXT, {}, CATALOGUES).maintenance


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("endpoint", "when", "reason"),
    [
        ("acme/x", "2026-12-01T01:59:59", None),
        ("acme/x", "2026-12-01T02:00:00", "upgrade"),
        ("acme/y", "2026-12-01T03:59:59", "upgrade"),
        ("acme/y", "2026-12-01T04:00:00", None),
        ("other/z", "2026-12-01T02:30:00", None),
        ("other/z", "2026-12-06T02:00:00", "maintenance"),  # 03:00 in Berlin's winter
        ("other/z", "2026-12-06T03:00:00", None),
        ("other/z", "2026-07-05T01:30:00", "maintenance"),  # and in its summer
        ("acme/x", "2026-12-06T02:00:00", None),
        ("other/z", "2026-12-24T23:59:59", "freeze"),
        ("acme/x", "2026-12-25T00:00:00", None),
    ],
)
def test_windows_of_the_file(endpoint: str, when: str, reason: str | None) -> None:
    assert maintained(WINDOWS, endpoint, at(when)) == reason


def test_a_run_that_begins_before_and_ends_inside_is_in_it_and_so_is_one_around_it() -> None:
    assert maintained(WINDOWS, "acme/x", at("2026-12-01T01:00:00"), at("2026-12-01T02:00:01")) == "upgrade"
    assert maintained(WINDOWS, "acme/x", at("2026-12-01T01:00:00"), at("2026-12-01T09:00:00")) == "upgrade"
    assert maintained(WINDOWS, "other/z", at("2026-12-06T01:00:00"), at("2026-12-06T09:00:00")) == "maintenance"


def test_a_window_again_and_again_covers_what_the_same_windows_once_cover() -> None:
    again = Window(endpoints=frozenset("a"), duration_s=5400, reason="r", cron=parse_cron("0 */6 * * *"))
    start = at("2026-12-01T00:00:00")
    once = [
        Window(endpoints=frozenset("a"), duration_s=5400, reason="r", start=start + timedelta(hours=6 * k))
        for k in range(-1, 5)
    ]
    for minute in range(0, 24 * 60, 10):
        now = start + timedelta(minutes=minute)
        assert maintained([again], "a", now) == maintained(once, "a", now)
