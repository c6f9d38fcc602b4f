"""Is the endpoint worse than golden (or than it was), case by case?

Cases are the clusters: answers to one case are not independent. All numbers are of shares of right answers, -1 to 1.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import beta, binom, norm

from monitor.ports import Floats
from monitor.stats.clustered import clustered_mean
from monitor.stats.confseq import mean_sequence
from monitor.stats.martingale import score_process
from monitor.stats.montecarlo import monte_carlo_p
from monitor.suites.detectable import Rule, normal_loss, smallest_loss
from monitor.suites.tally import Pair

DRAWS = 9999
_FEW = 10
"""Cases that differ, below which the interval of Agresti and Min holds less often than it says."""
_ENUMERABLE = 13
"""Cases that differ by unequal shares, up to which all 2^n signs are tried; beyond, signs are drawn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A mean difference with its interval.

    ``p_worse`` is the chance, one-sided, of a difference as low as this when both sides are alike (None where a run
    may stop at any case), ``mde`` the smallest loss that would be found with power 0.8 (None where not even one of all
    would, and in such a run, whose smallest loss hangs on where it stops). ``better`` and ``worse`` count cases.
    ``resampled`` is the interval of `bootstrapped`, where some cases were answered several times. ``most_lost`` is an
    exact upper bound (97.5%) on the share of cases that are lost, where few differ: there the interval is too narrow to
    rule a loss out. None where enough differ, or pairs are not to be had.
    """

    value: float
    low: float
    high: float
    p_worse: float | None
    mde: float | None
    n: int
    better: int
    worse: int
    resampled: tuple[float, float] | None = None
    most_lost: float | None = None


def paired(some: Sequence[Pair], *, rng: np.random.Generator, rule: Rule) -> Difference:
    """Return the mean difference over cases, at least one.

    Notes
    -----
    The interval is that of A. Agresti and Y. Min, Statist. Med. 24 (2005), 729-740, which adds half a case to each cell
    of the table of pairs and so does not shrink to nothing when no case differs; with several answers a case, and
    weights, the same is done with the differences of cases. The p-value flips the signs of differences, one-sided:
    with one answer a case it is the exact test of Q. McNemar, Psychometrika 12 (1947), 153-157. Only where many cases
    differ by unequal shares it is drawn.
    """
    differences, weights = _columns(some)
    worse, better = int((differences < 0).sum()), int((differences > 0).sum())
    value = float(weights @ differences / weights.sum())
    centre, error = _smoothed(differences, weights)
    half = float(norm.ppf(0.5 + rule.confidence / 2)) * error
    return Difference(
        value=value, low=max(-1.0, min(value, centre - half)), high=min(1.0, max(value, centre + half)),
        p_worse=_flipped(differences * weights, rng), mde=_smallest(some, rule), n=len(some), better=better,
        worse=worse, most_lost=_most(worse, len(some)) if worse + better < _FEW else None,
    )  # fmt: skip


def _smallest(some: Sequence[Pair], rule: Rule) -> float | None:
    """By effective cases: L. Kish's number for weights, and as many gains of one answer as vary like those seen."""
    differences, weights = _columns(some)
    size = float(weights.sum() ** 2 / (weights @ weights))
    other = np.array([one.other_k / one.other_n for one in some])
    gained = float((weights**2) @ np.maximum(differences, 0) ** 2 / (weights @ weights))
    return smallest_loss(size, size * float(weights @ other / weights.sum()), size * gained, rule)


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


def unpaired(some: Sequence[Pair], before: Sequence[Pair], *, rule: Rule) -> Difference:
    """Return by how much the difference from golden has changed, where the two runs had other cases (fresh instances).

    Both are differences from golden, so that a run of harder instances is not taken for a loss.
    """
    (now, error), (then, other) = (_smoothed(*_columns(each)) for each in (some, before))
    value, both = now - then, math.hypot(error, other)
    half = float(norm.ppf(0.5 + rule.confidence / 2)) * both
    return Difference(
        value=value, low=max(-2.0, value - half), high=min(2.0, value + half), p_worse=float(norm.cdf(value / both)),
        mde=normal_loss(both, len(some), rule), n=len(some) + len(before), better=0, worse=0,
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
    kept = kept / np.abs(kept).max()  # weights may be of any size
    if np.ptp(np.abs(kept)) <= 1e-9:
        return float(binom.sf((kept < 0).sum() - 1, kept.size, 0.5))
    if kept.size <= _ENUMERABLE:
        every = (np.arange(2**kept.size)[:, np.newaxis] >> np.arange(kept.size)) % 2 * 2 - 1
        return float(np.mean(every @ kept <= kept.sum() + 1e-9))
    signs = rng.integers(0, 2, (DRAWS, kept.size)) * 2 - 1
    return monte_carlo_p(int((signs @ kept <= kept.sum() + 1e-9).sum()), DRAWS)
