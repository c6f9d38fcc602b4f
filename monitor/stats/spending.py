"""Repeated tests against one stored baseline.

All looks share the baseline's noise, so p-values must not be multiplied, nor calibrated and multiplied. Spending the
level over the looks is valid under any dependence.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from monitor.stats.checks import Floats, inside, vector

TOTAL = 2.109742801236891974479257197616551
"""Sum over j >= 2 of ``1 / (j ln^2 j)`` (OEIS A115563)."""


def spending_levels(alpha: float, n_looks: int) -> Floats:
    """Level of each of the first `n_looks` looks of an endless series, shape (n_looks,).

    ``alpha / (TOTAL (k + 1) ln^2(k + 1))`` for look k = 1, 2, ...: sums to alpha over all looks for ever and falls
    hardly faster than 1 / k. (The sequence of A. Ramdas et al., SAFFRON, ICML 2018, in its alpha-spending use.)
    """
    if n_looks < 1:
        raise ValueError(f"`n_looks` must be at least 1, not {n_looks}")
    j = np.arange(2, n_looks + 2, dtype=np.float64)
    return np.asarray(inside("alpha", alpha) / (TOTAL * j * np.log(j) ** 2))


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """``alarm`` is the number of the first look (from 1) below its level, None so far; ``level`` the next look's."""

    alarm: int | None
    adjusted_p: float
    level: float
    n_looks: int


def spend(p_values: ArrayLike, *, alpha: float) -> Spent:
    """Judge a series of p-values of looks at one stream.

    Parameters
    ----------
    p_values
        Shape (t,), in (0, 1], in the order of the looks; each valid by itself, in any way dependent.

    Notes
    -----
    Over all looks, for ever, false alarms have probability at most alpha (Boole). ``adjusted_p`` is the smallest alpha
    at which an alarm had been raised by now.
    """
    p = vector("p_values", p_values, low=0, high=1)
    if p.min() == 0:
        raise ValueError("`p_values` must be positive: a Monte-Carlo p-value is (1 + k) / (1 + B), never 0")
    shares = spending_levels(alpha, p.size + 1) / alpha
    below = np.flatnonzero(p <= alpha * shares[:-1])
    return Spent(
        alarm=int(below[0]) + 1 if below.size else None, adjusted_p=min(1.0, float((p / shares[:-1]).min())),
        level=float(alpha * shares[-1]), n_looks=p.size,
    )  # fmt: skip
