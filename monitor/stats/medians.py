"""Medians with an interval that asks nothing of the distribution."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from statistics import median

FEWEST = 6
"""Values from which a 95% interval exists: with n of them, smallest and largest miss the median with 2 / 2^n."""


@dataclass(frozen=True, slots=True)
class Median:
    """A median of n values; ``low`` and ``high`` are None with too few of them for an interval."""

    value: float
    low: float | None
    high: float | None
    n: int


def median_of(values: Sequence[float], *, confidence: float = 0.95) -> Median:
    """Median of independent `values` with the shortest symmetric pair of order statistics that has the confidence.

    Notes
    -----
    The number of values below the true median is binomial(n, 1/2), so the d-th smallest and the d-th largest value
    enclose it with probability 1 - 2 P(X < d) at least. H. A. David, H. N. Nagaraja, *Order Statistics*, 3rd ed., 7.1.
    """
    if not values:
        raise ValueError("`values` must not be empty")
    ordered, n = sorted(values), len(values)
    d = _enclosing(n, Fraction(1 - confidence) / 2)
    if d == 0:
        return Median(median(ordered), None, None, n)
    return Median(median(ordered), ordered[d - 1], ordered[n - d], n)


@cache
def _enclosing(n: int, tail: Fraction) -> int:
    """The largest d with P(X < d) <= `tail` for X binomial(n, 1/2), exactly; 0 where there is none."""
    most, ways, total, d = tail * 2**n, 1, 1, 0
    while total <= most:
        d += 1
        ways = ways * (n - d + 1) // d
        total += ways
    return d
