"""Oracles: CommonMark's own words on escapes (2.4), and hand-written expectations."""

import re
from datetime import UTC, datetime, timedelta

import pytest

from dashboard.words import (
    DASH,
    MARKS,
    ago,
    detector_label,
    interval,
    metric_label,
    number,
    plain,
    quantity,
    rate,
    span,
    stamp,
)
from tests.dashboard.scenes import NOW

JOINER = "\N{WORD JOINER}"


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (None, DASH), (0.0, "0"), (0.00412, "0.00412"), (0.3124, "0.312"), (43.21, "43.2"), (240.0, "240"),
        (1234.5, "1,234"), (1.2e5, "120,000"), (3.2e7, "3.20e+07"), (0.00001, "1.00e-05"), (-0.5, "-0.5"),
    ],
)  # fmt: skip
def test_a_number_keeps_three_digits_and_absence_is_never_zero(value: float | None, written: str) -> None:
    assert number(value) == written


def test_a_share_is_written_in_percent_and_so_is_its_interval() -> None:
    assert quantity(0.98, "share") == "98 %"
    assert interval(0.93, 0.995, "share") == "[93, 99.5]"
    assert quantity(0.98, "nats") == "0.98 nats"
    assert quantity(None, "nats") == DASH
    assert interval(None, 1.0, "nats") is None


def test_a_rate_of_nothing_is_not_zero_percent() -> None:
    assert rate(0, 0) == DASH
    assert rate(0, 5) == "0 %"
    assert rate(1.11e-16, 1) == "0 %"  # what rounding left of nothing
    assert rate(1e-5, 1) == "0.001 %"
    assert interval(2.17e-29, 0.0, "share") == "[0, 0]"
    assert rate(98, 100) == "98 %"


@pytest.mark.parametrize(
    ("age", "said"),
    [
        (timedelta(0), "just now"), (timedelta(seconds=-5), "just now"), (timedelta(seconds=42), "42 s ago"),
        (timedelta(seconds=60), "1 min ago"), (timedelta(minutes=119), "1 h ago"), (timedelta(days=3), "3 d ago"),
    ],
)  # fmt: skip
def test_ages_use_the_largest_unit_that_fits(age: timedelta, said: str) -> None:
    assert ago(NOW - age, NOW) == said


def test_an_endpoint_that_never_ran_says_never() -> None:
    assert ago(None, NOW) == "never"


def test_stamps_are_utc_whatever_the_zone_of_the_value() -> None:
    assert stamp(datetime.fromisoformat("2026-11-29T21:00:00+09:00")) == "2026-11-29 12:00:00"
    assert stamp(None) == DASH


@pytest.mark.parametrize("mark", list("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"))
def test_every_punctuation_mark_that_could_be_markup_is_escaped(mark: str) -> None:
    assert plain(f"a{mark}b").replace(JOINER, "") == f"a\\{mark}b"


@pytest.mark.parametrize("address", ["http://a.test/x", "HTTPS://a.test", "www.a.test", "x@a.test"])
def test_addresses_are_taken_apart_since_bare_ones_become_links(address: str) -> None:
    shown = plain(address).replace("\\", "")
    assert shown.replace(JOINER, "") == address
    assert not re.search(r"https?://|www\.|@[-\w]", shown, re.IGNORECASE)  # what GFM's extended autolinks look for


def test_line_breaks_cannot_start_a_block() -> None:
    assert plain("a\n\n# b\r\nc\u2028d") == "a \\# b c d"
    assert plain("n\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}5") == "n\N{NO-BREAK SPACE}\\=\N{NO-BREAK SPACE}5"


def test_every_status_has_its_own_symbol_beside_the_colour() -> None:
    assert len({mark.symbol for mark in MARKS.values()}) == len(MARKS) == 4


def test_unknown_detectors_and_metrics_are_called_by_their_own_name() -> None:
    assert detector_label("new_thing").title == "New thing"
    assert metric_label("lag_ms").title == "Lag ms"
    assert "\\_" in detector_label("new_thing").definition


def test_a_span_within_one_second_is_one_instant() -> None:
    first = datetime(2026, 11, 30, 13, 10, 52, tzinfo=UTC)
    assert span(first, first + timedelta(milliseconds=3)) == "2026-11-30 13:10:52 UTC"
    assert span(first, first + timedelta(hours=1)) == "2026-11-30 13:10:52 to 2026-11-30 14:10:52 UTC"
