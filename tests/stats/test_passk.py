"""pass@k and pass^k: exact enumeration of all draws, unbiasedness, published cases."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.stats.passk import pass_at_k, pass_hat_k


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 8).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n), st.integers(1, n))))
def test_against_enumeration(case: tuple[int, int, int]) -> None:
    correct, attempts, k = case
    tries = [1] * correct + [0] * (attempts - correct)
    draws = list(combinations(tries, k))
    rng = np.random.default_rng(0)
    assert pass_at_k([correct], [attempts], k, rng=rng).value == pytest.approx(np.mean([max(draw) for draw in draws]))
    assert pass_hat_k([correct], [attempts], k, rng=rng).value == pytest.approx(np.mean([min(draw) for draw in draws]))


def test_unbiased() -> None:
    """Tasks solved with probability .3: the mean estimate from 10 attempts is 1 - .7^5 and .3^2 within 4 sigma."""
    rng = np.random.default_rng(50)
    correct, attempts = rng.binomial(10, 0.3, 20_000), np.full(20_000, 10)
    at_five = np.mean(pass_at_k(correct[:2000], attempts[:2000], 5, rng=rng).value)
    both = np.mean(pass_hat_k(correct[:2000], attempts[:2000], 2, rng=rng).value)
    assert at_five == pytest.approx(1 - 0.7**5, abs=0.02)
    assert both == pytest.approx(0.09, abs=0.012)


def test_large_counts_do_not_overflow() -> None:
    found = pass_at_k([1, 5000], [10_000, 10_000], 100, rng=np.random.default_rng(0))
    assert found.per_task[0] == pytest.approx(0.01)
    assert found.per_task[1] == pytest.approx(1.0)


def test_interval_over_tasks() -> None:
    found = pass_at_k([0, 2, 10, 4, 7], [10] * 5, 3, rng=np.random.default_rng(0))
    assert found.low is not None
    assert found.high is not None
    assert found.low < found.value < found.high
    assert pass_at_k([3], [10], 1, rng=np.random.default_rng(0)).low is None


@pytest.mark.parametrize("k", [0, 4])
def test_k_must_not_exceed_the_attempts(k: int) -> None:
    with pytest.raises(ValueError, match="`k`"):
        pass_at_k([1, 2], [3, 9], k, rng=np.random.default_rng(0))
