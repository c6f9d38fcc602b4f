"""When did a stream of evidence change? Detectors that run for ever, sized by how rarely they may be wrong.

An e-process tests one null for good; after a year of faithful service it would need a year to notice a fault. An
e-detector starts afresh at every look.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from monitor.stats.checks import Floats, log_weights, matrix

Kind = Literal["shiryaev_roberts", "cusum"]

BLOCK = 256
"""Looks computed at a time: bounds what an alarm makes to be computed again."""

NEVER = -1e4
"""Nats that stand for an e-value of 0: sums stay finite."""


def fleet_threshold(n_streams: int, looks: int, *, false_alarms: float = 1.0) -> float:
    """Threshold (nats) at which a fleet gives at most `false_alarms` expected false alarms in `looks` looks each.

    Parameters
    ----------
    n_streams
        Endpoints times detectors that page.
    looks
        Looks per stream in the period, for instance 720 for hourly looks in a month of 30 days.

    Notes
    -----
    With threshold c the expected number of false alarms of one stream in n looks is at most n / c, restarts included:
    M - (looks) is a supermartingale, and each alarm takes at least c away from M.
    """
    if n_streams < 1 or looks < 1 or false_alarms <= 0:
        raise ValueError("`n_streams` and `looks` must be at least 1, `false_alarms` positive")
    return float(np.log(max(n_streams * looks / false_alarms, 1.0)))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Change:
    """What a detector saw.

    ``log_m`` is its path in nats, shape (t,); ``alarms`` the indices of looks with an alarm, after each of which it
    starts afresh; ``changed_at`` the index of the look of this call at which the change behind the first alarm most
    likely began; ``state`` continues the run at the next call.
    """

    log_m: Floats
    alarms: tuple[int, ...]
    changed_at: int | None
    state: tuple[float, ...]


def e_detector(
    log_e: ArrayLike, *, threshold: float, kind: Kind = "shiryaev_roberts", weights: ArrayLike | None = None,
    state: ArrayLike | None = None,
) -> Change:  # fmt: skip
    """Run an e-detector over the looks of one stream.

    Parameters
    ----------
    log_e
        Shape (t, j): log e-value of each look alone (not of a running product) per alternative, for instance of
        `flip_log_ratios`. Each must have expectation at most 1 given the past while nothing has changed.
    threshold
        Nats, of `fleet_threshold`; the average run length to a false alarm is at least ``exp(threshold)``.
    kind
        Shiryaev-Roberts ``M = (1 + M) e`` or CUSUM ``M = max(M, 1) e``.
    state
        ``state`` of the previous call, to continue; None to start.

    Notes
    -----
    J. Shin, A. Ramdas, A. Rinaldo, E-detectors, New England J. Stat. Data Sci. 2 (2023), 229-260: the mean of
    e-detectors over alternatives is one. Cost O(t j).
    """
    steps = np.maximum(matrix("log_e", log_e), NEVER)
    base = log_weights(weights, steps.shape[1])
    fresh = np.full(steps.shape[1], -np.inf)
    now = fresh if state is None else np.asarray(state, dtype=np.float64)
    if now.shape != fresh.shape or np.isnan(now).any():
        raise ValueError(f"`state` must hold {fresh.size} numbers: it belongs to a run with the same alternatives")
    path, alarms, start = np.empty(len(steps)), [], 0
    while start < len(steps):
        block = _block(steps[start : start + BLOCK], now, kind)
        mean = np.logaddexp.reduce(block + base, axis=1)
        beyond = np.flatnonzero(mean >= threshold)
        used = int(beyond[0]) + 1 if beyond.size else len(block)
        path[start : start + used] = mean[:used]
        now = fresh if beyond.size else block[-1]
        start += used
        if beyond.size:
            alarms.append(start - 1)
    began = _began(steps[: alarms[0] + 1]) if alarms else None
    return Change(log_m=path, alarms=tuple(alarms), changed_at=began, state=tuple(now.tolist()))


def _block(steps: Floats, state: Floats, kind: Kind) -> Floats:
    """Paths of all alternatives over a few looks: sum (or maximum) over starts of the product since the start."""
    join = np.logaddexp if kind == "shiryaev_roberts" else np.maximum
    since = np.cumsum(steps, axis=0)
    starts = np.vstack([join(state, 0.0), -since[:-1]])
    return np.asarray(since + join.accumulate(starts, axis=0))


def _began(steps: Floats) -> int:
    """Start of the stretch up to the last look with the largest likelihood ratio (G. Lorden, 1971)."""
    tails = np.cumsum(steps[::-1], axis=0)[::-1]
    return int(np.unravel_index(np.argmax(tails), tails.shape)[0])
