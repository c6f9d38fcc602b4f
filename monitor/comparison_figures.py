"""Numbers of a comparison as people read them: one way to write each, everywhere."""

import re
from datetime import UTC, datetime, timedelta

from monitor.comparison import Estimate, Measure, Place, Rung
from monitor.plurals import plural

DASH = "–"
"""Stands where nothing was measured."""
_LEAST, _NOTHING = 0.001, 1e-9


def amount(value: float, unit: str) -> str:
    """Return a value with its unit: ``97.3%``, ``0.24 nats``, ``570 ms``, ``0.20 USD/M``."""
    if unit == "share":
        return _percent(value)
    number = bare(value, unit)
    return f"{number} {unit}" if unit else number


def bare(value: float, unit: str) -> str:
    """Return a value without its unit."""
    if unit == "share":
        return _percent(value)
    if unit.startswith("USD"):
        return f"{value:.2f}" if value == round(value, 2) else f"{value:.3g}"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.2g}" if unit == "nats" else f"{value:.3g}"


def _percent(share: float) -> str:
    if abs(share) < _NOTHING or share == 1:
        return f"{abs(share):.0%}"
    # Never rounded to what it is not: 99.96% is not 100%.
    if 0 < share < _LEAST:
        return "<0.1%"
    return ">99.9%" if 1 - _LEAST < share < 1 else f"{100 * share:.1f}%"


def interval_text(estimate: Estimate, unit: str) -> str:
    """Return such as ``[0.20, 0.30]``; empty where there is none."""
    if estimate.low is None or estimate.high is None:
        return ""
    return f"[{bare(estimate.low, unit)}, {bare(estimate.high, unit)}]"


def estimate_text(measure: Measure, estimate: Estimate) -> str:
    """Return such as ``0.24 [0.20, 0.30]`` or ``7 of 31: 22.6% [11.4%, 39.8%]``; a dash where not measured."""
    if estimate.value is None:
        return DASH
    counted = f"{estimate.k} of {estimate.n}: " if estimate.k is not None else ""
    ends = interval_text(estimate, measure.unit)
    if not ends and not estimate.exact:
        ends = f"(no interval, {counts_text(estimate)})"
    return f"{counted}{bare(estimate.value, measure.unit)} {ends}".strip()


def counts_text(estimate: Estimate) -> str:
    """Return how many of what a number rests on, such as ``133 tokens`` or ``8 runs``."""
    return plural(estimate.n, estimate.counts) if estimate.counts else f"n {estimate.n:,}"


def usd_text(usd: float) -> str:
    """Return a sum of money without its unit, such as ``0.0201`` or ``12.50``."""
    return bare(usd, "USD")


def ratio_text(value: float, base: float, unit: str) -> str:
    """Return how many times `base` `value` is, such as ``120``: of both as `bare` prints them, to two digits.

    A reader who divides 0.24 by 0.002 must not find another number than the one that stands beside them.
    """
    times = float(f"{printed(value, unit) / printed(base, unit):.2g}")
    return f"{times:,.0f}" if times >= 10 else f"{times:g}"


def change_text(value: float, base: float, unit: str) -> str:
    """Return the change from `base` to `value` in percent, such as ``+67%``, of both as `bare` prints them."""
    return f"{printed(value, unit) / printed(base, unit) - 1:+.0%}"


def printed(value: float, unit: str) -> float:
    """Return the number that a reader of `bare` gets to know; not of shares."""
    return float(bare(value, unit).replace(",", ""))


def place_text(place: Place | None) -> str:
    """Return ``1``, or ``2 to 3 (tied)``; a dash where not measured."""
    if place is None:
        return DASH
    return f"{place.best} to {place.worst} (tied)" if place.is_tied else str(place.best)


def stamp(at: datetime | None) -> str:
    """Return an instant to the minute in UTC."""
    return DASH if at is None else f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def span_text(first: datetime | None, last: datetime | None) -> str:
    """Return such as ``2026-11-30 02:20 to 02:41 UTC``."""
    if first is None or last is None:
        return DASH
    a, b = first.astimezone(UTC), last.astimezone(UTC)
    if a.replace(second=0, microsecond=0) == b.replace(second=0, microsecond=0):
        return stamp(a)
    end = f"{b:%H:%M}" if a.date() == b.date() else f"{b:%Y-%m-%d %H:%M}"
    return f"{a:%Y-%m-%d %H:%M} to {end} UTC"


def age_text(age: timedelta) -> str:
    """Return such as ``6 minutes``, ``3 hours`` or ``2 days``: the largest unit of which it is at least two."""
    seconds = age.total_seconds()
    for unit, size in (("day", 86400), ("hour", 3600), ("minute", 60)):
        if seconds >= 2 * size:
            return plural(int(seconds // size), unit)
    return plural(max(1, int(seconds)), "second")


def rung_text(rung: Rung) -> str:
    """Return such as ``Q4_0 (0.26)``."""
    return f"{rung.name} ({rung.value:.2g})"


# Controls but newlines, marks that turn or hide text, separators of lines, private and unpaired code points.
_UNSEEN = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\xad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164"
    "\ud800-\uf8ff\ufe00-\ufe0f\ufeff\ufff0-\uffff\U000e0000-\U0010ffff]"
)


def visible(text: str) -> str:
    """Return `text` with everything that cannot be seen, or moves what can, written as an escape; newlines stay."""
    return _UNSEEN.sub(_escape, text)


def one_line(text: str) -> str:
    """Return `text` as `visible` does, in one line."""
    return visible(text).replace("\n", "\\n")


def _escape(found: re.Match[str]) -> str:
    code = ord(found.group())
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
