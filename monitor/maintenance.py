"""Announced work: probes run and are stored, and the runs say so, so that nobody is called. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from monitor.cron import Cron, cron_between


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A window for some endpoints: once from ``start``, or from every time of ``cron``, for ``duration_s`` seconds."""

    endpoints: frozenset[str]
    duration_s: float
    reason: str
    start: datetime | None = None
    cron: Cron | None = None

    def covers(self, since: datetime, until: datetime) -> bool:
        """Whether any of [`since`, `until`] is in the window, whose end is not part of it."""
        lasts = timedelta(seconds=self.duration_s)
        if self.start is not None:
            return self.start <= until and since < self.start + lasts
        return self.cron is not None and bool(cron_between(self.cron, since - lasts, until))


def maintained(
    windows: Iterable[Window], endpoint: str, since: datetime, until: datetime | None = None
) -> str | None:
    """Return the reason of the first window that `endpoint` is in between `since` and `until`; None outside of all."""
    last = since if until is None else until
    hits = (window.reason for window in windows if endpoint in window.endpoints and window.covers(since, last))
    return next(hits, None)
