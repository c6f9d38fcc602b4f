"""Ranks of an endpoint's answers among golden answers, and whether they look as if drawn together.

One answer per prompt suffices: if the endpoint samples from the same distribution as golden, its rank among m golden
answers to the same prompt is uniform on the m + 1 places.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import erfc
from scipy.stats import cramervonmises

from monitor.stats.checks import Floats, vector
from monitor.stats.eprocess import SMALLEST_P

TRUSTED_P = 1e-6
"""Below this, the p-value is a difference of nearly equal numbers and the analytic tail takes over."""


def randomised_ranks(observed: ArrayLike, golden: ArrayLike, *, rng: np.random.Generator) -> Floats:
    """Rank of each score among the golden scores of its prompt, scaled to (0, 1].

    Parameters
    ----------
    observed
        Shape (n,): one score per prompt, for instance the mean surprisal of the endpoint's answer.
    golden
        Shape (n, m): scores of m golden answers to the same prompts. Fresh ones per test: ranks against one stored
        set are dependent between looks.

    Notes
    -----
    ``(#less + U (1 + #ties)) / (m + 1)``: the observed score takes one of m + 1 equally likely places, ties in random
    order, so the value is exactly uniform under H0 for every m. Without the + 1 (as published for rank-based uniformity
    tests of API audits, arXiv 2506.06975) false alarms at 5% reach 94% at m = 5 and n = 100.
    """
    values, others = vector("observed", observed), np.asarray(golden, dtype=np.float64)
    if others.ndim != 2 or others.shape[0] != values.size or others.shape[1] == 0 or not np.isfinite(others).all():
        raise ValueError(f"`golden` must be finite, one row per observed score: {others.shape} for {values.size}")
    less = (others < values[:, np.newaxis]).sum(axis=1)
    ties = (others == values[:, np.newaxis]).sum(axis=1)
    # 1 - random() lies in (0, 1]: a rank of exactly 0 would be infinitely surprising to a bet.
    return np.asarray((less + (1 - rng.random(values.size)) * (1 + ties)) / (others.shape[1] + 1))


def discrete_pit(below: ArrayLike, mass: ArrayLike, *, rng: np.random.Generator) -> Floats:
    """``below + U mass``: exactly uniform when the token was drawn from the golden distribution.

    Parameters
    ----------
    below
        Shape (n,): golden probability of all tokens ordered before the one returned. Ordered from the most likely
        down, values crowd near 0 when the sampler is sharper than declared, and near 1 when it is flatter.
    mass
        Shape (n,): golden probability of the returned token, given everything before it.

    Notes
    -----
    M. Rosenblatt, Ann. Math. Statist. 23 (1952), 470-472; randomised for discrete distributions. The values are
    independent although the tokens are not, because each is conditional on its own past.
    """
    before, own = vector("below", below, low=0, high=1), vector("mass", mass, low=0, high=1)
    if before.shape != own.shape or (before + own > 1 + 1e-6).any():
        raise ValueError("`below` and `mass` must be equally long with a sum of at most 1 in every pair")
    return np.asarray(np.minimum(before + (1 - rng.random(own.size)) * own, 1.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Uniformity:
    """Cramer-von Mises test: ``statistic`` W^2 (1/6 expected under H0), ``mean`` of the values (0.5 expected)."""

    statistic: float
    p_value: float
    mean: float
    n: int


def uniformity(values: ArrayLike) -> Uniformity:
    """Test that independent values are uniform on [0, 1].

    Notes
    -----
    H0: independent and uniform. Null distribution with the finite-n terms of S. Csorgo and J. Faraway, JRSS B 58
    (1996), 221-234 (scipy). Far out: V. M. Zolotarev, Theory Probab. Appl. 6 (1961), 201-204, applied to the
    eigenvalues ``1 / (pi k)^2``: ``P(W^2 > x) ~ sqrt(2) erfc(pi sqrt(x / 2))``. One fixed test, not for repeated looks:
    for those see `monitor.stats.martingale.pit_process`. Cost O(n log n).
    """
    data: NDArray[np.float64] = vector("values", values, low=0, high=1)
    if data.size < 2:
        raise ValueError("`values` must hold at least two numbers: one rank says nothing about a distribution")
    found = cramervonmises(data, "uniform")
    statistic, p_value = float(found.statistic), float(found.pvalue)
    if p_value < TRUSTED_P:
        p_value = max(float(np.sqrt(2) * erfc(np.pi * np.sqrt(statistic / 2))), SMALLEST_P)
    return Uniformity(statistic=statistic, p_value=min(p_value, 1.0), mean=float(data.mean()), n=data.size)
