"""Repeated looks at one stored baseline (bar B12): sums, hand-computed levels, and the failing alternatives."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from monitor.stats.evalues import p_to_e
from monitor.stats.spending import TOTAL, spend, spending_levels


def test_levels_sum_to_alpha_for_ever() -> None:
    """Oracle: partial sum plus the integral of 1 / (x ln^2 x) = 1 / ln x from the midpoint rule."""
    levels = spending_levels(0.05, 200_000)
    rest = 0.05 / TOTAL / np.log(200_001.5)
    assert levels.sum() + rest == pytest.approx(0.05, rel=1e-9)
    assert (np.diff(levels) < 0).all()
    assert quad(lambda x: 1 / (x * np.log(x) ** 2), 3, 9)[0] == pytest.approx(1 / np.log(3) - 1 / np.log(9))


def test_by_hand() -> None:
    # Shares of the first two looks: 1 / (2 ln^2 2) and 1 / (3 ln^2 3) over 2.1097.
    shares = np.array([1 / (2 * np.log(2) ** 2), 1 / (3 * np.log(3) ** 2)]) / TOTAL
    found = spend([0.2, 0.01 * float(shares[1])], alpha=0.01)
    assert found.alarm == 2
    assert found.adjusted_p == pytest.approx(0.01)
    assert spend([0.2, 0.3], alpha=0.01).alarm is None


def test_sixty_looks_at_one_baseline() -> None:
    """B12: 400 worlds, baseline and looks of 50 values at 5%: ours within the 99.9% bound 35, others far beyond."""
    rng = np.random.default_rng(12)
    ours = naive = product = 0
    for _ in range(400):
        baseline, looks = rng.normal(size=50).mean(), rng.normal(size=(60, 50)).mean(axis=1)
        p = 2 * norm.sf(np.abs(looks - baseline) * np.sqrt(25))
        ours += spend(p, alpha=0.05).alarm is not None
        naive += bool((p < 0.05).any())
        product += bool((np.cumsum(p_to_e(p)) >= np.log(20)).any())
    assert ours <= 35
    assert naive > 200
    assert product > 35


def test_unusable_input() -> None:
    with pytest.raises(ValueError, match="n_looks"):
        spending_levels(0.05, 0)
    with pytest.raises(ValueError, match="never 0"):
        spend([0.0], alpha=0.05)
