"""The design effect of trials in runs. Oracle: simulated clusters of known correlation, and exact cases."""

import numpy as np
import pytest

from monitor.stats.tallies import Sums, design_effect


def sums(pairs: list[tuple[int, int]]) -> Sums:
    """Of (k, n) by run."""
    return Sums(
        runs=len(pairs), n=sum(n for _, n in pairs), k=sum(k for k, _ in pairs), nn=sum(n * n for _, n in pairs),
        kk=sum(k * k for k, _ in pairs), nk=sum(n * k for k, n in pairs),
    )  # fmt: skip


def test_independent_trials_have_none() -> None:
    rng = np.random.default_rng(1)
    found = [design_effect(sums([(int(rng.binomial(20, 0.7)), 20) for _ in range(40)])) for _ in range(300)]
    assert 1.0 <= np.mean(found) < 1.2  # values below 1 are cut


def test_runs_that_fail_as_a_whole_count_once() -> None:
    """All trials of a run alike: the variance is that of runs, so 20 trials say as much as one."""
    rng = np.random.default_rng(2)
    found = [
        design_effect(sums([(20 * int(rng.random() < 0.7), 20) for _ in range(40)])) for _ in range(300)
    ]
    assert np.mean(found) == pytest.approx(20, rel=0.05)


@pytest.mark.parametrize("pairs", [[(3, 5)], [(5, 5), (5, 5)], [(0, 5), (0, 5)]])
def test_one_run_or_all_alike_tell_nothing(pairs: list[tuple[int, int]]) -> None:
    assert design_effect(sums(pairs)) == 1.0
