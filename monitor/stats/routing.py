"""A share of requests goes to something else: the mixture family, and how large the share is.

Each request is answered by the faithful backend (density f0) or, with probability w, by another (f1). Averages over
requests dilute a small share; the mixture keeps the few requests that speak clearly.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from monitor.stats.checks import Floats, matrix, vector
from monitor.stats.eprocess import EProcess, interval_of, mixture_process

SHARES = (0.05, 0.1, 0.2, 0.5, 1.0)


def _diluted(log_ratios: Floats, shares: Floats) -> Floats:
    """Log of ``1 - w + w f1 / f0``, shape (t, j, shares)."""
    with np.errstate(divide="ignore"):
        stay, go = np.log1p(-shares), np.log(shares)
    return np.logaddexp(stay, go + log_ratios[:, :, np.newaxis])


def routing_process(log_ratios: ArrayLike, *, shares: ArrayLike = SHARES) -> EProcess:
    """Evidence that at least some requests are answered by one of the alternatives.

    Parameters
    ----------
    log_ratios
        Shape (t, j): log f1 / f0 of request t under alternative j, for instance of `flip_log_ratios` or of a
        matched filter.
    shares
        Routed shares to mix over, in (0, 1].

    Notes
    -----
    H0: every ratio has conditional expectation at most 1. So has ``1 - w + w f1 / f0``. Cost O(t j shares).
    """
    steps, grid = matrix("log_ratios", log_ratios), vector("shares", shares, low=1e-6, high=1)
    return mixture_process(_diluted(steps, grid).reshape(len(steps), -1))


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutingShare:
    """Estimated routed share with an interval valid at every look; ``alternative`` is the likeliest column."""

    share: float
    low: float
    high: float
    alternative: int
    confidence: float
    n: int


def routing_share(log_ratios: ArrayLike, *, confidence: float = 0.95, steps: int = 400) -> RoutingShare:
    """Which share of the requests goes to an alternative, whichever of the columns it is.

    Parameters
    ----------
    log_ratios
        Shape (t, j), as for `routing_process`.
    steps
        The share is found to ``1 / steps``.

    Notes
    -----
    A share is excluded when the mixture over all shares and alternatives outweighs even its best alternative by
    ``1 / (1 - confidence)``: the maximum in the denominator makes the interval hold whichever alternative is true.
    Assumes that one of the columns describes the other backend; with none fitting, the share is that of the nearest.
    Cost O(t j steps).
    """
    rows, grid = matrix("log_ratios", log_ratios), np.linspace(0, 1, steps + 1)
    totals = _diluted(rows, grid).sum(axis=0)
    best = np.unravel_index(totals.argmax(), totals.shape)
    against = logsumexp(totals) - np.log(totals.size) - totals.max(axis=0)
    found = interval_of(against, grid, estimate=float(grid[best[1]]), confidence=confidence)
    return RoutingShare(
        share=found.estimate, low=found.low, high=found.high, alternative=int(best[0]), confidence=confidence,
        n=len(rows),
    )  # fmt: skip
