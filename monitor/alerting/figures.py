"""Figures with intervals that a rule compares with its limit."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.stats import binom

from monitor.stats.rates import wilson

CONFIDENCE = 0.95
"""Two-sided; a limit is passed surely when the near end of the interval is beyond it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A value with its interval, None where so few values bound nothing on that side."""

    value: float
    low: float | None
    high: float | None
    n: int

    def beyond(self, *, above: float | None = None, below: float | None = None) -> bool | None:
        """Whether it is beyond the limit: True when it surely is, False when it is not, None in between."""
        if above is not None:
            surely, maybe = self.low is not None and self.low > above, self.value > above
        elif below is not None:
            surely, maybe = self.high is not None and self.high < below, self.value < below
        else:
            raise ValueError("one of `above` and `below` is needed")
        return True if surely else None if maybe else False


def quantile(values: Sequence[float], q: float) -> Figure:
    """Quantile `q` of `values` with a distribution-free interval.

    Notes
    -----
    The number of values below the true quantile is binomial, so order statistics bound it: H. A. David and H. N.
    Nagaraja, Order Statistics (2003), section 7.1.
    """
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    n = len(ordered)
    low, high = _ranks(n, q)
    return Figure(
        value=float(np.quantile(ordered, q)), n=n,
        low=float(ordered[low - 1]) if low >= 1 else None, high=float(ordered[high - 1]) if high <= n else None,
    )  # fmt: skip


@cache
def _ranks(n: int, q: float) -> tuple[int, int]:
    """Ranks, from 1, of the order statistics that bound quantile `q`; 0 or n + 1 where none does."""
    tail = (1 - CONFIDENCE) / 2
    return int(binom.ppf(tail, n, q)), int(binom.ppf(1 - tail, n, q)) + 1


def share(good: int, n: int) -> Figure:
    """A rate with its Wilson interval; `n` is at least 1."""
    rate = wilson(good, n, confidence=CONFIDENCE)
    return Figure(value=good / n, low=rate.low, high=rate.high, n=n)


def scaled(figure: Figure, by: float) -> Figure:
    """The figure as a multiple of `by`."""
    low, high = (None if end is None else end / by for end in (figure.low, figure.high))
    return Figure(value=figure.value / by, low=low, high=high, n=figure.n)


def written(figure: Figure, unit: str) -> str:
    """The figure in words: value, interval, sample size."""
    ends = [f"{end:.3g}" if end is not None else "?" for end in (figure.low, figure.high)]
    return f"{figure.value:.3g} {unit} [{ends[0]}, {ends[1]}], n={figure.n}"
