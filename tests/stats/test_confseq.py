"""Confidence sequences: coverage over all looks, width against a fixed-time interval, closed forms, tolerance tests."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.stats import norm

from monitor.stats.confseq import capped_mean, mean_above, mean_below, mean_sequence, normal_sequence


def skewed(rng: np.random.Generator, size: int, mean: float = 0.05) -> np.ndarray:
    """Values in [0, 1] like divergences of requests: most small, a few large."""
    return rng.beta(0.5, 0.5 / mean - 0.5, size)


def test_covers_at_every_look() -> None:
    """Skewed values with mean .05: some of 150 looks misses it in at most 5% of 200 worlds (99.9% bound 21)."""
    rng = np.random.default_rng(40)
    missed = 0
    for _ in range(200):
        found = mean_sequence(skewed(rng, 150), low=0, high=1, confidence=0.95, grid=100)
        missed += bool(((found.low > 0.05) | (found.high < 0.05)).any())
    assert missed <= 21


def test_adapts_to_small_variance() -> None:
    """After 1000 looks within three normal intervals' width, far narrower than Hoeffding's."""
    x = skewed(np.random.default_rng(41), 1000)
    found = mean_sequence(x, low=0, high=1)
    width = found.high[-1] - found.low[-1]
    assert width < 3 * 2 * 1.96 * x.std() / np.sqrt(1000)
    assert width < np.sqrt(np.log(40) / 2 / 1000)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(-3, 5), min_size=1, max_size=30))
def test_bounds_only_tighten_and_stay_in_range(values: list[float]) -> None:
    found = mean_sequence(values, low=-3, high=5, grid=100)
    assert (np.diff(found.low) >= 0).all()
    assert (np.diff(found.high) <= 0).all()
    assert ((found.low >= -3) & (found.low < found.high) & (found.high <= 5)).all()
    assert found.mean[-1] == pytest.approx(np.mean(values), abs=1e-9)


def test_mirrored_values_give_mirrored_bounds() -> None:
    x = skewed(np.random.default_rng(42), 60)
    one, other = mean_sequence(x, low=0, high=1), mean_sequence(1 - x, low=0, high=1)
    assert one.low == pytest.approx(1 - other.high)


def test_normal_sequence_at_its_boundary() -> None:
    """Oracle: the mixture likelihood ratio by numerical integration equals 1 / alpha at the bound."""
    x, sigma, scale = np.array([0.3, -1.0, 0.8, 2.0]), 1.3, 0.7
    found = normal_sequence(x, sigma=sigma, scale=scale, confidence=0.9)
    theta = np.linspace(-12, 12, 200_001)
    for t in (1, 4):
        gap = t * (x[:t].mean() - found.low[t - 1])
        ratio = np.exp(theta * gap / sigma**2 - t * theta**2 / (2 * sigma**2)) * norm.pdf(theta, 0, scale)
        assert ratio.sum() * (theta[1] - theta[0]) == pytest.approx(10.0, rel=1e-6)
    assert found.mean - found.low == pytest.approx(found.high - found.mean)


def test_normal_sequence_covers_at_every_look() -> None:
    """500 looks in 400 worlds at 95%: at most 35 misses (99.9% bound)."""
    rng = np.random.default_rng(43)
    found = [normal_sequence(rng.normal(2, 1, 500), sigma=1.0, scale=0.3) for _ in range(400)]
    assert sum(bool(((one.low > 2) | (one.high < 2)).any()) for one in found) <= 35


def test_tolerance_of_a_mean_from_above() -> None:
    """Mean .05 against .05: at most 35 alarms of 400 at 5%; against .03: found at 1% within 400 looks in 19 of 20."""
    rng = np.random.default_rng(44)
    assert sum(mean_above(skewed(rng, 200), null=0.05).looks_to(0.05) is not None for _ in range(400)) <= 35
    assert sum(mean_above(skewed(rng, 400), null=0.025).looks_to(0.01) is not None for _ in range(20)) >= 19


def test_tolerance_of_a_mean_from_below() -> None:
    """Mean .05 against .05: at most 35 alarms of 400; against .1: found at 1% within 400 looks in 19 of 20."""
    rng = np.random.default_rng(45)
    null = sum(mean_below(skewed(rng, 200), null=0.05, upper=1.0).looks_to(0.05) is not None for _ in range(400))
    found = sum(mean_below(skewed(rng, 400), null=0.1, upper=1.0).looks_to(0.01) is not None for _ in range(20))
    assert null <= 35
    assert found >= 19


def test_tolerance_holds_for_a_sticky_pool_of_faithful_backends() -> None:
    """Three backends within tolerance, calls stuck to one: no alarm inflation (sums to at most 5% of 400, bound 35)."""
    rng = np.random.default_rng(46)
    alarms = 0
    for _ in range(400):
        backend = np.repeat(rng.integers(0, 3, 10), 20)
        x = rng.gamma(0.5, np.array([0.02, 0.05, 0.1])[backend] / 0.5)
        alarms += mean_above(x, null=0.1).looks_to(0.05) is not None
    assert alarms <= 35


def test_unusable_input() -> None:
    with pytest.raises(ValueError, match="`x`"):
        mean_sequence([1.5], low=0, high=1)
    with pytest.raises(ValueError, match="`low`"):
        mean_sequence([1.5], low=1, high=1)
    with pytest.raises(ValueError, match="null"):
        mean_above([0.1], null=0.0)
    with pytest.raises(ValueError, match="null"):
        mean_below([0.1], null=1.0, upper=1.0)
    with pytest.raises(ValueError, match="sigma"):
        normal_sequence([0.1], sigma=0.0, scale=1.0)


def test_capped_mean_covers_at_every_look() -> None:
    """Exponential values: with probability 5% at most some of 6 looks misses (99.9% bound of 100 worlds is 13).

    Oracle: for mean 1, ``E min(x / m, 3) = m (1 - exp(-3 m)) / m`` with x / m of mean 1 / m, solved by a root finder.
    """
    true = brentq(lambda m: (1 - np.exp(-3 * m)) / m - 1, 0.5, 2)
    rng, missed = np.random.default_rng(43), 0
    for _ in range(100):
        x = rng.exponential(1.0, 60)
        looks = [capped_mean(x[:n]) for n in range(10, 61, 10)]
        missed += any(one.low > true or (one.high is not None and one.high < true) for one in looks)
    assert missed <= 13


def test_capped_mean_scales_and_ends_agree_with_the_tests() -> None:
    """Oracle: at its ends the tests of a tolerance have just the evidence that rejects."""
    x = np.random.default_rng(44).exponential(0.01, 80)
    found = capped_mean(x)
    assert found.high is not None
    limit = np.log(2 / 0.05)
    assert mean_above(np.minimum(x, 3 * found.low), null=found.low).peak == pytest.approx(limit, rel=0.02)
    below = mean_below(np.minimum(x, 3 * found.high), null=found.high, upper=3 * found.high)
    assert below.peak == pytest.approx(limit, rel=0.02)
    tenfold = capped_mean(10 * x)
    assert tenfold.low == pytest.approx(10 * found.low, rel=2e-3)
    assert tenfold.high == pytest.approx(10 * found.high, rel=2e-3)
    assert found.low < x.mean() < found.high


def test_capped_mean_of_few_or_equal_values() -> None:
    """Two values exclude no large mean; forty zeros exclude every mean above 0 but the least that is looked at."""
    assert capped_mean([0.1, 0.2]).high is None
    for next_to_nothing in (0.0, 1e-310):
        found = capped_mean(np.full(40, next_to_nothing))
        assert found.low == 0
        assert found.high == pytest.approx(0, abs=1e-8)
