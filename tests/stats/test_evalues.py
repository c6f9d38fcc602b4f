"""Joining e-values: hand-computed cases, FDR by simulation, and calibrators whose expectation is exactly 1."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad

from monitor.stats.evalues import average_e, composite_e, e_bh, p_to_e

LOG_E = st.lists(st.floats(-50, 800), min_size=1, max_size=30)


def test_average_by_hand() -> None:
    assert average_e(np.log([1.0, 3.0, 8.0])) == pytest.approx(np.log(4.0))
    assert average_e(np.log([1.0, 5.0]), weights=[0.75, 0.25]) == pytest.approx(np.log(2.0))
    assert average_e([-np.inf, np.log(4.0)]) == pytest.approx(np.log(2.0))


@given(LOG_E)
def test_average_lies_between_smallest_and_largest_and_does_not_overflow(log_e: list[float]) -> None:
    assert min(log_e) - 1e-9 <= average_e(log_e) <= max(log_e) + 1e-9
    assert composite_e(log_e) == min(log_e)


def test_e_bh_by_hand() -> None:
    # m = 4, alpha = .1: the k-th largest needs 40 / k. 45 >= 40; 21 >= 20; 12 < 13.3; 11 >= 10 -> all four.
    assert e_bh(np.log([45.0, 21.0, 12.0, 11.0]), alpha=0.1).rejected == (True,) * 4
    found = e_bh(np.log([5.0, 21.0, 45.0, 9.0]), alpha=0.1)
    assert found.rejected == (False, True, True, False)
    assert found.threshold == pytest.approx(np.log(21.0))
    assert e_bh([0.0, 1.0], alpha=0.05).threshold is None


@given(LOG_E, st.sampled_from([0.01, 0.05, 0.2]))
def test_e_bh_is_bh_on_reciprocals(log_e: list[float], alpha: float) -> None:
    """Oracle: Benjamini-Hochberg (1995) by its definition on p = 1 / e."""
    p = np.exp(-np.asarray(log_e))
    order = np.sort(p)
    below = [k for k in range(1, p.size + 1) if order[k - 1] <= alpha * k / p.size * (1 + 1e-12)]
    cut = order[below[-1] - 1] if below else -1.0
    # p of values beyond 745 nats underflows to 0, which is rejected too.
    assert e_bh(log_e, alpha=alpha).rejected == tuple((p <= cut).tolist())


def test_false_discovery_rate_when_all_endpoints_share_a_reference() -> None:
    """100 endpoints, 10 faulty, e-values correlated at .8 by the shared reference: FDR at most 10%, faults found."""
    rng = np.random.default_rng(11)
    shares, found = [], []
    for _ in range(400):
        z = np.sqrt(0.8) * rng.normal() + np.sqrt(0.2) * rng.normal(size=100)
        z[:10] += 5
        rejected = np.array(e_bh(3 * z - 4.5, alpha=0.1).rejected)
        shares.append(rejected[10:].sum() / max(rejected.sum(), 1))
        found.append(rejected[:10].mean())
    assert np.mean(shares) <= 0.1
    assert np.mean(found) > 0.6


@pytest.mark.parametrize("kappa", [0.1, 0.5, 0.9])
def test_calibrated_uniform_p_has_expectation_one(kappa: float) -> None:
    # Substituting p = exp(-t) removes the pole at 0.
    total, _ = quad(lambda t: float(np.exp(p_to_e([float(np.exp(-t))], kappa=kappa)[0] - t)), 0, 400, limit=400)
    assert total == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("bad", [[], [np.nan], [np.inf], [[1.0]]])
def test_unusable_e_values(bad: list[float]) -> None:
    with pytest.raises(ValueError, match="log_e"):
        e_bh(bad, alpha=0.1)


@pytest.mark.parametrize("bad", [[], [0.0], [1.1], [-0.1]])
def test_a_p_of_zero_is_refused(bad: list[float]) -> None:
    with pytest.raises(ValueError, match="never 0"):
        p_to_e(bad)


def test_unusable_weights_and_levels() -> None:
    with pytest.raises(ValueError, match="weights"):
        average_e([0.0, 0.0], weights=[0.5, 0.6])
    with pytest.raises(ValueError, match="alpha"):
        e_bh([0.0], alpha=1.0)
