"""Decisions against golden's. Oracles: exact enumeration, theory, and simulated endpoints."""

import itertools
import math
from collections.abc import Sequence

import numpy as np
import pytest
from scipy.stats import hypergeom, kstest

from monitor.ports import Floats
from monitor.tools.triggers import Decisions, agreement, count_mix, noise_floor

RNG = np.random.default_rng(77)


def golden_of(p: Floats, m: int, rng: np.random.Generator) -> list[tuple[int, int]]:
    return [(int(rng.binomial(m, one)), m) for one in p]


def decisions(
    golden: Sequence[tuple[int, int]], p: Floats, rng: np.random.Generator, n: int = 2
) -> list[Decisions]:  # fmt: skip
    return [
        Decisions(golden_k=k, golden_n=m, k=int(rng.binomial(n, one)), n=n)
        for (k, m), one in zip(golden, p, strict=True)
    ]


def test_the_floor_is_that_of_two_throws_of_the_same_coins() -> None:
    """With all probabilities 0.76, golden's F1 against its own label is 0.76: "76% is the ceiling"."""
    p = np.full(4000, 0.76)
    floor = noise_floor(golden_of(p, 20, np.random.default_rng(1)), rng=np.random.default_rng(2), draws=300)
    assert floor.f1 is not None
    assert floor.low is not None
    assert floor.high is not None
    assert floor.f1 == pytest.approx(0.76, abs=0.01)
    assert floor.low < 0.76 < floor.high
    assert floor.agreement == pytest.approx(0.76**2 + 0.24**2, abs=0.01)


def test_the_floor_is_unbiased_from_few_draws() -> None:
    """Three draws per prompt say the same on average as the true probabilities: sum p^2 / sum p."""
    p = np.random.default_rng(3).beta(1.5, 1, 5000)
    floor = noise_floor(golden_of(p, 3, np.random.default_rng(4)), rng=np.random.default_rng(5), draws=50)
    assert floor.f1 == pytest.approx((p**2).sum() / p.sum(), abs=0.01)


def test_where_golden_never_calls_there_is_no_f1() -> None:
    floor = noise_floor([(0, 5), (0, 5)], rng=RNG)
    assert (floor.f1, floor.low, floor.agreement) == (None, None, 1.0)


def test_p_is_exact_on_a_case_that_can_be_enumerated() -> None:
    some = [Decisions(golden_k=3, golden_n=4, k=0, n=2), Decisions(golden_k=1, golden_n=4, k=1, n=2)]

    def score(ks: tuple[int, ...]) -> float:
        total = 0.0
        for one, k in zip(some, ks, strict=True):
            p = (one.golden_k + one.k - k + 0.5) / (one.golden_n + 1)
            total += k * math.log(p) + (one.n - k) * math.log(1 - p)
        return total

    observed = score(tuple(one.k for one in some))
    lower = farther = 0.0
    expected = sum(one.n * (one.golden_k + one.k) / (one.golden_n + one.n) for one in some)
    for ks in itertools.product(range(3), range(3)):
        weight = math.prod(
            hypergeom.pmf(k, one.golden_n + one.n, one.golden_k + one.k, one.n) for one, k in zip(some, ks, strict=True)
        )
        if weight > 0:
            lower += weight * (score(ks) <= observed + 1e-9)
            farther += weight * (abs(sum(ks) - expected) >= abs(1 - expected) - 1e-9)
    found = agreement(some, rng=np.random.default_rng(8), draws=40_000)
    assert found.p_likelihood == pytest.approx(lower, abs=0.01)
    assert found.p_excess == pytest.approx(farther, abs=0.01)


def test_golden_itself_is_not_accused() -> None:
    """P-values of 200 faithful endpoints are uniform (or above), though each prompt has 8 golden draws only."""
    rng = np.random.default_rng(9)
    found = []
    for _ in range(200):
        p = rng.beta(1, 0.6, 40)
        found.append(agreement(decisions(golden_of(p, 8, rng), p, rng), rng=rng, draws=499))
    for p_values in ([one.p_likelihood for one in found], [one.p_excess for one in found]):
        assert kstest(p_values, "uniform", alternative="greater").pvalue > 0.01


def test_the_likelihood_finds_what_an_f1_threshold_does_not() -> None:
    """Same data, same level (5%, calibrated by simulation): an endpoint that ignores the prompts' probabilities."""
    rng = np.random.default_rng(10)
    p = rng.beta(3, 1, 40)
    golden = golden_of(p, 20, rng)
    labels = rng.random(40) < p

    def f1(k: Floats) -> float:
        return float(2 * (k * labels).sum() / (k.sum() + labels.sum()))

    null = [f1((rng.random(40) < p).astype(float)) for _ in range(600)]
    threshold = np.quantile(null, 0.05)
    served = np.full(40, p.mean())
    by_f1 = by_likelihood = 0
    for _ in range(100):
        made = decisions(golden, served, rng, n=1)
        by_f1 += int(f1(np.array([one.k for one in made], dtype=float)) < threshold)
        by_likelihood += agreement(made, rng=rng, draws=199).p_value <= 0.05
    assert by_likelihood > by_f1 + 10


def test_the_direction_is_told() -> None:
    golden = [(4, 8)] * 50
    never = [Decisions(golden_k=k, golden_n=m, k=0, n=2) for k, m in golden]
    found = agreement(never, rng=np.random.default_rng(11))
    assert found.excess == pytest.approx(-0.5)
    assert found.agreement == 0.5
    assert found.p_value <= 0.001


def test_numbers_of_calls() -> None:
    same = count_mix([1] * 40 + [2] * 20, [1] * 40 + [2] * 20, rng=np.random.default_rng(12))
    other = count_mix([1] * 60, [2] * 60, rng=np.random.default_rng(13))
    assert same.cosine == pytest.approx(1.0)
    assert (same.total_variation, same.p_value) == (0.0, 1.0)
    assert (other.cosine, other.total_variation) == (0.0, 1.0)
    assert other.p_value < 0.001


def test_input_is_checked() -> None:
    with pytest.raises(ValueError, match="k of n > 0"):
        Decisions(golden_k=2, golden_n=1, k=0, n=1)
    with pytest.raises(ValueError, match="at least one"):
        agreement([], rng=RNG)
    with pytest.raises(ValueError, match="at least one"):
        noise_floor([], rng=RNG)
    with pytest.raises(ValueError, match="m at least 2"):
        noise_floor([(1, 1)], rng=RNG)
    with pytest.raises(ValueError, match="at least one answer"):
        count_mix([], [1], rng=RNG)
