"""Tolerances and separations against published factors, exact sums and simulated coverage."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from monitor.stats.calibration import fit_prompts, upper_bound


def test_the_bound_is_the_prediction_bound_of_the_tables() -> None:
    """Oracle: t(0.99; 4) = 3.7469 from any table of Student's t, times s sqrt(1 + 1/5) (Hahn & Meeker, 4.8)."""
    values = [1.0, 2.0, 3.0, 4.0, 5.0]
    assert_allclose(upper_bound(values), 3.0 + 3.7469 * math.sqrt(2.5) * math.sqrt(1.2), rtol=1e-4)


def test_the_bound_covers_one_more_member_as_often_as_it_says() -> None:
    """Oracle: exact coverage 0.99 for normal values (simulation error 0.002 at 20 000 draws: 3 SD)."""
    rng = np.random.default_rng(7)
    draws = rng.normal(size=(20_000, 7))
    covered = np.mean([row[-1] <= upper_bound(row[:-1]) for row in draws])
    assert 0.987 <= covered <= 0.998  # the largest value seen is inside too, so a little above


def test_the_bound_never_lies_below_what_was_seen() -> None:
    assert upper_bound([0.0] * 30 + [1.0]) >= 1.0
    assert upper_bound([0.25, 0.25, 0.25]) == 0.25


@pytest.mark.parametrize("values", [[], [1.0, 2.0], [1.0, 2.0, math.nan], [[1.0, 2.0, 3.0]]])
def test_too_little_is_refused(values: list[float]) -> None:
    with pytest.raises(ValueError, match="at least 3 finite numbers"):
        upper_bound(values)


def test_separation_by_hand() -> None:
    (fit,) = fit_prompts([[1.0], [2.0], [3.0]], [[10.0], [14.0]])
    assert (fit.faithful_mean, fit.faithful_sd, fit.separation, fit.dropped) == (2.0, 1.0, 10.0, None)
    assert fit.tolerance == upper_bound([1.0, 2.0, 3.0])


def test_noisy_prompts_go_and_the_most_informative_stay() -> None:
    rng = np.random.default_rng(3)
    faithful = np.abs(rng.normal(0.01, 0.002, (6, 8)))
    faithful[:, 2] = [0.0, 0.5, 0.0, 0.5, 0.0, 0.5]
    degraded = np.full((3, 8), 0.3)
    degraded[:, 5] = 0.012  # says nothing
    fits = fit_prompts(faithful, degraded, keep=0.5)
    assert fits[2].dropped == "noisy"
    assert fits[5].dropped == "uninformative"
    kept = [fit for fit in fits if fit.dropped is None]
    assert len(kept) == 4
    best = sorted((fit.separation or 0 for at, fit in enumerate(fits) if at != 2), reverse=True)[:4]
    assert sorted((fit.separation or 0 for fit in kept), reverse=True) == best


def test_noiseless_prompts_are_not_infinitely_good() -> None:
    (fit,) = fit_prompts([[0.0]] * 3, [[0.5]], resolution=0.001)
    assert fit.separation == 500.0


def test_missing_values_are_left_out_and_never_zero() -> None:
    nan = math.nan
    faithful = [[1.0, nan, nan], [2.0, 1.0, nan], [3.0, 1.0, 1.0], [nan, 1.0, 1.0]]
    fits = fit_prompts(faithful, [[10.0, nan, 5.0], [nan, nan, 5.0]], keep=1.0)
    assert (fits[0].faithful_mean, fits[0].separation) == (2.0, 8.0)
    assert [fit.dropped for fit in fits] == [None, "not measured", "not measured"]
    assert fits[1].separation is None


def test_shapes_must_agree() -> None:
    with pytest.raises(ValueError, match="must be"):
        fit_prompts([[1.0, 2.0]], [[1.0]])
