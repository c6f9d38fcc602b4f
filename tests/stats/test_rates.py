"""Wilson intervals against published values and against the defining equation."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest

from monitor.stats.rates import wilson


@pytest.mark.parametrize(("k", "n"), [(0, 10), (10, 10), (7, 10), (1, 3), (81, 263), (15, 148)])
def test_against_scipy(k: int, n: int) -> None:
    oracle = binomtest(k, n).proportion_ci(method="wilson")
    rate = wilson(k, n)
    assert rate.low == pytest.approx(oracle.low, abs=1e-12)
    assert rate.high == pytest.approx(oracle.high, abs=1e-12)


def test_published_example() -> None:
    # R. G. Newcombe, Statist. Med. 17 (1998), table I, method 3: 81/263 -> .2553 to .3662
    rate = wilson(81, 263)
    assert (round(rate.low or 0, 4), round(rate.high or 0, 4)) == (0.2553, 0.3662)


def test_nothing_known_is_none_not_zero() -> None:
    assert wilson(0, 0).value is None
    assert wilson(0, 0).low is None


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_contains_the_rate_and_stays_inside(pair: tuple[int, int]) -> None:
    rate = wilson(*pair)
    assert rate.low is not None
    assert rate.high is not None
    assert rate.value is not None
    assert 0 <= rate.low <= rate.value <= rate.high <= 1


@pytest.mark.parametrize(("k", "n"), [(-1, 3), (4, 3)])
def test_impossible_counts(k: int, n: int) -> None:
    with pytest.raises(ValueError, match="`k`"):
        wilson(k, n)


def test_impossible_confidence() -> None:
    with pytest.raises(ValueError, match="confidence"):
        wilson(1, 2, confidence=1.0)


def test_trials_that_come_out_alike_count_as_one() -> None:
    pairs, single = wilson(10, 40, design=2.0), wilson(5, 20)
    assert (pairs.value, pairs.low, pairs.high) == pytest.approx((single.value, single.low, single.high))
    with pytest.raises(ValueError, match="design"):
        wilson(1, 2, design=0.5)


def test_the_interval_covers_where_both_forms_of_17_cases_agree() -> None:
    """Oracle: the exact binomial distribution of the cases, rates from 2% to 98%. Taken for 34 it is too narrow."""

    def coverage(design: float, rate: float) -> float:
        chances = binom.pmf(range(18), 17, rate)
        rates = [wilson(2 * k, 34, design=design) for k in range(18)]
        return float(sum(p for p, one in zip(chances, rates, strict=True) if (one.low or 0) <= rate <= (one.high or 0)))

    steps = [step / 50 for step in range(1, 50)]
    alike, apart = (sum(coverage(design, rate) for rate in steps) / len(steps) for design in (2.0, 1.0))
    assert alike >= 0.94
    assert apart < 0.86
