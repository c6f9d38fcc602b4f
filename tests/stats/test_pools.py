"""Sticky pools (bar B11): level where the exchangeability test fails, power, clusters, and the named backend."""

import numpy as np
import pytest

from monitor.stats.pools import pool_shift, signature_clusters
from tests.stats.worlds import sticky_route

TOKENS, OFFSET, NOISE = 20, 0.02, 0.005


def tolerance() -> float:
    """What a calibration would store: the 99.9% quantile of the distance between two faithful backends."""
    rng = np.random.default_rng(0)
    apart = np.abs(rng.normal(0, OFFSET, (4000, TOKENS)) - rng.normal(0, OFFSET, (4000, TOKENS))).mean(axis=1)
    return float(np.quantile(apart, 0.999))


TOLERANCE = tolerance()


def calls(rng: np.random.Generator, centres: np.ndarray, route: np.ndarray) -> np.ndarray:
    return np.asarray(centres[route] + rng.normal(0, NOISE, (len(route), TOKENS)))


def exchangeable_p(rng: np.random.Generator, before: np.ndarray, now: np.ndarray) -> float:
    """The published test: permute calls between windows (arXiv 2512.03816)."""
    both = np.vstack([before, now])
    side = np.concatenate([np.full(len(before), 1 / len(before)), np.full(len(now), -1 / len(now))])
    null = np.abs(rng.permuted(np.tile(side, (199, 1)), axis=1) @ both).mean(axis=1)
    return float((1 + (null >= np.abs(side @ both).mean()).sum()) / 200)


def test_level_with_a_sticky_pool() -> None:
    """B11: 24 + 24 calls, stickiness .8: at most 5 of 100 at 1% (99.9% bound); the published test over 35%."""
    rng = np.random.default_rng(11)
    ours = published = 0
    for _ in range(100):
        centres = rng.normal(0, OFFSET, (3, TOKENS))
        before, now = (calls(rng, centres, sticky_route(rng, n=24, stickiness=0.8)) for _ in range(2))
        found = pool_shift(before, now, tolerance=TOLERANCE, alpha=0.01, rng=rng)
        ours += found.p_value is not None and found.p_value <= 0.01
        published += exchangeable_p(rng, before, now) <= 0.01
    assert ours <= 5
    assert published > 35


def test_names_the_backend_that_is_off() -> None:
    """One of two backends moves by .3 nats, as with 4-bit weights: it alone is beyond tolerance, with its share."""
    rng = np.random.default_rng(12)
    centres = rng.normal(0, OFFSET, (2, TOKENS))
    moved = centres + np.array([[0.0], [1.0]]) * rng.normal(0, 0.3, TOKENS)
    route = np.arange(24) % 4 // 3
    found = pool_shift(calls(rng, centres, route), calls(rng, moved, route), tolerance=TOLERANCE, alpha=0.01, rng=rng)
    assert found.p_value is not None
    assert found.p_value <= 0.01
    assert [(one.n_baseline, one.n_current) for one in found.backends] == [(18, 18), (6, 0), (0, 6)]
    p = [one.p_value for one in found.backends]
    assert p[0] is not None
    assert p[0] > 0.5
    assert p[1] is None
    assert p[2] == found.p_value
    assert found.backends[2].share == 0.25
    assert found.noise == pytest.approx(NOISE * np.sqrt(2 / np.pi), rel=0.15)


def test_clusters_find_the_backends() -> None:
    """Oracle: the simulated route, up to the order of numbers, in at least 57 of 60 worlds."""
    rng = np.random.default_rng(13)
    right = 0
    for _ in range(60):
        route = sticky_route(rng, n=40, stickiness=0.5)
        found = signature_clusters(calls(rng, rng.normal(0, OFFSET, (3, TOKENS)), route))
        right += np.array_equal(found[:, None] == found, route[:, None] == route)
    assert right >= 57


def test_exactly_repeating_backends() -> None:
    centres = np.array([[0.0, -1.0], [0.0, -1.0001]])
    assert signature_clusters(centres[[1, 0, 0, 1, 1]]).tolist() == [0, 1, 1, 0, 0]
    assert signature_clusters(centres[:1]).tolist() == [0]


def test_given_labels_are_used() -> None:
    rng = np.random.default_rng(14)
    before, now = rng.normal(0, 0.01, (6, 3)), rng.normal(0, 0.01, (6, 3))
    found = pool_shift(before, now, tolerance=0.1, alpha=0.01, rng=rng, labels=["b", "a"] * 6)
    assert [one.n_current for one in found.backends] == [3, 3]


def test_noise_of_backends_with_two_calls_is_not_underrated() -> None:
    """Oracle: E|N(0, s)| = s sqrt(2 / pi); plain residuals of pairs are smaller by sqrt(1 / 2)."""
    rng = np.random.default_rng(16)
    labels = np.tile(np.arange(100), 2)
    found = pool_shift(
        rng.normal(0, NOISE, (100, TOKENS)), rng.normal(0, NOISE, (100, TOKENS)), tolerance=0.1, alpha=0.5, rng=rng,
        labels=labels,
    )  # fmt: skip
    assert found.noise == pytest.approx(NOISE * np.sqrt(2 / np.pi), rel=0.05)


def test_without_repeats_nothing_is_claimed() -> None:
    rng = np.random.default_rng(15)
    found = pool_shift([[0.0, 1.0]], [[3.0, 1.0]], tolerance=0.1, alpha=0.01, rng=rng, labels=["a", "b"])
    assert found.p_value is None
    assert found.distance == pytest.approx(1.5)


def test_unusable_input() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="same tokens"):
        pool_shift([[0.0]], [[0.0, 1.0]], tolerance=0.1, alpha=0.01, rng=rng)
    with pytest.raises(ValueError, match="tolerance"):
        pool_shift([[0.0]], [[0.0]], tolerance=-0.1, alpha=0.01, rng=rng)
    with pytest.raises(ValueError, match="labels"):
        pool_shift([[0.0]], [[0.0]], tolerance=0.1, alpha=0.01, rng=rng, labels=["a"])
    with pytest.raises(ValueError, match="vectors"):
        signature_clusters([1.0])
