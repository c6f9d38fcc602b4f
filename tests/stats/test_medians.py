"""Medians with intervals. Oracle: exact enumeration of orders, and the coverage that the interval promises."""

from itertools import product

import numpy as np
import pytest

from monitor.stats.medians import FEWEST, median_of


@pytest.mark.parametrize("n", range(1, 12))
def test_the_interval_covers_exactly_as_often_as_promised_and_one_step_less_does_not(n: int) -> None:
    """Each value is below the true median (0) or above it with probability 1/2: all 2^n sign patterns are equal."""
    covered = tighter = 0
    for signs in product((-1, 1), repeat=n):
        # Sizes differ, so that order statistics are told apart; signs alone decide on which side they are.
        values = sorted(sign * (1 + index / 100) for index, sign in enumerate(signs))
        found = median_of(values)
        if found.low is None or found.high is None:
            assert n < FEWEST
            continue
        covered += found.low <= 0 <= found.high
        d = values.index(found.low)
        tighter += values[d + 1] <= 0 <= values[n - 2 - d] if d + 1 < n - 1 - d else 0
    if n >= FEWEST:
        assert covered / 2**n >= 0.95
        assert tighter / 2**n < 0.95  # the shortest symmetric one


def test_coverage_on_skewed_values_of_a_known_median() -> None:
    rng = np.random.default_rng(3)
    found = [median_of(rng.lognormal(size=25).tolist()) for _ in range(600)]
    covered = sum(one.low <= 1.0 <= one.high for one in found if one.low is not None and one.high is not None)
    assert 0.94 <= covered / 600 <= 0.985  # 25 values: 0.957 exactly


def test_five_values_have_a_median_and_no_interval() -> None:
    found = median_of([5.0, 1.0, 4.0, 2.0, 3.0])
    assert (found.value, found.low, found.high, found.n) == (3.0, None, None, 5)
    assert median_of([1.0, 2, 3, 4, 5, 6]).low == 1.0


def test_no_values_are_a_mistake_of_the_caller() -> None:
    with pytest.raises(ValueError, match="must not be empty"):
        median_of([])
