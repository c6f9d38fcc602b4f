"""Rates in strata: does a sign come more often now than before, prompt by prompt?"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import hypergeom


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """One stratum: `k` of `n` now, `k_before` of `n_before` earlier."""

    k: int
    n: int
    k_before: int
    n_before: int


def more_often(tables: Sequence[Table]) -> float:
    """Return the p-value of the sign coming no more often now, given the margins of every stratum.

    Notes
    -----
    The exact conditional test of a common odds ratio of 1: within each stratum the count is hypergeometric, and the
    total is their convolution (M. W. Birch, J. R. Statist. Soc. B 26 (1964), 313-324; A. Agresti, Categorical Data
    Analysis, 3rd ed., section 7.3.5). With one stratum it is Fisher's exact test.
    """
    if any(not (0 <= one.k <= one.n and 0 <= one.k_before <= one.n_before) for one in tables):
        raise ValueError("counts must lie between 0 and the number of trials in every table")
    total, mass = 0, np.ones(1)
    for one in tables:
        hits = one.k + one.k_before
        if not hits or not one.n:
            continue
        total += one.k
        counts = np.arange(min(one.n, hits) + 1)
        mass = np.convolve(mass, hypergeom.pmf(counts, one.n + one.n_before, hits, one.n))
    return float(min(1.0, mass[total:].sum()))
