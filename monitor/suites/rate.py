"""Pass rates of a suite, and what a rate of wrong steps does to a run of many steps."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from monitor.stats.passk import pass_at_k, pass_hat_k
from monitor.stats.rates import Rate, wilson
from monitor.suites.tally import Pair, Tally

STEPS = 15
_PARTS = 1_000_000


def pass_rate(some: Sequence[Tally]) -> Rate:
    """Return the weighted share of right answers, each case counting by its weight.

    Notes
    -----
    Wilson's interval with as many independent trials as there are cases of equal weight (L. Kish's effective size):
    answers to one case may all come out alike.
    """
    graded = [one for one in some if one.n]
    k, n = sum(one.k for one in graded), sum(one.n for one in graded)
    if not graded:
        return wilson(0, 0)
    weights = np.array([one.weight for one in graded])
    value = float(weights @ np.array([one.k / one.n for one in graded]) / weights.sum())
    size = float(weights.sum() ** 2 / (weights**2).sum())
    fine = wilson(round(value * _PARTS), _PARTS, design=_PARTS / size)
    return Rate(k, n, value, fine.low, fine.high)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tries:
    """Chances in k tries at one case: at least once right, and every time; with intervals over cases."""

    k: int
    at_least_once: tuple[float, float | None, float | None]
    every_time: tuple[float, float | None, float | None]


def tries(some: Sequence[Tally], *, rng: np.random.Generator) -> Tries | None:
    """Return pass@k and pass^k for the most tries that every case has; None where that is one."""
    graded = [one for one in some if one.n]
    k = min((one.n for one in graded), default=1)
    if k < 2:
        return None
    right, n = [one.k for one in graded], [one.n for one in graded]
    once, always = (by(right, n, k, rng=rng) for by in (pass_at_k, pass_hat_k))
    return Tries(
        k=k, at_least_once=(once.value, once.low, once.high), every_time=(always.value, always.low, always.high)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Compounded:
    """What single wrong steps do to a run: ``per_step`` of the steps are wrong, so ``wrong`` of runs of ``steps``."""

    per_step: Rate
    steps: int
    wrong: float | None
    low: float | None
    high: float | None


def compounded(per_step: Rate, *, steps: int = STEPS) -> Compounded:
    """Return the share of runs of `steps` independent steps in which at least one is wrong: ``1 - (1 - p)^steps``."""
    runs = [None if one is None else 1 - (1 - one) ** steps for one in (per_step.value, per_step.low, per_step.high)]
    return Compounded(per_step=per_step, steps=steps, wrong=runs[0], low=runs[1], high=runs[2])


def deviations(some: Sequence[Pair]) -> Rate:
    """Return the share of wrong answers to those cases that the other side, golden, always answers rightly."""
    solved = [one for one in some if one.other_k == one.other_n]
    k, n = sum(one.n - one.k for one in solved), sum(one.n for one in solved)
    return wilson(k, n, design=max((one.n for one in solved), default=1))
