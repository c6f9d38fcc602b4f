"""Exact tests of sampled tokens: level at any stopping time, power against samplers, expectation of each bet."""

import numpy as np
import pytest
from scipy.stats import beta

from monitor.stats.martingale import (
    BETA_SHAPES,
    pit_process,
    score_process,
    surprisal_process,
)
from tests.stats.worlds import draw, logits

TOKENS, VOCABULARY = 400, 60


def world(rng: np.random.Generator, temperature: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Golden log-probabilities, surprisal of tokens sampled at a temperature, entropies."""
    table = logits(rng, TOKENS, VOCABULARY)
    token = draw(rng, table / temperature)
    return table, -table[np.arange(TOKENS), token], -(np.exp(table) * table).sum(axis=1)


def test_level_of_surprisal() -> None:
    """Ever above 20 in 400 tokens: at most 5% of 400 worlds for each of the three processes (99.9% bound 35)."""
    rng = np.random.default_rng(20)
    alarms = np.zeros(3)
    for _ in range(400):
        _, surprisal, entropy = world(rng, 1.0)
        found = surprisal_process(surprisal, entropy, vocabulary=VOCABULARY)
        alarms += [each.looks_to(0.05) is not None for each in (found.flatter, found.sharper, found.either)]
    assert (alarms <= 35).all()


@pytest.mark.parametrize(("temperature", "side"), [(0.7, "sharper"), (1.3, "flatter")])
def test_power_and_direction_of_surprisal(temperature: float, side: str) -> None:
    """T = 0.7 or 1.3 instead of 1.0 at alpha = .01 within 400 tokens, in at least 19 of 20 worlds."""
    rng = np.random.default_rng(21)
    found = [surprisal_process(*world(rng, temperature)[1:], vocabulary=VOCABULARY) for _ in range(20)]
    other = "flatter" if side == "sharper" else "sharper"
    assert sum(getattr(one, side).looks_to(0.01) is not None for one in found) >= 19
    assert all(getattr(one, other).looks_to(0.05) is None for one in found)
    assert all((one.excess_nats < 0) == (side == "sharper") for one in found)


def test_tolerance_absorbs_a_small_shift() -> None:
    rng = np.random.default_rng(22)
    _, surprisal, entropy = world(rng, 1.3)
    strict = surprisal_process(surprisal, entropy, vocabulary=VOCABULARY)
    wide = surprisal_process(surprisal, entropy, vocabulary=VOCABULARY, tolerance=1.0)
    assert strict.flatter.looks_to(0.01) is not None
    assert wide.flatter.looks_to(0.01) is None


def test_cut_surprisal_has_no_gain_under_the_null() -> None:
    """Exact sum over the vocabulary: each bet on "sharper" has expectation at most 1, also with tiny probabilities."""
    rng = np.random.default_rng(23)
    table = logits(rng, 40, VOCABULARY) * rng.choice([1.0, 8.0], (40, 1))
    table -= np.logaddexp.reduce(table, axis=1, keepdims=True)
    p, entropy = np.exp(table), -(np.exp(table) * table).sum(axis=1)
    for row in range(40):
        one = [
            surprisal_process([-value], [entropy[row]], vocabulary=VOCABULARY) for value in table[row]
        ]
        assert p[row] @ np.exp([each.sharper.final for each in one]) <= 1 + 1e-9
        assert p[row] @ np.exp([each.flatter.final for each in one]) <= 1 + 1e-9


def test_score_process_by_hand() -> None:
    # One score at its worst loses all but 1 - stake; stakes halve from 0.95.
    stakes = 0.95 * 2.0 ** -np.arange(12)
    assert np.exp(score_process([-2.0], 2.0).final) == pytest.approx((1 - stakes).mean())
    assert np.exp(score_process([4.0, 0.0], [2.0, 1.0]).final) == pytest.approx((1 + 2 * stakes).mean())


def test_pit_bets_are_scipys_beta_densities_on_average() -> None:
    grid = np.linspace(0.001, 0.999, 7)
    oracle = np.mean([beta.pdf(grid, a, b) for a, b in BETA_SHAPES], axis=0)
    assert np.exp([pit_process([u]).final for u in grid]) == pytest.approx(oracle, rel=1e-9)


def test_level_and_power_of_pit() -> None:
    """Uniform: at most 35 of 400 worlds at 5% (99.9%). Beta(1, 1.3), 400 values: found at 1% in 18 of 20."""
    rng = np.random.default_rng(24)
    assert sum(pit_process(1 - rng.random(400)).looks_to(0.05) is not None for _ in range(400)) <= 35
    assert sum(pit_process(rng.beta(1.0, 1.3, 400)).looks_to(0.01) is not None for _ in range(20)) >= 18
    assert np.isfinite(pit_process([1.0, 1e-300]).final)


def test_unusable_input() -> None:
    with pytest.raises(ValueError, match="losses"):
        score_process([-2.0], 1.0)
    with pytest.raises(ValueError, match="ln\\(vocabulary\\)"):
        surprisal_process([1.0], [9.0], vocabulary=100)
    with pytest.raises(ValueError, match="equally long"):
        surprisal_process([1.0], [1.0, 2.0], vocabulary=100)
    with pytest.raises(ValueError, match="positive"):
        pit_process([0.0])
