"""Slowdown of log latencies, against made series."""

import numpy as np
import pytest

from monitor.stats.slowing import CAP, slowing

HOURS = np.arange(180.0)


def run(values: np.ndarray, *, n_new: int = 12, tolerance: float = 0.1, floor: float = 0.05) -> float:
    n_old = len(values) - n_new
    found = slowing(
        values[:n_old], values[n_old:], old_h=HOURS[:n_old], new_h=HOURS[n_old : len(values)], tolerance=tolerance,
        floor=floor,
    )  # fmt: skip
    return found.log_e


@pytest.mark.parametrize("sd", [0.05, 0.1, 0.2])
def test_evidence_is_an_e_value_where_the_model_holds(sd: float) -> None:
    """Oracle: Markov's inequality, P(e >= 20) <= 1 / 20, plus three binomial sd; white noise at the tolerance."""
    rng = np.random.default_rng(0)
    values = [rng.normal(0, sd, 180) for _ in range(1000)]
    for one in values:
        one[-12:] += 0.1
    beyond = np.array([run(one) for one in values]) >= np.log(20)
    assert beyond.mean() <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / len(values))


def test_a_daily_rhythm_is_no_shift() -> None:
    """Oracle: a pure rhythm without noise; new values equal the level of their time of day."""
    found = slowing(
        np.sin(HOURS[:168] * np.pi / 12), np.sin(HOURS[168:] * np.pi / 12), old_h=HOURS[:168], new_h=HOURS[168:],
        tolerance=0.1, floor=0.05,
    )  # fmt: skip
    assert found.excess == pytest.approx(np.zeros(12), abs=0.1)
    assert found.log_e < 0


def test_one_run_gives_at_most_the_cap() -> None:
    """Oracle: a single outlier of any size."""
    values = np.zeros(180)
    values[-1] = 50.0
    assert run(values) <= CAP


def test_the_start_of_a_shift_is_found() -> None:
    """Oracle: the shift begins with the seventh of twelve new values."""
    values = np.random.default_rng(1).normal(0, 0.05, 180)
    values[-6:] += 1.0
    found = slowing(values[:168], values[168:], old_h=HOURS[:168], new_h=HOURS[168:], tolerance=0.1, floor=0.05)
    assert found.start == 6


def test_memory_widens_the_scale() -> None:
    """Oracle: sd sqrt((1 + phi) / (1 - phi)) for an autoregressive series of phi = .5."""
    rng = np.random.default_rng(2)
    noise = rng.normal(0, 0.1, 3000)
    series = np.zeros(3000)
    for at in range(1, 3000):
        series[at] = 0.5 * series[at - 1] + noise[at]
    hours = np.arange(3000.0)
    found = slowing(series[:-5], series[-5:], old_h=hours[:-5], new_h=hours[-5:], tolerance=0.1, floor=0.05)
    assert found.sigma == pytest.approx(0.1 / np.sqrt(1 - 0.25) * np.sqrt(3), rel=0.1)
