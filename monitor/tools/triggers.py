"""Decisions to call a tool against golden's own: how often golden decides for a call, prompt by prompt.

A label drawn once from golden is one throw of a coin: golden itself agrees with it only as often as its coins are
biased. So the F1 that verifiers ask for has a ceiling below 1, which `noise_floor` computes; and the endpoint's
decisions are held against golden's probabilities, not against one draw (`agreement`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from monitor.ports import Floats
from monitor.stats.montecarlo import monte_carlo_p

Counts = NDArray[np.int64]

_BLOCK = 1_000_000
"""Random numbers drawn at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decisions:
    """Decisions on one prompt: golden called in `golden_k` of `golden_n` draws, the endpoint in `k` of `n` answers."""

    golden_k: int
    golden_n: int
    k: int
    n: int

    def __post_init__(self) -> None:
        if not (0 <= self.golden_k <= self.golden_n and 0 <= self.k <= self.n and self.golden_n > 0 and self.n > 0):
            raise ValueError(f"decisions must be k of n > 0 on both sides, not {self}")


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseFloor:
    """What golden scores against itself: expected F1 and agreement of one draw with another; the 95% range of F1.

    ``f1`` is None where golden never calls.
    """

    f1: float | None
    low: float | None
    high: float | None
    agreement: float
    n_prompts: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """Endpoint against golden.

    ``log_ratio`` is the log likelihood of its decisions under golden's probabilities less what golden's own decisions
    are expected to have, in nats per decision (below 0: less likely than golden's), ``z`` its distance from that in
    standard deviations. ``excess`` is the net share of calls that golden would not have made (below 0: calls that are
    missing). ``agreement`` is the chance that a draw of golden decides as the endpoint did, ``expected`` the same for
    golden. ``p_value`` is that of both tests together (Bonferroni).
    """

    agreement: float
    expected: float
    log_ratio: float
    z: float
    excess: float
    p_likelihood: float
    p_excess: float
    n: int

    @property
    def p_value(self) -> float:
        """Chance that golden itself looks as odd in either way."""
        return min(1.0, 2 * min(self.p_likelihood, self.p_excess))


def noise_floor(golden: Sequence[tuple[int, int]], *, rng: np.random.Generator, draws: int = 2000) -> NoiseFloor:
    """Expected scores of golden against a label drawn from golden.

    Parameters
    ----------
    golden
        Pairs (k, m): golden called in k of m draws, m at least 2, one pair per prompt.
    draws
        Simulated runs for the range.

    Notes
    -----
    With probability p both call with p^2 and differ with 2 p (1 - p). The sums are unbiased over the m draws:
    k (k - 1) / (m (m - 1)) for p^2. F1 of sums, sum p^2 / sum p, is its expectation up to terms of order 1 / prompts.
    """
    if not golden:
        raise ValueError("`golden` must hold at least one prompt")
    k, m = (np.array(column, dtype=np.float64) for column in zip(*golden, strict=True))
    if (m < 2).any() or (k < 0).any() or (k > m).any():
        raise ValueError("every prompt needs k of m golden draws with m at least 2")
    both, one = k * (k - 1) / (m * (m - 1)), k / m
    differ = 2 * k * (m - k) / (m * (m - 1))
    f1 = float(both.sum() / one.sum()) if one.sum() > 0 else None
    low, high = _range(k, m, rng, draws) if f1 is not None else (None, None)
    return NoiseFloor(f1=f1, low=low, high=high, agreement=float(1 - differ.mean()), n_prompts=len(golden))


def _range(k: Floats, m: Floats, rng: np.random.Generator, draws: int) -> tuple[float, float]:
    """95% of the F1 of two draws of golden, taken from its m without putting the first back."""
    labels = rng.random((draws, k.size)) < k / m
    others = rng.random((draws, k.size)) < (k - labels) / (m - 1)
    both, total = (labels & others).sum(axis=1), labels.sum(axis=1) + others.sum(axis=1)
    scores = np.where(total > 0, 2 * both / np.maximum(total, 1), 1.0)
    low, high = np.quantile(scores, [0.025, 0.975])
    return float(low), float(high)


