"""Monte-Carlo p-values (bar B15): exact level by enumeration, never 0, enough draws."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.stats.montecarlo import draws_for, monte_carlo_p


@given(st.integers(1, 10**6).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_never_zero_never_above_one(pair: tuple[int, int]) -> None:
    extreme, draws = pair
    assert 1 / (draws + 1) <= monte_carlo_p(extreme, draws) <= 1


@pytest.mark.parametrize("alpha", [0.05, 0.01, 0.001, 0.01 / 3, 1e-5])
def test_enough_draws_and_exact_level(alpha: float) -> None:
    """The observed value's rank among B + 1 is uniform, so P(p <= alpha) is the share of the ranks k / (B + 1)."""
    draws = draws_for(alpha)
    assert draws >= 20 / alpha
    ranks = int(alpha * (draws + 1) * (1 + 1e-12))
    assert monte_carlo_p(ranks - 1, draws) <= alpha * (1 + 1e-12)
    assert monte_carlo_p(ranks, draws) > alpha
    assert ranks / (draws + 1) == pytest.approx(alpha, rel=1e-3)


@pytest.mark.parametrize(("extreme", "draws"), [(-1, 10), (11, 10), (0, 0)])
def test_impossible_counts(extreme: int, draws: int) -> None:
    with pytest.raises(ValueError, match="n_extreme"):
        monte_carlo_p(extreme, draws)
