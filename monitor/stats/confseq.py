"""Intervals for means that hold at every look at once, and the matching tests of a tolerance."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from monitor.stats.checks import Floats, inside, vector
from monitor.stats.eprocess import EProcess
from monitor.stats.martingale import STAKES, score_process


def mean_above(x: ArrayLike, *, null: float) -> EProcess:
    """Evidence that the mean of non-negative values is above a tolerance.

    Parameters
    ----------
    x
        Shape (t,), at least 0, one per request (a mean over its positions): the divergence of a request from golden.
    null
        Tolerated mean, positive.

    Notes
    -----
    H0: the expectation of each value given the past is at most `null`. It holds for *any* routing between faithful
    backends, however sticky, because it asks this of each request by itself. Cost O(12 t).
    """
    values = vector("x", x, low=0)
    inside("null", null, 0, np.inf)
    return score_process(values - null, null)


def mean_below(x: ArrayLike, *, null: float, upper: float) -> EProcess:
    """Evidence that the mean of values in [0, upper] is *below* a tolerance: what lets an audit stop with a pass.

    H0: the expectation of each value given the past is at least `null`. Clip at `upper` before; what is bounded then
    is the mean of the clipped values.
    """
    values = vector("x", x, low=0, high=upper)
    inside("null", null, 0, upper)
    return score_process(null - values, upper - null)


_TINY = 1e-200


@dataclass(frozen=True, slots=True, kw_only=True)
class CappedMean:
    """Bounds of a capped mean that hold at every look; ``high`` is None while no upper end is known."""

    low: float
    high: float | None


def capped_mean(x: ArrayLike, *, cap: float = 3.0, confidence: float = 0.95) -> CappedMean:
    """Interval, valid at every look, for the mean of non-negative values that have no upper bound.

    Parameters
    ----------
    x
        Shape (t,), at least 0, one per request.
    cap
        No value counts for more than `cap` times the mean, above 1.

    Notes
    -----
    What lies in the interval is the m with ``E min(x / m, cap) = 1``, and 0 where there is none. It is the mean unless
    values beyond ``cap m`` occur; the mean itself may be larger by any amount, and no interval could tell. The left
    side falls with m, so the m that neither `mean_above` nor `mean_below` (of values cut at ``cap m``) rejects are an
    interval, found by bisection in 1e-9 to 1e3 times the largest value. Cost O(12 t) per step.
    """
    values = vector("x", x, low=0)
    inside("cap", cap, 1, np.inf)
    limit = np.log(2 / (1 - inside("confidence", confidence)))
    most = float(values.max())
    most = most if most > _TINY else 1.0  # or the least mean looked at would be 0

    def above(m: float) -> bool:
        return bool(score_process(np.minimum(values / m, cap) - 1, 1.0).peak >= limit)

    def below(m: float) -> bool:
        return bool(score_process(1 - np.minimum(values / m, cap), cap - 1).peak >= limit)

    least, largest = most * 1e-9, most * 1e3
    low = _edge(above, least, largest) if above(least) else 0.0
    if not below(largest):
        return CappedMean(low=low, high=None)
    return CappedMean(low=low, high=_edge(lambda m: not below(m), least, largest) if not below(least) else least)


def _edge(holds: Callable[[float], bool], low: float, high: float) -> float:
    """Where `holds`, true at `low` and false at `high`, changes, to a thousandth."""
    while high > low * 1.001:
        middle = float(np.sqrt(low * high))
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ConfidenceSequence:
    """Bounds after each look, shape (t,); with probability ``confidence`` *all* of them hold the mean."""

    mean: Floats
    low: Floats
    high: Floats
    confidence: float


def mean_sequence(
    x: ArrayLike, *, low: float, high: float, confidence: float = 0.95, grid: int = 500
) -> ConfidenceSequence:
    """Confidence sequence for the mean of bounded values, by betting.

    Parameters
    ----------
    x
        Shape (t,), in [low, high]; independent, or with a common mean given the past.
    grid
        Candidate means; bounds are widened to the next candidate, so a coarse grid is still valid.

    Notes
    -----
    For each candidate mean, capital from bets that the truth is above and that it is below; kept while their average
    is under ``1 / (1 - confidence)`` (I. Waudby-Smith and A. Ramdas, JRSS B 86 (2024), 1-27: hedged capital, with a
    fixed mixture of stakes). Adapts to small variances. Cost O(24 t grid).
    """
    if not low < high:
        raise ValueError(f"`low` must be below `high`, not {low} and {high}")
    values = (vector("x", x, low=low, high=high) - low) / (high - low)
    limit = -np.log(1 - inside("confidence", confidence))
    candidates = (np.arange(grid) + 0.5) / grid
    gain = values[:, np.newaxis] - candidates
    evidence = np.logaddexp(_capital(gain, candidates), _capital(-gain, 1 - candidates)) - np.log(2)
    kept = np.logical_and.accumulate(evidence < limit, axis=0)
    below = np.maximum(kept.argmax(axis=1) - 1, -1)
    above = np.minimum(grid - kept[:, ::-1].argmax(axis=1), grid)
    # Once every candidate is excluded (bounds between two of them, or a wrong assumption) the last interval stays.
    alive = kept.any(axis=1)
    last = int(np.flatnonzero(alive)[-1]) if alive.any() else 0
    keep = np.minimum(np.arange(values.size), last)
    edges = np.concatenate([[0.0], candidates, [1.0]])
    scale = high - low
    running = np.cumsum(values) / np.arange(1, values.size + 1)
    return ConfidenceSequence(
        mean=low + scale * running, low=low + scale * edges[below[keep] + 1], high=low + scale * edges[above[keep] + 1],
        confidence=confidence,
    )  # fmt: skip


def _capital(gain: Floats, losses: Floats) -> Floats:
    """Log of the mean over stakes of ``prod(1 + c gain / loss)``, shape (t, grid)."""
    total = np.full(gain.shape, -np.inf)
    for stake in STAKES:
        total = np.logaddexp(total, np.cumsum(np.log1p(stake * gain / losses), axis=0))
    return np.asarray(total - np.log(len(STAKES)))


def normal_sequence(
    x: ArrayLike, *, sigma: float, scale: float, confidence: float = 0.95
) -> ConfidenceSequence:
    """Confidence sequence for the mean of values that vary like a normal, for log latencies or log lengths.

    Parameters
    ----------
    x
        Shape (t,).
    sigma
        Standard deviation (or sub-Gaussian bound) of one value, known from history.
    scale
        Standard deviation of the normal mixture: the size of shift at which the interval is shortest.

    Notes
    -----
    H. Robbins, Ann. Math. Statist. 41 (1970), 1397-1409; the mixture sequential probability ratio test of R. Johari
    et al., Oper. Res. 70 (2022), 1806-1821. Cost O(t).
    """
    values, t = vector("x", x), np.arange(1, np.size(x) + 1)
    for name, value in (("sigma", sigma), ("scale", scale)):
        inside(name, value, 0, np.inf)
    ratio = 1 + t * scale**2 / sigma**2
    nats = -np.log(1 - inside("confidence", confidence)) + np.log(ratio) / 2
    half = np.sqrt(2 * sigma**2 * ratio / scale**2 * nats) * sigma / t
    mean = np.cumsum(values) / t
    return ConfidenceSequence(mean=mean, low=mean - half, high=mean + half, confidence=confidence)
