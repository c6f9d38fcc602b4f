"""A bound for the tail of a sum over some of a list, when which ones is left to chance."""

from collections.abc import Sequence

import numpy as np

from monitor.stats.checks import Floats

_TILTS = np.geomspace(0.5, 50, 24)
"""Multiples of the tilt that a normal sum would want, 22% apart: skewed sums want others. The bound holds at each."""

_FAR = 12.0
"""Standard deviations from which on the tilt grows no more, so that nothing overflows: the bound is 1e-30 there."""


def without_replacement(strata: Sequence[tuple[Floats, int]]) -> float:
    """Return an upper bound of the two-sided p-value of the sum of the first so many scores of every stratum.

    Parameters
    ----------
    strata
        Scores of all members of a stratum, and how many of them, the first, make the sample.

    Returns
    -------
    float
        At least the probability, over all ways to choose as many members of each stratum, that the sum is as far on
        the observed side of its mean, twice; never more than 1.

    Notes
    -----
    P(S >= s) <= min over t of E exp(t S) / exp(t s) (H. Chernoff, Ann. Math. Statist. 23 (1952), 493-507). The
    expectation over samples without replacement is exact: a mean of products over all subsets, built up member by
    member. It is the exact tail where the sample is the most extreme of all, else 3 to 8 times that.
    """
    centred = [(scores - scores.mean(), n) for scores, n in strata if scores.size]
    observed = sum(float(scores[:n].sum()) for scores, n in centred)
    variance = sum(_variance(scores, n) for scores, n in centred)
    if variance <= 0:
        return 1.0
    side, away = (1.0 if observed >= 0 else -1.0), abs(observed) / variance**0.5
    tilts = _TILTS * min(max(away, 1.0), _FAR) / variance**0.5
    with np.errstate(over="ignore", invalid="ignore"):
        log_mean = sum((_log_mean(side * scores, n, tilts) for scores, n in centred), start=np.zeros_like(tilts))
        bounds = log_mean - tilts * abs(observed)
    return float(min(1.0, 2 * np.exp(bounds[np.isfinite(bounds)].min(initial=0.0))))


def _variance(scores: Floats, n: int) -> float:
    """Variance of the sum of `n` of the centred `scores`."""
    return float(n * (scores.size - n) / max(scores.size - 1, 1) * (scores**2).mean())


def _log_mean(scores: Floats, n: int, tilts: Floats) -> Floats:
    """Log of the mean of exp(tilt x sum) over all subsets of `n` of the centred `scores`; not finite on overflow."""
    total = scores.size
    if 2 * n > total:  # what is left out has the opposite sum
        scores, n = -scores, total - n
    if n == 0:
        return np.zeros_like(tilts)
    factors = np.exp(np.outer(scores, tilts))
    if n == 1:
        return np.asarray(np.log(factors.mean(axis=0)))
    means = np.zeros((n + 1, tilts.size))
    means[0] = 1.0
    for at, factor in enumerate(factors, 1):
        # of all subsets of size j of the first `at` members, a share j / at holds the newest; only sizes from which
        # n can still be reached are kept
        low, high = max(1, n - (total - at)), min(n, at)
        share = np.arange(low, high + 1)[:, None] / at
        means[low : high + 1] = (1 - share) * means[low : high + 1] + share * factor * means[low - 1 : high]
    return np.asarray(np.log(means[n]))
