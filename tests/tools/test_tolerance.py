"""More faults than tolerated. Oracles: scipy's binomial, exact enumeration, and the numbers of B19."""

import numpy as np
import pytest
from scipy.stats import binom, binomtest

from monitor.tools.tolerance import bounds, excess, smallest_rate, tail

B19 = {"n": 176, "tolerated": 0.001, "served": 0.03, "alpha": 0.001}


def test_one_answer_per_case_is_the_binomial_test() -> None:
    for k in (0, 1, 3, 9):
        found = excess([True] * k + [False] * (50 - k), [1] * 50, tolerated=0.02)
        assert found.p_value == pytest.approx(binomtest(k, 50, 0.02, alternative="greater").pvalue, rel=1e-9)
        assert (found.k, found.n) == (k, 50)


def test_two_answers_per_case_count_once() -> None:
    null = bounds([2] * 30, 0.01)
    assert null[0] == pytest.approx(1 - 0.99**2)
    assert tail(null, 3) == pytest.approx(binom.sf(2, 30, 1 - 0.99**2))
    assert tail(null, 0) == 1.0


def test_different_numbers_of_answers_enumerated() -> None:
    p = bounds([1, 2, 3], 0.2)
    three = p[0] * p[1] * p[2]
    two = three + p[0] * p[1] * (1 - p[2]) + p[0] * (1 - p[1]) * p[2] + (1 - p[0]) * p[1] * p[2]
    assert tail(p, 3) == pytest.approx(three)
    assert tail(p, 2) == pytest.approx(two)


@pytest.mark.parametrize("forms", [1, 2])
def test_b19_three_percent_is_found_with_power_090_at_alpha_0001(forms: int) -> None:
    """176 answers, as 176 cases or as 88 in both forms. Exact power, and simulated runs within their sampling error."""
    answers = [forms] * (176 // forms)
    smallest = smallest_rate(answers, tolerated=B19["tolerated"], alpha=B19["alpha"], power=0.9)
    assert smallest is not None
    assert smallest <= 0.0302
    rng = np.random.default_rng(19)
    hits = rng.random((600, len(answers), forms)) < B19["served"]
    cases = hits.any(axis=2).sum(axis=1)
    found = [excess([True] * k + [False] * (len(answers) - k), answers, tolerated=0.001).p_value for k in range(20)]
    power = np.mean([found[min(k, 19)] <= B19["alpha"] for k in cases])
    assert power >= 0.9 - 2 * (0.09 / 600) ** 0.5


def test_false_alarms_stay_below_alpha_also_when_faults_come_together() -> None:
    """At the tolerated rate: independent forms, and forms that fail together (half as many cases)."""
    null = bounds([2] * 88, 0.001)
    p_values = np.array([tail(null, k) for k in range(12)])
    rng = np.random.default_rng(5)
    for chance in (float(null[0]), 0.001):
        k = rng.binomial(88, chance, size=200_000)
        assert (p_values[np.minimum(k, 11)] <= 0.001).mean() <= 0.001


def test_the_e_process_is_fair_at_the_bound() -> None:
    """Expectation of e over all outcomes of a small run, by enumeration: at most 1."""
    answers = [2] * 6
    chance = float(bounds([2], 0.001)[0])
    total = 0.0
    for pattern in range(64):
        faulty = [bool(pattern >> bit & 1) for bit in range(6)]
        k = sum(faulty)
        total += chance**k * (1 - chance) ** (6 - k) * np.exp(excess(faulty, answers, tolerated=0.001).log_e)
    assert total == pytest.approx(1.0, abs=1e-9)


def test_the_e_value_grows_with_faults_and_falls_without() -> None:
    many = excess([True] * 5 + [False] * 83, [2] * 88, tolerated=0.001)
    none = excess([False] * 88, [2] * 88, tolerated=0.001)
    assert many.log_e > np.log(1000)
    assert none.log_e < 0


def test_where_nothing_could_be_seen_no_rate_is_named() -> None:
    assert smallest_rate([1], tolerated=0.01, alpha=0.001) is None


def test_input_is_checked() -> None:
    for bad in ([], [True]):
        with pytest.raises(ValueError, match="cases need an answer"):
            excess(bad, [], tolerated=0.1)
    with pytest.raises(ValueError, match="tolerated"):
        excess([True], [1], tolerated=0.0)
