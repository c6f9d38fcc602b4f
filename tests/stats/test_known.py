"""Distances of calls from known backends, against values worked out by hand."""

import numpy as np
import pytest

from monitor.stats.known import known_backends, nearest


def test_distance_is_to_the_nearest_backend() -> None:
    """Oracle: two backends at -1 and -3; a call at -2.8 is 0.2 from the second."""
    known = known_backends([[-1.0, -1.0], [-3.0, -3.0]], labels=["a", "b"])
    assert nearest(known, [-2.8, -2.8], least=-9.0) == pytest.approx(0.2)
    assert known.noise is None


def test_a_token_that_is_not_listed_counts_as_the_least_listed_one() -> None:
    """Oracle: the backend's -1 against at most -4 is 3; its -6 against at most -4 is nothing."""
    known = known_backends([[-1.0, -6.0]])
    assert nearest(known, [np.nan, np.nan], least=-4.0) == pytest.approx(1.5)


def test_noise_is_the_expected_difference_of_two_calls() -> None:
    """Oracle: for N(0, s) the mean absolute difference of two values is 2 s / sqrt(pi)."""
    rng = np.random.default_rng(0)
    known = known_backends(-5 + rng.normal(0, 0.1, (200, 50)), labels=["a"] * 200)
    assert known.noise == pytest.approx(0.2 / np.sqrt(np.pi), rel=0.02)


def test_backends_are_found_by_their_logprobs() -> None:
    """Oracle: three centres far beyond the noise."""
    rng = np.random.default_rng(1)
    calls = np.repeat(rng.normal(-5, 1, (3, 20)), 5, axis=0) + rng.normal(0, 0.01, (15, 20))
    assert known_backends(calls).centres.shape == (3, 20)
