"""Has a series of log latencies moved up, when it has a daily rhythm, a memory, and outliers?"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from monitor.stats.checks import Floats, vector

DAY_H = 24.0
MAD_TO_SD = 1.4826
RHYTHM_DAYS = 3
"""Days of history from which the rhythm of a day is taken."""

NEAR_H = 1.5
"""Hours around the same time of day whose values make its level."""

MOST_MEMORY = 0.8
"""Largest correlation of neighbours that is believed: what is beyond is a drift."""

CAP = 4.0
"""Largest evidence of one run, nats: a page needs several runs."""

SHIFTS = (0.25, 0.5, 1.0)
"""Alternatives: shifts in log beyond what is tolerated."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Slowing:
    """Evidence that newer values are above older ones by more than a tolerance.

    ``log_e`` is averaged over all starts; ``start`` the index of the new value with which the change most likely began.
    ``excess`` (n,) are the new values above the level of their time of day, ``sigma`` the standard deviation by which
    their mean is uncertain, as if they were independent.
    """

    log_e: float
    start: int
    excess: Floats
    sigma: float


def slowing(
    old: ArrayLike, new: ArrayLike, *, old_h: ArrayLike, new_h: ArrayLike, tolerance: float, floor: float
) -> Slowing:  # fmt: skip
    """Compare `new` with `old` log values.

    Parameters
    ----------
    old, new
        Shapes (m,), (n,): logs of a latency, one per run, in the order of time.
    old_h, new_h
        Times of the same runs, hours on one scale.
    tolerance
        Shift (log) that is no matter.
    floor
        Smallest standard deviation to believe.

    Notes
    -----
    The level is the median of the old values near the same time of day, where there are days enough, else of all. The
    scale is the median absolute deviation from it, widened by the memory phi of neighbours to
    ``sigma sqrt((1 + phi) / (1 - phi))``, with which sums of an autoregressive series grow. Evidence of a run is a
    normal likelihood ratio for each of `SHIFTS`, cut to [-CAP, CAP]; cutting it below costs at most ``exp(-CAP)``,
    which is taken off. The mean over starts of their products is an e-value where the model holds.
    """
    before, after = vector("old", old), vector("new", new)
    hours, hours_now = vector("old_h", old_h), vector("new_h", new_h)
    level, level_now = _levels(before, hours, hours), _levels(before, hours, hours_now)
    residuals = before - level
    spread = max(float(np.median(np.abs(residuals - np.median(residuals)))) * MAD_TO_SD, floor)
    memory = _memory(residuals, spread)
    sigma = spread * float(np.sqrt((1 + memory) / (1 - memory)))
    excess = after - level_now
    return _evidence(excess, sigma, tolerance)


def _evidence(excess: Floats, sigma: float, tolerance: float) -> Slowing:
    shifts = np.asarray(SHIFTS)
    ratios = (shifts * (excess[:, np.newaxis] - tolerance) - shifts**2 / 2) / sigma**2
    steps = np.clip(ratios, -CAP, CAP) - np.log1p(np.exp(-CAP))
    since = np.cumsum(steps[::-1], axis=0)[::-1]
    start = int(np.unravel_index(int(np.argmax(since)), since.shape)[0])
    return Slowing(log_e=float(logsumexp(since) - np.log(since.size)), start=start, excess=excess, sigma=sigma)


def _levels(values: Floats, hours: Floats, at: Floats) -> Floats:
    """Median of `values` near each time of day in `at`; of all of them where there are too few days, or none near."""
    whole = float(np.median(values))
    if hours.max() - hours.min() < RHYTHM_DAYS * DAY_H:
        return np.full(len(at), whole)
    slots = np.arange(DAY_H)
    apart = np.abs((hours - slots[:, np.newaxis] + DAY_H / 2) % DAY_H - DAY_H / 2)
    table = [values[near] for near in apart <= NEAR_H]
    levels = np.array([np.median(some) if len(some) >= RHYTHM_DAYS else whole for some in table])
    return np.asarray(levels[np.round(at % DAY_H).astype(int) % int(DAY_H)])


def _memory(residuals: Floats, spread: float) -> float:
    """Correlation of neighbours, outliers cut, between 0 and `MOST_MEMORY`."""
    cut = np.clip(residuals - np.median(residuals), -3 * spread, 3 * spread)
    total = float(cut @ cut)
    return float(np.clip(cut[1:] @ cut[:-1] / total, 0.0, MOST_MEMORY)) if total > 0 else 0.0
