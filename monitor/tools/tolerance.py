"""Whether faults are more frequent than is tolerated, case by case.

Both forms of a case share its prompt, so their faults come together; a case with any fault counts once. If a single
answer is faulty with probability p0 at most, a case of m answers is with at most 1 - (1 - p0)^m, and with less when
faults come together.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.optimize import brentq

from monitor.ports import Floats
from monitor.stats.betabinomial import flip_process

RATIOS = (3.0, 10.0, 30.0, 100.0)
"""Alternatives of the e-process, as multiples of the tolerated rate: from 0.3% to 10% where 0.1% is tolerated."""

_LARGEST = 0.999


@dataclass(frozen=True, slots=True, kw_only=True)
class Excess:
    """``k`` of ``n`` cases were faulty: the exact p-value, and the evidence of an e-process in nats (its end)."""

    k: int
    n: int
    p_value: float
    log_e: float


def excess(faulty: Sequence[bool], answers: Sequence[int], *, tolerated: float) -> Excess:
    """Test that single answers are faulty at most at the rate `tolerated`.

    Parameters
    ----------
    faulty
        Whether any answer to the case was faulty, one per case.
    answers
        How many answers to the case were scored, at least 1.

    Notes
    -----
    p is the tail of a Poisson-binomial distribution, by convolution: exact at the bound, for any number of answers per
    case. The e-process mixes likelihood ratios of Bernoulli trials (`monitor.stats.betabinomial`), valid at any stop.
    """
    if not faulty or len(faulty) != len(answers) or min(answers) < 1 or not 0 < tolerated < 1:
        raise ValueError("cases need an answer each, and `tolerated` must lie between 0 and 1")
    null = bounds(answers, tolerated)
    k = sum(faulty)
    process = flip_process(np.array(faulty, dtype=np.float64), np.ones(len(faulty)), p0=null, rho=0.0, ratios=RATIOS)
    return Excess(k=k, n=len(faulty), p_value=tail(null, k), log_e=process.final)


def bounds(answers: Sequence[int], rate: float) -> Floats:
    """Chance that a case of so many answers has any faulty one."""
    return np.asarray(-np.expm1(np.array(answers) * np.log1p(-rate)))


def tail(chances: Floats, k: int) -> float:
    """Chance that at least `k` of independent events happen."""
    pmf = np.ones(1)
    for chance in chances:
        pmf = np.convolve(pmf, [1 - chance, chance])
    return float(min(1.0, pmf[k:].sum())) if k > 0 else 1.0


def smallest_rate(answers: Sequence[int], *, tolerated: float, alpha: float, power: float = 0.9) -> float | None:
    """Rate of faulty answers that this many would have shown with `power`; None where none would."""
    null = bounds(answers, tolerated)
    critical = next((k for k in range(1, len(answers) + 1) if tail(null, k) <= alpha), None)
    short = partial(_short, answers, critical or 0, power)
    if critical is None or short(_LARGEST) < 0:
        return None
    return float(brentq(short, tolerated, _LARGEST, xtol=1e-6))


def _short(answers: Sequence[int], critical: int, power: float, rate: float) -> float:
    return tail(bounds(answers, rate), critical) - power
