"""Ranks and PIT: exact uniformity by enumeration, the published formula as a failing control, CvM by Monte Carlo."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kstest

from monitor.stats.ranks import discrete_pit, randomised_ranks, uniformity
from tests.stats.worlds import draw, logits


@pytest.mark.parametrize("m", [1, 2, 5])
def test_mean_of_each_rank_by_enumeration(m: int) -> None:
    """Without ties, a score in place r of m + 1 has rank uniform on (r / (m + 1), (r + 1) / (m + 1))."""
    golden = np.tile(np.arange(1, m + 1, dtype=float), (4000, 1))
    for place in range(m + 1):
        ranks = randomised_ranks(np.full(4000, place + 0.5), golden, rng=np.random.default_rng(place))
        assert (ranks > place / (m + 1)).all()
        assert (ranks <= (place + 1) / (m + 1)).all()
        assert ranks.mean() == pytest.approx((place + 0.5) / (m + 1), abs=0.01 / (m + 1) * 2)


@pytest.mark.parametrize(("m", "n"), [(5, 100), (10, 100), (20, 1000), (100, 100)])
def test_level(m: int, n: int) -> None:
    """B13 in small, scores with many ties: rejections of 300 null worlds at 5% within the 99.9% bounds 4 to 29."""
    rng = np.random.default_rng(m * n)
    rejected = published = 0
    for _ in range(300):
        scores = rng.integers(0, 30, (n, m + 1)).astype(float)
        observed, golden = scores[:, 0], scores[:, 1:]
        rejected += uniformity(randomised_ranks(observed, golden, rng=rng)).p_value <= 0.05
        less, ties = (golden < observed[:, None]).sum(axis=1), (golden == observed[:, None]).sum(axis=1)
        published += uniformity((less + rng.random(n) * ties) / m).p_value <= 0.05
    assert 4 <= rejected <= 29
    if m == 5:
        assert published > 200


def test_power_against_a_shift() -> None:
    """Scores half a standard deviation up, 100 prompts, 20 golden answers each: found in at least 95 of 100 worlds."""
    rng = np.random.default_rng(13)
    found = 0
    for _ in range(100):
        ranks = randomised_ranks(rng.normal(0.5, 1, 100), rng.normal(0, 1, (100, 20)), rng=rng)
        found += uniformity(ranks).p_value <= 0.01
    assert found >= 90


def test_pit_of_sampled_tokens_is_uniform_and_sees_a_sharper_sampler() -> None:
    """Oracle: Kolmogorov-Smirnov of scipy on tokens drawn from the distribution itself, and at temperature 0.8."""
    rng = np.random.default_rng(14)
    table = -np.sort(-logits(rng, 4000, 50), axis=1)
    below = np.cumsum(np.exp(table), axis=1) - np.exp(table)
    rows = np.arange(4000)

    def pit(temperature: float) -> np.ndarray:
        token = draw(rng, table / temperature)
        return discrete_pit(np.clip(below[rows, token], 0, 1), np.exp(table[rows, token]), rng=rng)

    assert kstest(pit(1.0), "uniform").pvalue > 0.001
    assert kstest(pit(0.8), "uniform").pvalue < 1e-6
    assert pit(0.8).mean() < 0.47


def test_statistic_by_its_definition() -> None:
    u = np.array([0.9, 0.2, 0.35])
    by_hand = 1 / 36 + (1 / 6 - 0.2) ** 2 + (3 / 6 - 0.35) ** 2 + (5 / 6 - 0.9) ** 2
    assert uniformity(u).statistic == pytest.approx(by_hand, rel=1e-12)


@pytest.mark.parametrize("n", [5, 50])
def test_p_value_against_monte_carlo(n: int) -> None:
    rng = np.random.default_rng(15)
    u = np.sort(rng.random((200_000, n)), axis=1)
    null = 1 / (12 * n) + (((2 * np.arange(1, n + 1) - 1) / (2 * n) - u) ** 2).sum(axis=1)
    for level in (0.5, 0.05, 0.01, 0.001):
        row = int(np.argsort(null)[int((1 - level) * null.size)])
        assert uniformity(u[row]).p_value == pytest.approx(level, rel=0.12)


def test_tail_continues_where_the_series_ends() -> None:
    """Both formulas agree near the switch, p falls on beyond it and is never 0."""
    p = [uniformity(np.random.default_rng(1).random(400) ** power).p_value for power in np.linspace(1, 2.2, 60)]
    assert (np.diff(np.log(p)[np.array(p) < 1e-3]) < 0).all()
    assert max(-np.diff(np.log(p))) < 4
    assert uniformity(np.full(2000, 1e-9)).p_value > 0


@given(st.lists(st.floats(0, 1), min_size=2, max_size=50))
def test_p_is_a_probability_above_zero(values: list[float]) -> None:
    assert 0 < uniformity(values).p_value <= 1


def test_unusable_input() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="golden"):
        randomised_ranks([1.0, 2.0], [[1.0]], rng=rng)
    with pytest.raises(ValueError, match="`below` and `mass`"):
        discrete_pit([0.9], [0.2], rng=rng)
    with pytest.raises(ValueError, match="at least two"):
        uniformity([0.5])
    with pytest.raises(ValueError, match="values"):
        uniformity([0.5, 1.5])
