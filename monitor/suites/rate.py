"""Pass rates of a suite, and what a rate of wrong steps does to a run of many steps."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from monitor.stats.passk import PassK, pass_at_k, pass_hat_k
from monitor.stats.rates import Rate, score_interval, wilson
from monitor.suites.tally import Pair, Tally

STEPS = 15
_PARTS = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PassRate:
    """Right cases of all: ``k / n`` is ``value``, and the interval is that of cases. None where nothing was graded.

    A case with several answers is right by the share of them that is. ``k`` and ``n`` are sums of weights: numbers of
    cases, where none weighs more than another. ``answers`` counts answers instead, whichever case they are to, and
    ``every_time`` the cases of which each graded answer is right; neither knows weights.
    """

    k: float
    n: float
    value: float | None
    low: float | None
    high: float | None
    n_cases: int
    answers: Rate
    every_time: Rate


def pass_rate(some: Sequence[Tally]) -> PassRate:
    """Return how many of the cases are right.

    Notes
    -----
    Wilson's intervals. Answers to one case may all come out alike, so there are only as many independent trials as
    there are cases of equal weight, and for answers of equal number (L. Kish's effective size).
    """
    graded = [one for one in some if one.n]
    weights = [one.weight for one in graded]
    right, size = math.fsum(one.weight * one.k / one.n for one in graded), math.fsum(weights)
    answers, asked = sum(one.k for one in graded), [one.n for one in graded]
    share = right / size if graded else None
    low, high = (None, None) if share is None else _ends(share, size**2 / math.fsum(one**2 for one in weights))
    return PassRate(
        k=right, n=size, value=share, low=low, high=high, n_cases=len(graded),
        answers=wilson(answers, sum(asked), design=_design(asked)),
        every_time=wilson(sum(one.k == one.n for one in graded), len(graded)),
    )  # fmt: skip


def _design(asked: Sequence[int]) -> float:
    """How many answers count as one, where those to one case may all come out alike (L. Kish)."""
    return sum(n * n for n in asked) / sum(asked) if asked else 1.0


def _ends(share: float, size: float) -> tuple[float, float]:
    fine = wilson(round(share * _PARTS), _PARTS, design=_PARTS / size)
    assert fine.low is not None and fine.high is not None  # noqa: S101, PT018  # there are trials
    return fine.low, fine.high


@dataclass(frozen=True, slots=True, kw_only=True)
class Tries:
    """Chances in k tries at one case: at least once right, and every time; each with its interval.

    ``n_cases`` is how many were asked several times (None in runs that earlier versions kept).
    """

    k: int
    at_least_once: tuple[float, float | None, float | None]
    every_time: tuple[float, float | None, float | None]
    n_cases: int | None = None


def tries(some: Sequence[Tally], *, rng: np.random.Generator) -> Tries | None:
    """Return pass@k and pass^k of the cases with several answers, for the most tries that each of them has.

    None where no case has several.
    """
    graded = [one for one in some if one.n > 1]
    if not graded:
        return None
    k = min(one.n for one in graded)
    right, n = [one.k for one in graded], [one.n for one in graded]
    once, always = (_ended(by(right, n, k, rng=rng)) for by in (pass_at_k, pass_hat_k))
    return Tries(k=k, at_least_once=once, every_time=always, n_cases=len(graded))


def _ended(found: PassK) -> tuple[float, float, float]:
    """The chance with its bootstrap interval; that of Wilson over cases where the bootstrap shrinks to nothing.

    Chances of cases lie between 0 and 1, so their mean varies no more than a share of so many trials.
    """
    if found.low is None or found.high is None or found.low == found.high:
        return found.value, *score_interval(found.value, found.n_tasks)
    return found.value, found.low, found.high


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
    """Return the share of wrong answers to those cases that the other side, golden, always answers rightly.

    ``k`` and ``n`` are answers, whatever their cases weigh; the interval counts cases, as that of `PassRate.answers`.
    """
    solved = [one for one in some if one.other_k == one.other_n]
    k, asked = sum(one.n - one.k for one in solved), [one.n for one in solved]
    return wilson(k, sum(asked), design=_design(asked))
