"""Signals and policies with sensible defaults for tests of alerting."""

from datetime import UTC, datetime, timedelta
from typing import Any

from monitor.alerting.nouns import Count, Counting, Policy, Signal

START = datetime(2026, 11, 2, tzinfo=UTC)


def minutes(n: float) -> datetime:
    return START + timedelta(minutes=n)


def signal(at: float, bad: bool | None, **changes: Any) -> Signal:
    """A signal of the rule ``slow`` on ``acme/a``, `at` minutes after the start."""
    fields: dict[str, Any] = {
        "rule": "slow", "subject": "acme/a", "provider": "acme", "at": minutes(at), "key": f"k{at}", "bad": bad,
        "topic": "speed", "cause": "slower_start", "reason": f"because {at}", "value": 2.0, "unit": "ms", "n": 20,
    }  # fmt: skip
    return Signal(**{**fields, **changes})


def counting(fire: tuple[int, int] = (1, 1), resolve: tuple[int, int] = (1, 1)) -> Counting:
    return Counting(fire=Count(n=fire[0], m=fire[1]), resolve=Count(n=resolve[0], m=resolve[1]))


def policy(**changes: Any) -> Policy:
    """One signal fires and one resolves, nobody waits for a group."""
    names = ("slow", "slow2", "lies", "provider-down", "agent-offline")
    fields: dict[str, Any] = {
        "counting": dict.fromkeys(names, counting()), "group_wait": timedelta(0), "remind": timedelta(hours=4),
    }  # fmt: skip
    return Policy(**{**fields, **changes})