def agreement(decisions: Sequence[Decisions], *, rng: np.random.Generator, draws: int = 9999) -> Agreement:
    """Hold an endpoint's decisions against golden's.

    Notes
    -----
    Under the null, golden's draws and the endpoint's answers to a prompt are exchangeable: given how many of all
    called, the endpoint's number is hypergeometric, and prompts are independent. Two statistics: the log likelihood
    under golden's probabilities, whose estimate (k + 1/2) / (m + 1) is taken anew for every redistribution (low is
    odd), and the number of calls (odd either way; on prompts where golden is undecided the likelihood is blind to it).
    So both tests are exact however small m is: p = (1 + extreme) / (1 + draws).
    """
    if not decisions:
        raise ValueError("`decisions` must hold at least one prompt")
    columns = np.array([(one.golden_k, one.golden_n, one.k, one.n) for one in decisions], dtype=np.int64).T
    golden_k, golden_n, k, n = columns
    total, observed = int(n.sum()), float(_likelihood(golden_k, golden_n, k, n).sum())
    null, calls = _redrawn(golden_k + k, golden_n, n, draws, rng)
    spread, gap = float(null.std()), observed - float(null.mean())
    expected = float((n * (golden_k + k) / (golden_n + n)).sum())
    as_far = np.abs(calls - expected) >= abs(float(k.sum()) - expected) - 1e-9
    chance, own = golden_k / golden_n, k / n
    return Agreement(
        agreement=float((n * (own * chance + (1 - own) * (1 - chance))).sum() / total),
        expected=float((n * _same(golden_k, golden_n)).sum() / total),
        log_ratio=gap / total, z=gap / spread if spread > 0 else 0.0,
        excess=float((n * (own - chance)).sum() / total),
        p_likelihood=monte_carlo_p(int((null <= observed + 1e-9).sum()), draws),
        p_excess=monte_carlo_p(int(as_far.sum()), draws), n=total,
    )  # fmt: skip


def _same(k: Counts, m: Counts) -> Floats:
    """Chance that two draws of golden agree; with one draw alone, that draw's own."""
    pairs = np.maximum(m * (m - 1), 1)
    return np.asarray(np.where(m > 1, 1 - 2 * k * (m - k) / pairs, 1.0))


def _likelihood(golden_k: Counts, golden_n: Counts, k: Counts, n: Counts) -> Floats:
    p = (golden_k + 0.5) / (golden_n + 1)
    return np.asarray(k * np.log(p) + (n - k) * np.log1p(-p))


def _redrawn(
    called: Counts, golden_n: Counts, n: Counts, draws: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:  # fmt: skip
    """Likelihoods, and numbers of calls, after the calls of each prompt were dealt anew to golden and endpoint."""
    found, calls = [], []
    step = max(1, _BLOCK // called.size)
    for begin in range(0, draws, step):
        size = (min(step, draws - begin), called.size)
        k = rng.hypergeometric(called, golden_n + n - called, n, size=size)
        found.append(_likelihood(called - k, golden_n, k, n).sum(axis=1))
        calls.append(k.sum(axis=1).astype(np.float64))
    return np.concatenate(found), np.concatenate(calls)


@dataclass(frozen=True, slots=True, kw_only=True)
class CountMix:
    """Numbers of calls per answer on two sides: cosine (as MiniMax has it), total variation, and a p-value."""

    cosine: float
    total_variation: float
    p_value: float
    n: int


def count_mix(
    endpoint: Sequence[int], golden: Sequence[int], *, rng: np.random.Generator, draws: int = 1999
) -> CountMix:
    """Compare how many calls answers make; the p-value permutes the sides (chi-square as statistic)."""
    if not endpoint or not golden:
        raise ValueError("both sides need at least one answer")
    width, n = max(*endpoint, *golden) + 1, len(endpoint)
    first, second = (np.bincount(side, minlength=width).astype(np.float64) for side in (endpoint, golden))
    totals = first + second
    dealt = rng.multivariate_hypergeometric(totals.astype(np.int64), n, size=draws)

    def chi_square(side: Floats) -> Floats:
        wanted = totals * n / totals.sum()
        return np.asarray((((side - wanted) ** 2)[..., totals > 0] / wanted[totals > 0]).sum(axis=-1))

    extreme = int((chi_square(dealt.astype(np.float64)) >= chi_square(first) - 1e-9).sum())
    return CountMix(
        cosine=float(first @ second / (np.linalg.norm(first) * np.linalg.norm(second))),
        total_variation=float(abs(first / first.sum() - second / second.sum()).sum() / 2),
        p_value=monte_carlo_p(extreme, draws), n=n,
    )  # fmt: skip
