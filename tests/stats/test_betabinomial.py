"""Flip rates: scipy's beta-binomial, exact enumeration of the composite null, and bar B6 in small."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import betabinom, binom

from monitor.stats.betabinomial import alternatives, fit, flip_log_ratios, flip_process, log_likelihood, rate_interval
from tests.stats.worlds import flips


@given(st.integers(1, 300), st.floats(0.001, 0.5), st.sampled_from([0.0, 0.001, 0.05, 0.4]), st.data())
def test_likelihood_against_scipy(n: int, p: float, rho: float, data: st.DataObject) -> None:
    k = data.draw(st.integers(0, n))
    ours = log_likelihood([k, k], [n, n], [p, 0.5], rho)[0]
    size = 1 / rho - 1 if rho else np.inf
    oracle = [
        betabinom.logpmf(k, n, q * size, (1 - q) * size) if rho else binom.logpmf(k, n, q) for q in (p, 0.5)
    ]
    assert ours[0] - ours[1] == pytest.approx(oracle[0] - oracle[1], abs=1e-6)


@settings(max_examples=60)
@given(
    st.floats(0.002, 0.3), st.floats(0.0, 1.0), st.floats(0.0, 1.0), st.sampled_from([0.0, 0.01, 0.05, 0.2]),
    st.integers(1, 200),
)  # fmt: skip
def test_every_ratio_is_an_e_value_on_the_whole_null(p0: float, p: float, part: float, rho: float, n: int) -> None:
    """Exact enumeration over k: expectation at most 1 for every rate up to p0 and every correlation up to rho."""
    k = np.arange(n + 1)
    ratios = np.exp(flip_log_ratios(k, np.full(n + 1, n), p0=p0, rho=rho))
    size = 1 / (rho * part) - 1 if rho * part > 1e-6 else np.inf
    for rate in (p0, max(p0 * p, 1e-6)):
        pmf = binom.pmf(k, n, rate) if size == np.inf else betabinom.pmf(k, n, rate * size, (1 - rate) * size)
        assert (pmf @ ratios <= 1 + 1e-6).all()


def test_the_expectation_is_one_at_the_edge_of_the_null() -> None:
    k = np.arange(201)
    ratios = np.exp(flip_log_ratios(k, np.full(201, 200), p0=0.025, rho=0.005))
    assert betabinom.pmf(k, 200, 0.025 * 199, 0.975 * 199) @ ratios == pytest.approx(np.ones(5), abs=1e-9)


def test_false_alarms_when_the_correlation_is_overrated() -> None:
    """Independent flips, rho = .01 assumed: undivided, 6% of worlds alarm at alpha = .01; bound 12 of 400."""
    rng = np.random.default_rng(5)
    n = np.full(400, 200)
    counts = [flips(rng, p=0.025, rho=0.0, size=400) for _ in range(400)]
    assert sum(flip_process(k, n, p0=0.025, rho=0.01).looks_to(0.01) is not None for k in counts) <= 12


def test_false_alarms_of_clustered_flips() -> None:
    """B6: p = p0, rho = .01, 400 looks of 200 tokens: at most 12 of 400 at alpha = .01 (99.9%); the binomial fails."""
    rng = np.random.default_rng(6)
    n = np.full(400, 200)
    counts = [flips(rng, p=0.025, rho=0.01, size=400) for _ in range(400)]
    ours = sum(flip_process(k, n, p0=0.025, rho=0.01).looks_to(0.01) is not None for k in counts)
    binomial = sum(flip_process(k, n, p0=0.025, rho=0.0).looks_to(0.01) is not None for k in counts)
    assert ours <= 12 < binomial


@pytest.mark.parametrize(
    ("rho", "requests", "times", "most"),
    [(0.0, 1, 1.6, 10), (0.0, 1, 2.4, 3), (0.01, 10, 1.6, 10), (0.01, 10, 2.4, 3)],
)
def test_median_delay(rho: float, requests: int, times: float, most: int) -> None:
    """B6: looks of 200 tokens until p = 1.6 p0 and 2.4 p0 are found at alpha = .01 (published 8 and 2)."""
    rng = np.random.default_rng(7)
    n = np.full(60 * requests, 200 // requests)
    counts = [flips(rng, p=0.025 * times, rho=rho, size=n.size, n=int(n[0])) for _ in range(200)]
    delays = [flip_process(k, n, p0=0.025, rho=rho).looks_to(0.01) or n.size for k in counts]
    assert np.median(delays) / requests <= most


def test_each_request_may_have_its_own_tolerance() -> None:
    k, n = [3, 1, 9], [200, 100, 200]
    ours = flip_log_ratios(k, n, p0=[0.01, 0.02, 0.05], rho=0.01)
    single = [flip_log_ratios([a], [b], p0=c, rho=0.01)[0] for a, b, c in zip(k, n, (0.01, 0.02, 0.05), strict=True)]
    assert ours == pytest.approx(np.array(single))


@given(st.floats(0.0001, 0.9999))
def test_alternatives_lie_between_tolerance_and_one(p0: float) -> None:
    assert ((alternatives(p0) > p0) & (alternatives(p0) < 1)).all()


def test_interval_covers_at_every_look() -> None:
    """95% interval at looks 1, 5, 20, 60 of 300 worlds: some look misses the rate in at most 8% (99.9% bound 27)."""
    rng = np.random.default_rng(8)
    n = np.full(60, 200)
    missed = 0
    for _ in range(300):
        k = flips(rng, p=0.03, rho=0.01, size=60)
        found = [rate_interval(k[:t], n[:t], rho=0.01) for t in (1, 5, 20, 60)]
        missed += any(not one.low <= 0.03 <= one.high for one in found)
    assert missed <= 27
    assert found[-1].high - found[-1].low < 0.025


def test_no_flip_bounds_from_above_only() -> None:
    found = rate_interval([0] * 10, [200] * 10, rho=0.0)
    assert (found.estimate, found.low) == (0.0, 0.0)
    assert 0 < found.high < 0.01


def test_fit_finds_rate_and_correlation() -> None:
    """300 requests with p = .02, rho = .01: within sampling error, bounds above in 48 of 50 worlds."""
    rng = np.random.default_rng(9)
    n = np.full(300, 200)
    fits = [fit(flips(rng, p=0.02, rho=0.01, size=300), n) for _ in range(50)]
    assert np.mean([one.p for one in fits]) == pytest.approx(0.02, rel=0.05)
    assert np.mean([one.rho for one in fits]) == pytest.approx(0.01, rel=0.15)
    assert sum(one.p_high >= 0.02 and one.rho_high >= 0.01 for one in fits) >= 46


def test_fit_without_flips() -> None:
    found = fit([0] * 50, [200] * 50)
    assert (found.p, found.rho) == (0.0, 0.0)
    assert 0 < found.p_high < 0.01


@pytest.mark.parametrize(("k", "n"), [([], []), ([3], [2]), ([1, 2], [3]), ([0.5], [2]), ([0], [0])])
def test_unusable_counts(k: list[float], n: list[float]) -> None:
    with pytest.raises(ValueError, match=r"`k`|`n`"):
        flip_process(k, n, p0=0.02, rho=0.01)


def test_unusable_rates() -> None:
    with pytest.raises(ValueError, match="`p`"):
        flip_process([1], [10], p0=0.0, rho=0.01)
    with pytest.raises(ValueError, match="rho"):
        flip_process([1], [10], p0=0.1, rho=1.0)
