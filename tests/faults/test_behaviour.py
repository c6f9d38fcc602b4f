"""Behavioural kinds beside the reference. Oracles: what each series was made to have, and exact binomial sums."""

from math import comb

import numpy as np
import pytest
from scipy.stats import binomtest

from monitor.faults.behaviour import behave, behaviours, compare, smallest_rate
from monitor.faults.catalogue import BY_NAME, CATALOGUE
from tests.faults.series import ALIAS, COLD, OTHER_FORM, SERIES, N, Series

KINDS = [fault.name for fault in CATALOGUE if fault.behavioural]


def found(series: Series) -> set[str]:
    return {one.name for one in behaviours(series.endpoint, series.reference, again=series.again)}


def test_every_behavioural_kind_has_a_series() -> None:
    assert set(SERIES) == set(KINDS)
    assert {BY_NAME[name].number for name in KINDS} == {25, 26, 27, 28, 34, 35, 36, 37, 38, 40}


@pytest.mark.parametrize("kind", KINDS)
def test_exactly_this_kind_is_found(kind: str) -> None:
    assert found(SERIES[kind]) == {kind}


@pytest.mark.parametrize("kind", OTHER_FORM)
def test_exactly_this_kind_is_found_in_the_other_form(kind: str) -> None:
    assert found(OTHER_FORM[kind]) - {"quantised"} == {kind}
    forms = {one.request.stream for one in (*SERIES[kind].endpoint, *OTHER_FORM[kind].endpoint) if one.request}
    assert forms == {True, False}


@pytest.mark.parametrize("kind", KINDS)
def test_the_reference_beside_itself_is_clean(kind: str) -> None:
    series = SERIES[kind]
    assert found(Series(series.again or series.reference, series.reference, series.again)) == set()


def test_other_faces() -> None:
    assert "sampling_ignored" in found(COLD)
    assert "cache_changes" not in found(COLD)
    assert "other_model" not in found(ALIAS), "an alias alone proves nothing"


@pytest.mark.parametrize("kind", KINDS)
def test_alpha_and_power_are_stated(kind: str) -> None:
    series = SERIES[kind]
    one = behave(kind, series.endpoint, series.reference, again=series.again)
    assert (one.alpha, one.power) == (0.001, 0.9)
    assert one.n == N
    assert one.mde is not None
    assert 0 < one.mde < 1
    assert one.k > one.k_reference


def test_nothing_to_compare_is_no_finding() -> None:
    one = behave("repetition_loop", (), ())
    assert (one.n, one.p_value, one.found, one.mde) == (0, None, None, None)


def test_p_value_is_that_of_the_sign_test() -> None:
    own = {str(at): at < 14 for at in range(40)}
    theirs = {str(at): 12 <= at < 15 for at in range(40)}
    expected = binomtest(12, 13, 0.5, alternative="greater").pvalue
    assert compare("x", own, theirs).p_value == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("n", [10, 32, 176])
def test_smallest_rate_has_the_power_it_states(n: int) -> None:
    rate = smallest_rate(n)
    assert rate is not None
    power = sum(comb(n, k) * rate**k * (1 - rate) ** (n - k) for k in range(10, n + 1))
    assert power == pytest.approx(0.9, abs=1e-9)
    assert smallest_rate(9) is None, "2 ** -9 is above 0.001"


def test_type_one_error_over_many_endpoints_that_are_the_reference() -> None:
    """Rate of signs 0.3 on both sides, 400 simulated runs at alpha 0.05: at most 0.05 plus three standard errors."""
    rng = np.random.default_rng(5)
    alarms = 0
    for _ in range(400):
        own, theirs = rng.random((2, 60)) < 0.3
        one = compare("x", dict(enumerate_(own)), dict(enumerate_(theirs)), alpha=0.05)
        alarms += bool(one.found)
    assert alarms / 400 <= 0.05 + 3 * (0.05 * 0.95 / 400) ** 0.5


def enumerate_(values: "np.ndarray[tuple[int], np.dtype[np.bool_]]") -> list[tuple[str, bool]]:
    return [(str(at), bool(value)) for at, value in enumerate(values)]
