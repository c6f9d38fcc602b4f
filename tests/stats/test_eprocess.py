"""E-processes and intervals by mixtures: Ville's bound, hand-computed paths, conjugate closed forms."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import betaln

from monitor.stats.eprocess import SMALLEST_P, EProcess, likelihood_interval, mixture_process


def test_path_by_hand() -> None:
    # Two alternatives: products 2, 1 then 8, 1/2; means 1.5 and 4.25.
    process = mixture_process(np.log([[2.0, 1.0], [4.0, 0.5]]))
    assert np.exp(process.log_e) == pytest.approx([1.5, 4.25])
    assert process.final == pytest.approx(np.log(4.25))
    assert process.p_value == pytest.approx(1 / 4.25)
    assert process.looks_to(0.25) == 2
    assert process.looks_to(0.2) is None


def test_peak_starts_at_one_and_p_is_never_zero() -> None:
    assert EProcess(log_e=np.array([-3.0, -9.0])).p_value == 1.0
    assert EProcess(log_e=np.array([5000.0, -9.0])).p_value == SMALLEST_P > 0


def test_a_ratio_of_zero_rules_out_one_alternative_only() -> None:
    process = mixture_process([[-np.inf, 0.0], [3.0, np.log(4.0)]])
    assert np.exp(process.log_e) == pytest.approx([0.5, 2.0])


def test_ville() -> None:
    """Fair coins against 0.4 and 0.7: ever above 20 in 300 looks in at most 5% of 2000 worlds (99.9% bound 131)."""
    rng = np.random.default_rng(2)
    alarms = 0
    for _ in range(2000):
        heads = rng.random((300, 1)) < 0.5
        alarms += mixture_process(np.log(np.where(heads, [0.8, 1.4], [1.2, 0.6]))).looks_to(0.05) is not None
    assert 20 < alarms <= 131


def _bernoulli(flips: list[bool], grid: np.ndarray) -> np.ndarray:
    heads = np.asarray(flips)[:, np.newaxis]
    return np.asarray(np.where(heads, np.log(grid), np.log1p(-grid)))


@given(st.lists(st.booleans(), min_size=1, max_size=60))
def test_interval_is_the_conjugate_one(flips: list[bool]) -> None:
    """Oracle: uniform prior on a coin, Bayes factor B(h + 1, t + 1) / (p^h q^t) in closed form."""
    grid = (np.arange(2000) + 0.5) / 2000
    found = likelihood_interval(_bernoulli(flips, grid), grid, confidence=0.95)
    heads, tails = sum(flips), len(flips) - sum(flips)
    against = betaln(heads + 1, tails + 1) - heads * np.log(grid) - tails * np.log1p(-grid)
    kept = grid[against < np.log(20)]
    assert found.low == pytest.approx(kept.min(), abs=1.1e-3)
    assert found.high == pytest.approx(kept.max(), abs=1.1e-3)
    assert found.low <= found.estimate <= found.high


@pytest.mark.parametrize("bad", [[], [1.0], [[np.nan]], [[np.inf]]])
def test_unusable_ratios(bad: list[float]) -> None:
    with pytest.raises(ValueError, match="log_ratios"):
        mixture_process(bad)


def test_grid_must_ascend() -> None:
    with pytest.raises(ValueError, match="ascending"):
        likelihood_interval([[0.0, 0.0]], [0.5, 0.4])
