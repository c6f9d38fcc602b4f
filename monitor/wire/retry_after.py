"""``Retry-After`` in every form that is in use (RFC 9110 section 10.2.3, and beyond it)."""

import re
from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

CAP_S = 120.0
"""No longer wait is taken from an endpoint,"""

QUOTA_CAP_S = 86400.0
"""except for an empty account: those are filled again by the day."""

_SECONDS = re.compile(r"[0-9]+(\.[0-9]+)?")


def retry_after_s(
    header: Callable[[str], str | None], now: datetime | None, *, cap_s: float = CAP_S
) -> tuple[float | None, bool]:
    """Return the wait that a response asks for, in seconds, at most `cap_s`, and whether it was longer than that.

    `header` returns the value of a header by name. Accepts whole and decimal seconds and HTTP dates, and
    ``retry-after-ms``. A date is relative to `now`, else to the response's own ``Date``. A past date means 0;
    negative numbers, words and dates without a "now" mean None.
    """
    wait = _seconds(header("retry-after-ms"), 1e-3)
    value = header("retry-after")
    if wait is None:
        wait = _seconds(value, 1.0)
    if wait is None and value is not None:
        wait = _until(value, now or _date(header("date") or ""))
    if wait is None:
        return None, False
    return min(wait, cap_s), wait > cap_s


def _seconds(value: str | None, unit: float) -> float | None:
    text = (value or "").strip()
    return float(text) * unit if _SECONDS.fullmatch(text) else None


def _until(value: str, now: datetime | None) -> float | None:
    then = _date(value)
    return None if then is None or now is None else max((then - now).total_seconds(), 0.0)


def _date(value: str) -> datetime | None:
    try:
        then = parsedate_to_datetime(value.strip())
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return then if then.tzinfo is not None else then.replace(tzinfo=UTC)
