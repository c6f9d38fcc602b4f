"""The tail of a sum over a sample. Oracle: all samples, one by one."""

import itertools

import numpy as np
import pytest

from monitor.ports import Floats
from monitor.stats.permutation_tail import without_replacement


def scores_of(n: int, seed: int) -> Floats:
    """Long-tailed, as log-rank scores are."""
    return 1 - np.random.default_rng(seed).exponential(size=n)


def dealt(scores: Floats, chosen: tuple[int, ...]) -> tuple[Floats, int]:
    rest = [at for at in range(scores.size) if at not in chosen]
    return np.concatenate([scores[list(chosen)], scores[rest]]), len(chosen)


@pytest.mark.parametrize(("n", "size"), [(9, 3), (9, 6), (12, 4), (14, 7)])
def test_it_bounds_the_exact_tail_and_not_by_much(n: int, size: int) -> None:
    """At least the share of samples as far out, twice, and at most 8 times that."""
    scores = scores_of(n, n * size)
    samples = list(itertools.combinations(range(n), size))
    sums = np.array([scores[list(one)].sum() for one in samples]) - size * scores.mean()
    order = np.argsort(sums)
    for rank in (0, 1, 5, 20, -1, -2, -6):
        at = int(order[rank])
        beyond = sums <= sums[at] + 1e-9 if sums[at] < 0 else sums >= sums[at] - 1e-9
        exact = 2 * float(beyond.mean())
        found = without_replacement([dealt(scores, samples[at])])
        assert min(1.0, exact) <= found * (1 + 1e-9)
        assert found <= 8 * exact


def test_the_most_extreme_of_all_samples_has_its_exact_tail() -> None:
    assert without_replacement([(np.arange(12.0), 4)]) == pytest.approx(2 / 495, rel=1e-6)


def test_strata_are_chosen_from_apart() -> None:
    """Two strata: all pairs of their samples are as likely."""
    one, other = scores_of(6, 1), scores_of(7, 2) + 100
    pairs = list(itertools.product(itertools.combinations(range(6), 2), itertools.combinations(range(7), 3)))
    means = 2 * one.mean() + 3 * other.mean()
    sums = np.array([one[list(a)].sum() + other[list(b)].sum() for a, b in pairs]) - means
    at = int(np.argsort(sums)[3])
    exact = 2 * float((sums <= sums[at] + 1e-9).mean())
    found = without_replacement([dealt(one, pairs[at][0]), dealt(other, pairs[at][1])])
    assert exact <= found <= 8 * exact


def test_a_sample_of_all_or_of_nothing_shows_nothing() -> None:
    assert without_replacement([(scores_of(5, 3), 5)]) == 1.0
    assert without_replacement([]) == 1.0


def test_many_scores_stay_finite() -> None:
    """300 of 3,000 from far out: a bound near 0, and no overflow on the way."""
    scores = np.sort(scores_of(3000, 4))
    assert 0 <= without_replacement([(scores, 300)]) < 1e-100
