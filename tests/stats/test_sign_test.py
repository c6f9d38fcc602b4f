"""Matched pairs that disagree. Oracle: scipy's binomial test."""

import pytest
from scipy.stats import binomtest

from monitor.stats.sign_test import as_many, more_of_first

PAIRS = [(0, 0), (5, 0), (3, 3), (10, 2), (0, 11)]


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_both_sides_are_compared_by_mcnemars_exact_test(first: int, second: int) -> None:
    wanted = binomtest(first, first + second, 0.5).pvalue if first + second else 1.0
    assert as_many(first, second) == pytest.approx(wanted)


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_one_side_is_its_upper_tail(first: int, second: int) -> None:
    wanted = binomtest(first, first + second, 0.5, alternative="greater").pvalue if first + second else 1.0
    assert more_of_first(first, second) == pytest.approx(wanted)
