"""What an agent says of itself: where it is, which version, how its clock stands to the store's, what waits."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import combinations

RECENT_S = 150.0
"""An agent signs once a minute: one whose newest sign is older has ended."""
APART_S = 30.0
"""By so much an agent must sign after another began: clocks differ, and one that is started again ends first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSign:
    """One sign of life of an agent.

    ``clock_offset_s`` is how far its clock is ahead of the store's, within ``clock_error_s``; None before the first
    answer of the store. ``waiting`` counts the records in its spool that the store had not confirmed. ``writer`` is the
    name of its spool, which outlives a restart, ``host`` its machine, ``since`` when it began; None of an agent that
    did not say so yet.
    """

    vantage: str
    version: str
    at: datetime
    waiting: int
    clock_offset_s: float | None = None
    clock_error_s: float | None = None
    writer: str | None = None
    host: str | None = None
    since: datetime | None = None


def at_once(signs: Iterable[AgentSign], now: datetime) -> dict[str, tuple[AgentSign, ...]]:
    """Return, by vantage, the agents that run under its name at `now`: by mistake, each has to have its own.

    Which slot has the row of which of them is then chance (`storage.doubles`), and budgets are spent twice.
    """
    places: dict[str, list[AgentSign]] = {}
    for one in signs:
        places.setdefault(one.vantage, []).append(one)
    found = {name: _overlapping(own, now) for name, own in sorted(places.items())}
    return {name: own for name, own in found.items() if own}


def _overlapping(own: Sequence[AgentSign], now: datetime) -> tuple[AgentSign, ...]:
    recent = [one for one in own if now.timestamp() - _true(one, one.at) <= RECENT_S]
    both = {id(one) for pair in combinations(recent, 2) if _overlap(*pair) for one in pair}
    return tuple(one for one in recent if id(one) in both)


def _overlap(one: AgentSign, other: AgentSign) -> bool:
    if one.since is None or other.since is None:
        return False
    if None in {one.clock_offset_s, other.clock_offset_s}:
        if one.host is None or one.host != other.host:
            return False  # nobody knows how their clocks stand to each other
        one, other = replace(one, clock_offset_s=None), replace(other, clock_offset_s=None)  # they have one clock
    first, second = sorted((one, other), key=lambda sign: _true(sign, sign.since or sign.at))
    return _true(first, first.at) - _true(second, second.since or second.at) > APART_S


def _true(sign: AgentSign, at: datetime) -> float:
    """An instant of an agent's clock by the store's, seconds since 1970."""
    return at.timestamp() - (sign.clock_offset_s or 0.0)


def names(agents: Iterable[AgentSign]) -> str:
    """Say which agents they are, such as ``host-a (agent-eu-1f...), host-b (agent-eu-9c...)``."""
    return ", ".join(sorted(f"{one.host or 'unknown machine'} ({one.writer or 'unknown spool'})" for one in agents))
