"""Leaving an endpoint alone that asked for it: after 429 for as long as it said, after an empty account for an hour.

Pure. The wait in every form is decoded by `monitor.wire.retry_after` (case TR-03), which takes at most two minutes at
once from an endpoint, a day from one whose account is empty; where a 429 asked for more, or did not say, the wait
doubles up to an hour with every run in which nothing was answered.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from monitor.types import Exchange

LEAST_S = 60.0
"""First wait after a 429 that did not say how long."""
MOST_S = 3600.0
"""Longest wait of our own choice, and that after an exhausted quota which does not say when it is reset."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """Until when an endpoint is left alone.

    ``n`` runs in a row were refused altogether; ``since`` is when the last one ended.
    """

    since: datetime
    until: datetime
    why: str
    n: int = 1

    def holds(self, now: datetime) -> bool:
        """Whether the wait is on. A clock that was set back ends it: nobody waits for a year."""
        return self.since <= now < self.until


def wait_after(exchanges: Sequence[Exchange], ended_at: datetime, before: Wait | None) -> Wait | None:
    """Return how long to leave the endpoint alone after a run; None when the run was not refused.

    Parameters
    ----------
    exchanges
        Of the run.
    ended_at
        When the run ended: waits count from there.
    before
        The wait after the run before.
    """
    refused = [one for one in exchanges if one.outcome in {"rate_limited", "quota_exhausted"}]
    if not refused:
        return None
    shut_out = not any(one.answered for one in exchanges)
    n = before.n + 1 if before is not None and shut_out else 1
    wait_s = max(_wait_s(one, n) for one in refused)
    empty = any(one.outcome == "quota_exhausted" for one in refused)
    status = "the quota is exhausted" if empty else "the endpoint answered 429"
    said = "" if any(_said(one) for one in refused) else ", without saying for how long"
    return Wait(since=ended_at, until=ended_at + timedelta(seconds=wait_s), why=f"{status}{said}", n=n)


def reason(wait: Wait) -> str:
    """Return why a slot inside the wait is skipped."""
    return f"backing off: {wait.why} at {wait.since:%Y-%m-%dT%H:%M:%SZ}; next try after {wait.until:%Y-%m-%dT%H:%M:%SZ}"


def _said(exchange: Exchange) -> bool:
    believed = exchange.outcome == "quota_exhausted" or "long_wait" not in exchange.flags
    return exchange.retry_after_s is not None and believed


def _wait_s(exchange: Exchange, n: int) -> float:
    if exchange.retry_after_s is not None and _said(exchange):
        return exchange.retry_after_s
    if exchange.outcome == "quota_exhausted":
        return MOST_S
    return min(max(LEAST_S * 2.0 ** min(n - 1, 10), exchange.retry_after_s or 0.0), MOST_S)
