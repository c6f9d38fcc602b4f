"""Chances of solving a task in k tries: at least once, and every time."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln

from monitor.stats.checks import Floats, counts
from monitor.stats.clustered import clustered_mean


@dataclass(frozen=True, slots=True, kw_only=True)
class PassK:
    """Mean over tasks with a bootstrap interval over tasks (None with fewer than two)."""

    value: float
    low: float | None
    high: float | None
    per_task: tuple[float, ...]
    k: int
    n_tasks: int


def pass_at_k(correct: ArrayLike, attempts: ArrayLike, k: int, *, rng: np.random.Generator) -> PassK:
    """Probability that at least one of k tries succeeds.

    Parameters
    ----------
    correct, attempts
        Shape (tasks,): successes among the attempts at each task; every task needs at least k attempts.

    Notes
    -----
    ``1 - C(n - c, k) / C(n, k)``, unbiased (M. Chen et al., arXiv 2107.03374, eq. 1); ``1 - (1 - c / n)^k`` is biased.
    """
    hits, tries = _checked(correct, attempts, k)
    return _summary(1 - _share(tries - hits, tries, k), k, rng)


def pass_hat_k(correct: ArrayLike, attempts: ArrayLike, k: int, *, rng: np.random.Generator) -> PassK:
    """Probability that all of k tries succeed: ``C(c, k) / C(n, k)`` (S. Yao et al., tau-bench, arXiv 2406.12045)."""
    hits, tries = _checked(correct, attempts, k)
    return _summary(_share(hits, tries, k), k, rng)


def _checked(correct: ArrayLike, attempts: ArrayLike, k: int) -> tuple[Floats, Floats]:
    hits, tries = counts(correct, attempts)
    if not 1 <= k <= tries.min():
        raise ValueError(f"`k` must lie between 1 and the fewest attempts of a task ({tries.min():g}), not {k}")
    return hits, tries


def _share(chosen: Floats, total: Floats, k: int) -> Floats:
    """``C(chosen, k) / C(total, k)``."""
    # A clipped argument keeps the unused branch of `where` finite.
    logs = (
        gammaln(chosen + 1) - gammaln(np.maximum(chosen - k, 0) + 1) - gammaln(total + 1) + gammaln(total - k + 1)
    )
    return np.asarray(np.where(chosen >= k, np.exp(logs), 0.0))


def _summary(per_task: Floats, k: int, rng: np.random.Generator) -> PassK:
    values = per_task.tolist()
    mean = clustered_mean(values, [str(index) for index in range(len(values))], rng=rng)
    return PassK(
        value=mean.value, low=mean.low, high=mean.high, per_task=tuple(values), k=k, n_tasks=len(values)
    )
