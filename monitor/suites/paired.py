"""Is the endpoint worse than golden (or than it was), case by case?

Cases are the clusters: answers to one case are not independent. All numbers are of shares of right answers, -1 to 1.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import beta, norm

from monitor.ports import Floats
from monitor.stats.clustered import clustered_mean
from monitor.stats.confseq import mean_sequence
from monitor.stats.martingale import score_process
from monitor.stats.montecarlo import monte_carlo_p
from monitor.suites.tally import Pair

DRAWS = 9999
POWER = 0.8
_STEPS = 30
_FEW = 10
"""Cases that differ, below which the interval of Agresti and Min holds less often than it says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A mean difference with its interval.

    ``p_worse`` is the chance of a difference as low as this when both sides are alike (None where pairs are not to be
    had), ``mde`` the smallest loss that would be found with power 0.8 (1: none). ``better`` and ``worse`` count cases.
    ``resampled`` is the interval of `bootstrapped`, where some cases were answered several times. ``most_lost`` is an
    exact upper bound (97.5%) on the share of cases that are lost, where few differ: there the interval is too narrow to
    rule a loss out. None where enough differ, or pairs are not to be had.
    """

    value: float
    low: float
    high: float
    p_worse: float | None
    mde: float
    n: int
    better: int
    worse: int
    resampled: tuple[float, float] | None = None
    most_lost: float | None = None


def paired(some: Sequence[Pair], *, rng: np.random.Generator, alpha: float, confidence: float = 0.95) -> Difference:
    """Return the mean difference over cases, at least one.

    Notes
    -----
    The interval is that of A. Agresti and Y. Min, Statist. Med. 24 (2005), 729-740, which adds half a case to each cell
    of the table of pairs and so does not shrink to nothing when no case differs; with several answers a case, and
    weights, the same is done with the differences of cases. The p-value flips the signs of differences: with one
    answer a case it is the conditional test of Q. McNemar, Psychometrika 12 (1947), 153-157, by Monte Carlo.
    """
    differences, weights = _columns(some)
    worse, better = int((differences < 0).sum()), int((differences > 0).sum())
    value = float(weights @ differences / weights.sum())
    centre, error = _smoothed(differences, weights)
    half = float(norm.ppf(0.5 + confidence / 2)) * error
    # So few cases cannot be certain by flipped signs: of n cases that are all lost, p is 1 in 2^n.
    mde = 1.0 if 0.5 ** len(some) > alpha else detectable(error, len(some), alpha)
    return Difference(
        value=value, low=max(-1.0, min(value, centre - half)), high=min(1.0, max(value, centre + half)),
        p_worse=_flipped(differences * weights, rng), mde=mde, n=len(some), better=better, worse=worse,
        most_lost=_most(worse, len(some)) if worse + better < _FEW else None,
    )  # fmt: skip


def _most(k: int, n: int) -> float:
    """Upper bound of C. J. Clopper and E. S. Pearson, Biometrika 26 (1934), 404-413, at 97.5%."""
    return 1.0 if k >= n else float(beta.ppf(0.975, k + 1, n - k))


def bootstrapped(
    some: Sequence[Pair], *, rng: np.random.Generator, confidence: float = 0.95
) -> tuple[float, float] | None:
    """Return the interval of the paired bootstrap by prompt; None where no case has several answers, or all alike.

    Whole cases are drawn, with all their answers, on both sides at once. It knows skewed differences, and shrinks to
    nothing where no case differs: there the interval of `paired` alone says something.
    """
    differences, weights = _columns(some)
    if all(one.n == 1 and one.other_n == 1 for one in some) or not np.ptp(differences):
        return None
    found = clustered_mean(
        differences.tolist(), [one.case for one in some], rng=rng, confidence=confidence, weights=weights.tolist()
    )
    return None if found.low is None or found.high is None else (found.low, found.high)


def unpaired(
    some: Sequence[Pair], before: Sequence[Pair], *, alpha: float, confidence: float = 0.95
) -> Difference:
    """Return by how much the difference from golden has changed, where the two runs had other cases (fresh instances).

    Both are differences from golden, so that a run of harder instances is not taken for a loss.
    """
    (now, error), (then, other) = (_smoothed(*_columns(each)) for each in (some, before))
    value, both = now - then, math.hypot(error, other)
    half = float(norm.ppf(0.5 + confidence / 2)) * both
    return Difference(
        value=value, low=max(-2.0, value - half), high=min(2.0, value + half), p_worse=float(norm.cdf(value / both)),
        mde=detectable(both, min(len(some), len(before)), alpha), n=len(some) + len(before), better=0, worse=0,
    )  # fmt: skip


def evidence(some: Sequence[Pair], *, tolerance: float) -> float:
    """Log e-value, nats, that the endpoint loses more than `tolerance`; cases in the order of asking.

    It may be looked at after every case: it exceeds ``ln(1 / alpha)`` at any time with a chance of at most alpha.
    """
    losses = -np.array([one.difference for one in some])
    return score_process(losses - tolerance, 1 + tolerance).final


def sequence(some: Sequence[Pair], *, confidence: float = 0.95) -> tuple[float, float]:
    """Return an interval for the mean difference that holds at every look at once."""
    found = mean_sequence([one.difference for one in some], low=-1, high=1, confidence=confidence)
    return float(found.low[-1]), float(found.high[-1])


def detectable(error: float, n: int, alpha: float) -> float:
    """Return the smallest loss found at level `alpha` with power 0.8, from the standard error of the difference.

    A loss of d makes at least that share of the `n` cases differ more, which adds at most ``d (1 - d) / n`` to the
    variance.
    """
    level, power = float(norm.ppf(1 - alpha)), float(norm.ppf(POWER))
    loss = min(1.0, (level + power) * error)
    for _ in range(_STEPS):
        loss = min(1.0, level * error + power * math.sqrt(error**2 + loss * (1 - loss) / n))
    return loss


def _columns(some: Sequence[Pair]) -> tuple[Floats, Floats]:
    if not some:
        raise ValueError("no pair: compare at least one case")
    return np.array([one.difference for one in some]), np.array([one.weight for one in some])


def _smoothed(differences: Floats, weights: Floats) -> tuple[float, float]:
    """Mean and its standard error with two more cases, of which half a one is better and half a one is worse."""
    extra = float(weights.mean())
    total = float(weights.sum()) + 2 * extra
    centre = float(weights @ differences) / total
    squares = float((weights**2) @ differences**2) + extra**2
    spread = squares - centre**2 * (float((weights**2).sum()) + 2 * extra**2)
    return centre, math.sqrt(max(spread, 0.0)) / total


def _flipped(signed: Floats, rng: np.random.Generator) -> float:
    kept = signed[signed != 0]
    if not kept.size:
        return 1.0
    signs = rng.integers(0, 2, (DRAWS, kept.size)) * 2 - 1
    return monte_carlo_p(int((signs @ kept <= kept.sum() + 1e-9).sum()), DRAWS)
