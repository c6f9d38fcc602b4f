"""How much answers thought, in a unit that all of them share."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from monitor.types import Exchange
from monitor.wire.usage import read_usage

Unit = Literal["tokens", "characters"]


class Thought(NamedTuple):
    """Reasoning at low and at high effort, summed."""

    low: float
    high: float
    unit: Unit


def thought(low: Sequence[Exchange], high: Sequence[Exchange]) -> Thought | None:
    """Return how much `low` and `high` thought; None where that cannot be told or nothing was.

    Tokens where every answer counts its reasoning, else characters. An answer that counts reasoning and does not show
    it cannot be compared with those that do not count.
    """
    sides = [(one, read_usage(one.usage or {}).reasoning) for one in (*low, *high)]
    if all(count is not None for _, count in sides):
        return _told([count or 0 for _, count in sides], len(low), "tokens")
    if any(count and not one.choice.reasoning for one, count in sides):
        return None
    return _told([len(one.choice.reasoning) for one, _ in sides], len(low), "characters")


def _told(sizes: Sequence[float], n_low: int, unit: Unit) -> Thought | None:
    return Thought(sum(sizes[:n_low]), sum(sizes[n_low:]), unit) if any(sizes) else None
