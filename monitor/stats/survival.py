"""Lengths that were cut: Kaplan-Meier curves and the log-rank test in strata.

An answer that ended at its cap would have been longer: its length is censored. Means and medians of such lengths are
wrong, and so is every test that takes a cut length for a whole one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import chi2

from monitor.stats.checks import Floats, vector

Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Curve:
    """Kaplan-Meier estimate: ``survival[i]`` is the share of answers longer than ``times[i]``; Greenwood's variance."""

    times: Floats
    survival: Floats
    variance: Floats

    def at(self, time: float) -> tuple[float, float]:
        """Return the share of answers longer than `time` and its standard error."""
        index = int(np.searchsorted(self.times, time, side="right")) - 1
        if index < 0:
            return 1.0, 0.0
        return float(self.survival[index]), sqrt(float(self.variance[index]))


@dataclass(frozen=True, slots=True, kw_only=True)
class LogRank:
    """Stratified log-rank test. ``excess`` is observed minus expected ends of the first sample, None without ends."""

    statistic: float
    p_value: float
    excess: float


def kaplan_meier(lengths: ArrayLike, cut: ArrayLike) -> Curve:
    """Return the curve of `lengths`; ``cut[i]`` says that answer i would have been longer.

    Notes
    -----
    E. L. Kaplan, P. Meier, JASA 53 (1958), 457-481; variance: M. Greenwood (1926), as in their eq. (2f).
    """
    values, censored = _checked(lengths, cut)
    times, ended, at_risk = _table(values, censored)
    kept = 1 - ended / at_risk
    survival = np.asarray(np.cumprod(kept), dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(at_risk > ended, ended / (at_risk * (at_risk - ended)), 0.0)
    return Curve(times=times, survival=survival, variance=survival**2 * np.cumsum(terms))


def log_rank(
    first: Sequence[tuple[ArrayLike, ArrayLike]], second: Sequence[tuple[ArrayLike, ArrayLike]]
) -> LogRank:
    """Test whether two samples of (lengths, cut) have one distribution, within strata that pair up by position.

    Notes
    -----
    N. Mantel, Cancer Chemother. Rep. 50 (1966), 163-170; strata are summed before the quotient is taken (R. Peto et
    al., Br. J. Cancer 35 (1977), 1-39). Two-sided, chi-squared with one degree of freedom.
    """
    excess = variance = 0.0
    for (own, own_cut), (other, other_cut) in zip(first, second, strict=True):
        difference, spread = _stratum(_checked(own, own_cut), _checked(other, other_cut))
        excess, variance = excess + difference, variance + spread
    statistic = excess**2 / variance if variance > 0 else 0.0
    return LogRank(statistic=statistic, p_value=float(chi2.sf(statistic, 1)), excess=excess)


def _stratum(own: tuple[Floats, Bools], other: tuple[Floats, Bools]) -> tuple[float, float]:
    lengths, cut = np.concatenate([own[0], other[0]]), np.concatenate([own[1], other[1]])
    times, ended, at_risk = _table(lengths, cut)
    mine = np.array([(own[0] >= time).sum() for time in times], dtype=np.float64)
    ended_mine = np.array([((own[0] == time) & ~own[1]).sum() for time in times], dtype=np.float64)
    share = mine / at_risk
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = np.where(at_risk > 1, ended * share * (1 - share) * (at_risk - ended) / (at_risk - 1), 0.0)
    return float((ended_mine - ended * share).sum()), float(spread.sum())


def _table(lengths: Floats, cut: Bools) -> tuple[Floats, Floats, Floats]:
    """Times at which an answer ended, how many ended there, and how many were that long at least."""
    times = np.unique(lengths[~cut])
    ended = np.array([((lengths == time) & ~cut).sum() for time in times], dtype=np.float64)
    at_risk = np.array([(lengths >= time).sum() for time in times], dtype=np.float64)
    return times, ended, at_risk


def _checked(lengths: ArrayLike, cut: ArrayLike) -> tuple[Floats, Bools]:
    values, censored = vector("lengths", lengths, low=0), np.asarray(cut, dtype=np.bool_)
    if values.shape != censored.shape:
        raise ValueError(f"`lengths` and `cut` must be equally long: {values.shape}, {censored.shape}")
    return values, censored
