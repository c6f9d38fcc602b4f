"""Oracles: Fisher's exact test by scipy, enumeration of two strata, and the error of the test in simulation."""

from itertools import product
from math import comb

import numpy as np
import pytest
from scipy.stats import fisher_exact

from monitor.stats.strata import Table, more_often


@pytest.mark.parametrize(("k", "n", "before", "n_before"), [(3, 10, 2, 40), (0, 5, 4, 20), (5, 5, 0, 200)])
def test_one_stratum_is_fishers_test(k: int, n: int, before: int, n_before: int) -> None:
    expected = fisher_exact([[k, n - k], [before, n_before - before]], alternative="greater").pvalue
    assert more_often([Table(k=k, n=n, k_before=before, n_before=n_before)]) == pytest.approx(expected, rel=1e-9)


def test_two_strata_are_the_sum_over_all_pairs_of_tables() -> None:
    tables = [Table(k=2, n=3, k_before=1, n_before=5), Table(k=1, n=2, k_before=0, n_before=6)]

    def mass(table: Table, k: int) -> float:
        hits = table.k + table.k_before
        whole = table.n + table.n_before
        return comb(hits, k) * comb(whole - hits, table.n - k) / comb(whole, table.n) if table.n >= k <= hits else 0.0

    expected = sum(
        mass(tables[0], a) * mass(tables[1], b) for a, b in product(range(4), range(3)) if a + b >= 3
    )
    assert more_often(tables) == pytest.approx(expected, rel=1e-12)


def test_prompts_that_always_looped_are_no_news() -> None:
    """Pooled, 5 of 10 against 24 of 240; by prompt nothing changed."""
    tables = [Table(k=5, n=5, k_before=24, n_before=24), Table(k=0, n=5, k_before=0, n_before=216)]
    assert more_often(tables) == pytest.approx(1.0)


def test_type_one_error() -> None:
    rng = np.random.default_rng(2)
    alarms = 0
    for _ in range(500):
        rates = rng.random(8) * 0.5
        tables = [
            Table(k=int(rng.binomial(2, rate)), n=2, k_before=int(rng.binomial(12, rate)), n_before=12)
            for rate in rates
        ]
        alarms += more_often(tables) <= 0.05
    assert alarms / 500 <= 0.05 + 3 * (0.05 * 0.95 / 500) ** 0.5


def test_nothing_known_and_nonsense() -> None:
    assert more_often([]) == 1.0
    assert more_often([Table(k=0, n=0, k_before=3, n_before=9)]) == 1.0
    with pytest.raises(ValueError, match="between 0"):
        more_often([Table(k=2, n=1, k_before=0, n_before=1)])
