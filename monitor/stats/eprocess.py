"""E-processes: evidence that may be looked at after every request.

An e-process starts at 1 and, under the null, has expectation at most 1 whenever one stops. So it exceeds ``1 / alpha``
at *any* time with probability at most alpha (J. Ville, Etude critique de la notion de collectif, 1939), and evidence
goes on where it stopped. Everything is kept in natural logs: long processes overflow.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from monitor.stats.checks import Floats, inside, log_weights, matrix, vector

SMALLEST_P = float(np.finfo(np.float64).tiny)
"""What stands for a p-value too small for a float: never 0."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EProcess:
    """The path of an e-process: ``log_e`` in nats, shape (t,), one per look."""

    log_e: Floats

    @property
    def final(self) -> float:
        """Evidence now, in nats: what is averaged over detectors and put into e-BH."""
        return float(self.log_e[-1])

    @property
    def peak(self) -> float:
        """Largest evidence so far, in nats; at least 0, where every e-process starts."""
        return max(0.0, float(self.log_e.max()))

    @property
    def p_value(self) -> float:
        """Anytime-valid p-value ``1 / peak``. Not to be calibrated into an e-value again: use ``final``."""
        return max(float(np.exp(-self.peak)), SMALLEST_P)

    def looks_to(self, alpha: float) -> int | None:
        """Number of looks until the null was rejected at level `alpha`, None if it was not."""
        beyond = np.flatnonzero(self.log_e >= -np.log(inside("alpha", alpha)))
        return int(beyond[0]) + 1 if beyond.size else None


def mixture_process(log_ratios: ArrayLike, *, weights: ArrayLike | None = None) -> EProcess:
    """Average over alternatives of the running product of likelihood ratios.

    Parameters
    ----------
    log_ratios
        Shape (t, j): log of ratio (or of any e-value given the past) at look t for alternative j.
    weights
        Shape (j,), fixed before the data.

    Notes
    -----
    H0: every column has conditional expectation at most 1 given the past. Then so has the weighted mean of their
    products (H. Robbins, Ann. Math. Statist. 41 (1970), 1397-1409). Cost O(t j).
    """
    steps = matrix("log_ratios", log_ratios)
    log_e = logsumexp(np.cumsum(steps, axis=0) + log_weights(weights, steps.shape[1]), axis=1)
    return EProcess(log_e=log_e)


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """An estimate with an interval that holds at every look at once."""

    estimate: float
    low: float
    high: float
    confidence: float


def likelihood_interval(
    log_ratios: ArrayLike, values: ArrayLike, *, confidence: float = 0.95, weights: ArrayLike | None = None
) -> Interval:
    """Interval for a parameter on a grid, valid at any stopping time.

    Parameters
    ----------
    log_ratios
        Shape (t, j): log-likelihood of look t at ``values[j]``, up to a term that does not depend on j.
    values
        Shape (j,), ascending. The interval ends at grid points *outside* the set, so that a coarse grid widens it.

    Notes
    -----
    All values are kept against which the mixture over the grid has not gathered ``1 / (1 - confidence)``: the method
    of mixtures (D. A. Darling and H. Robbins, PNAS 58 (1967), 66-68). Assumes that the truth lies in the family.
    """
    steps, grid = matrix("log_ratios", log_ratios), vector("values", values)
    if (np.diff(grid) <= 0).any() or steps.shape[1] != grid.size:
        raise ValueError("`values` must be ascending and as many as the columns of `log_ratios`")
    totals = steps.sum(axis=0)
    against = logsumexp(totals + log_weights(weights, grid.size)) - totals
    return interval_of(against, grid, estimate=float(grid[totals.argmax()]), confidence=confidence)


def interval_of(against: Floats, grid: Floats, *, estimate: float, confidence: float) -> Interval:
    """Span of the grid values with evidence `against` them (nats) below the level, widened to the next grid points."""
    kept = np.flatnonzero(against < -np.log(1 - inside("confidence", confidence)))
    if kept.size == 0:
        kept = np.array([np.argmin(against)])
    low, high = max(kept[0] - 1, 0), min(kept[-1] + 1, grid.size - 1)
    return Interval(estimate=estimate, low=float(grid[low]), high=float(grid[high]), confidence=confidence)
