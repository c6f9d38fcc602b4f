"""Lengths that were cut: Kaplan-Meier curves and the log-rank test in strata.

An answer that ended at its cap would have been longer: its length is censored. Means and medians of such lengths are
wrong, and so is every test that takes a cut length for a whole one.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from monitor.stats.checks import Floats, vector
from monitor.stats.permutation_tail import without_replacement

Bools = NDArray[np.bool_]
_NOTHING = 1e-12
"""A share of answers below this is none."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Curve:
    """Kaplan-Meier estimate: ``survival[i]`` is the share of answers longer than ``times[i]``.

    ``sizes[i]`` is the number of whole answers that would say as much about that share.
    """

    times: Floats
    survival: Floats
    sizes: Floats
    size: float

    def at(self, time: float) -> tuple[float, float]:
        """Return the share of answers longer than `time` and the number of answers that it is worth."""
        index = int(np.searchsorted(self.times, time, side="right")) - 1
        if index < 0:
            return 1.0, self.size
        return float(self.survival[index]), float(self.sizes[index])


@dataclass(frozen=True, slots=True, kw_only=True)
class LogRank:
    """Stratified log-rank test. ``excess`` is observed minus expected ends of the first sample.

    ``p_value`` is a bound that holds for samples of any size. All is None when no answer ended.
    """

    statistic: float | None
    p_value: float | None
    excess: float | None


def kaplan_meier(lengths: ArrayLike, cut: ArrayLike, weights: ArrayLike | None = None) -> Curve:
    """Return the curve of `lengths`; ``cut[i]`` says that answer i would have been longer.

    Parameters
    ----------
    lengths, cut
        One per answer.
    weights
        How much each answer counts, above 0; None: all the same.

    Notes
    -----
    E. L. Kaplan, P. Meier, JASA 53 (1958), 457-481; with weights and their variance J. Xie, C. Liu, Statist. Med. 24
    (2005), 3089-3110, which is Greenwood's where all weigh the same. The size is S (1 - S) / variance (K. J. Rothman,
    J. Chronic Dis. 31 (1978), 557-560); where S is 1 or 0 the variance says nothing, and Kish's size of all answers
    stands for it.
    """
    values, censored = _checked(lengths, cut)
    given = np.ones_like(values) if weights is None else vector("weights", weights, low=0)
    times = np.unique(values[~censored])
    at_risk, gone = _from(times, values, given), _at(times, values[~censored], given[~censored])
    size_there = at_risk**2 / _from(times, values, given**2)
    survival = np.asarray(np.cumprod(1 - gone / at_risk), dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = np.cumsum(np.where(at_risk > gone, gone / (size_there * (at_risk - gone)), 0.0))
        sizes = np.where(survival > _NOTHING, (1 - survival) / (survival * spread), _kish(given))
    return Curve(times=times, survival=survival, sizes=sizes, size=_kish(given))


def log_rank(first: Sequence[tuple[ArrayLike, ArrayLike]], second: Sequence[tuple[ArrayLike, ArrayLike]]) -> LogRank:
    """Test whether two samples of (lengths, cut) have one distribution, within strata that pair up by position.

    Notes
    -----
    N. Mantel, Cancer Chemother. Rep. 50 (1966), 163-170; strata are summed before the quotient is taken (R. Peto et
    al., Br. J. Cancer 35 (1977), 1-39). The statistic is that of chi-squared with one degree of freedom, but the
    p-value is not: with 5 answers beside 40, where lengths are as long-tailed as exponential ones, 0.1% of null samples
    have a chi-squared tail below 1e-6. The excess is the sum of log-rank scores of the first sample (R. Peto, J. Peto,
    J. R. Statist. Soc. A 135 (1972), 185-207), and the p-value bounds its tail over all ways to deal the answers of a
    stratum to the two samples. That wants caps that are the same in both; others make it larger, never smaller than
    it should be (tested).
    """
    excess, variance, scores = 0.0, 0.0, []
    for (own, own_cut), (other, other_cut) in zip(first, second, strict=True):
        mine, theirs = _checked(own, own_cut), _checked(other, other_cut)
        difference, spread = _stratum(mine, theirs)
        excess, variance = excess + difference, variance + spread
        scores.append((_scores(mine, theirs), len(mine[0])))
    if variance <= 0:
        return LogRank(statistic=None, p_value=None, excess=None)
    return LogRank(statistic=excess**2 / variance, p_value=without_replacement(scores), excess=excess)


def _kish(weights: Floats) -> float:
    """Number of equal weights that are worth as much (L. Kish, Survey Sampling (1965), section 11.7)."""
    return float(weights.sum() ** 2 / (weights**2).sum()) if weights.size else 0.0


def _stratum(own: tuple[Floats, Bools], other: tuple[Floats, Bools]) -> tuple[float, float]:
    lengths, cut = np.concatenate([own[0], other[0]]), np.concatenate([own[1], other[1]])
    times, ended, at_risk = _table(lengths, cut)
    ended_mine = _at(times, own[0][~own[1]])
    share = _from(times, own[0]) / at_risk
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = np.where(at_risk > 1, ended * share * (1 - share) * (at_risk - ended) / (at_risk - 1), 0.0)
    return float((ended_mine - ended * share).sum()), float(spread.sum())


def _scores(own: tuple[Floats, Bools], other: tuple[Floats, Bools]) -> Floats:
    """1 for an answer that ended, less the hazard that it had come through: they add up to 0 over both samples."""
    lengths, cut = np.concatenate([own[0], other[0]]), np.concatenate([own[1], other[1]])
    times, ended, at_risk = _table(lengths, cut)
    hazard = np.concatenate([[0.0], np.cumsum(ended / at_risk)])
    return np.asarray(~cut - hazard[np.searchsorted(times, lengths, side="right")], dtype=np.float64)


def _table(lengths: Floats, cut: Bools) -> tuple[Floats, Floats, Floats]:
    """Times at which an answer ended, how many ended there, and how many were that long at least."""
    times = np.unique(lengths[~cut])
    return times, _at(times, lengths[~cut]), _from(times, lengths)


def _at(times: Floats, lengths: Floats, weights: Floats | None = None) -> Floats:
    """How many of `lengths` are each of the sorted `times`, all of which are among them or not."""
    return _from(times, lengths, weights) - _from(np.nextafter(times, np.inf), lengths, weights)


def _from(times: Floats, lengths: Floats, weights: Floats | None = None) -> Floats:
    """How many of `lengths`, or how much of their weight, are at least each of `times`."""
    order = np.argsort(lengths)
    each = np.ones(lengths.size) if weights is None else weights[order]
    beyond = np.concatenate([np.cumsum(each[::-1])[::-1], [0.0]])
    return np.asarray(beyond[np.searchsorted(lengths[order], times, side="left")])


def _checked(lengths: ArrayLike, cut: ArrayLike) -> tuple[Floats, Bools]:
    values, censored = vector("lengths", lengths, low=0), np.asarray(cut, dtype=np.bool_)
    if values.shape != censored.shape:
        raise ValueError(f"`lengths` and `cut` must be equally long: {values.shape}, {censored.shape}")
    return values, censored
