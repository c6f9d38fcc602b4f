"""Joining e-values: of several detectors, of several members of a null, of many endpoints.

All functions take and give natural logs of e-values, because the e-values of long runs overflow. An e-value of 0 is
``-inf``.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from monitor.stats.checks import Floats, inside, log_weights


def _log_e(log_e: ArrayLike) -> Floats:
    data = np.asarray(log_e, dtype=np.float64)
    if data.ndim != 1 or data.size == 0 or np.isnan(data).any() or (data == np.inf).any():
        raise ValueError("`log_e` must be a vector of finite numbers or -inf, at least one; leave out what did not run")
    return data


def average_e(log_e: ArrayLike, *, weights: ArrayLike | None = None) -> float:
    """Log of the mean e-value: evidence against "all of these nulls are true", under any dependence.

    Parameters
    ----------
    log_e
        Shape (k,), one per detector that could run. What is inconclusive is left out, not entered as 0.
    weights
        Shape (k,), chosen before the data; equal when None.

    Notes
    -----
    V. Vovk and R. Wang, Ann. Statist. 49 (2021), 1736-1754: the mean is essentially the only admissible symmetric
    way without assumptions. A product would assume independence, which detectors that share requests do not have.
    """
    data = _log_e(log_e)
    return float(np.logaddexp.reduce(data + log_weights(weights, data.size)))


def composite_e(log_e: ArrayLike) -> float:
    """Log e-value against a null of several members: the smallest of the members' e-values.

    The null "the endpoint serves *one* of these precisions" is rejected only if every member is.
    """
    return float(_log_e(log_e).min())


@dataclass(frozen=True, slots=True, kw_only=True)
class Discoveries:
    """Which of m nulls e-BH rejects. ``threshold`` is the log e-value that sufficed, None if nothing was rejected."""

    rejected: tuple[bool, ...]
    threshold: float | None
    m: int
    alpha: float


def e_bh(log_e: ArrayLike, *, alpha: float) -> Discoveries:
    """Reject the k largest e-values with ``e_(k) >= m / (alpha k)``, for the largest such k.

    Notes
    -----
    H0 per entry: expectation at most 1. The expected share of false rejections is at most alpha times the share of
    true nulls, under *any* dependence (R. Wang and A. Ramdas, JRSS B 84 (2022), 822-852); endpoints that share one
    golden reference are dependent, so Benjamini-Hochberg on p-values has no such guarantee.
    Checks that could not run are left out before, so that they do not count in m.
    """
    data, level = _log_e(log_e), inside("alpha", alpha)
    m = data.size
    ordered = np.sort(data)[::-1]
    needed = np.log(m) - np.log(level) - np.log(np.arange(1, m + 1))
    enough = np.flatnonzero(ordered >= needed)
    if enough.size == 0:
        return Discoveries(rejected=(False,) * m, threshold=None, m=m, alpha=alpha)
    threshold = float(ordered[enough[-1]])
    return Discoveries(rejected=tuple((data >= threshold).tolist()), threshold=threshold, m=m, alpha=alpha)


def p_to_e(p_values: Sequence[float] | Floats, *, kappa: float = 0.5) -> Floats:
    """Log e-values ``kappa p^(kappa - 1)`` of p-values.

    Warnings
    --------
    The *mean* of calibrated p-values is an e-value always. Their *product* is one only if each p-value is valid given
    all earlier ones. Tests against one stored baseline share its noise: the product of 60 looks gives 15% false
    alarms at 5% (docs/statistics.md, B12). For those use `monitor.stats.spending`.

    Notes
    -----
    G. Shafer et al., Statist. Sci. 26 (2011), 84-101. A p-value of 0 is an error upstream, not infinite evidence.
    """
    p = np.asarray(p_values, dtype=np.float64)
    if p.size == 0 or not ((p > 0) & (p <= 1)).all():
        raise ValueError("`p_values` must lie in (0, 1]: a Monte-Carlo p-value is (1 + k) / (1 + B), never 0")
    exponent = inside("kappa", kappa)
    return np.asarray(np.log(exponent) + (exponent - 1) * np.log(p))
