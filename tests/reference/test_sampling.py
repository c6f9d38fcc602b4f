"""Sampled tokens against the exact distribution (chi-square, scipy) and exact enumeration of top-p sets."""

import numpy as np
import pytest
from scipy import stats

from reference.sampling import draw

LOGPROBS = np.log(np.array([0.05, 0.4, 0.25, 0.2, 0.1]))


def counts(n: int, *, temperature: float, top_p: float) -> list[int]:
    rng = np.random.default_rng(11)
    drawn = [draw(LOGPROBS, temperature=temperature, top_p=top_p, rng=rng) for _ in range(n)]
    return [drawn.count(identifier) for identifier in range(len(LOGPROBS))]


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_frequencies_are_those_of_the_tempered_distribution(temperature: float) -> None:
    mass = np.exp(LOGPROBS / temperature)
    observed = counts(5000, temperature=temperature, top_p=1.0)
    assert stats.chisquare(observed, 5000 * mass / mass.sum()).pvalue > 0.001


@pytest.mark.parametrize(
    ("top_p", "kept"), [(0.3, {1}), (0.4, {1}), (0.41, {1, 2}), (0.8, {1, 2, 3}), (0.94, {1, 2, 3, 4})]
)
def test_top_p_keeps_the_smallest_set_that_holds_the_mass(top_p: float, kept: set[int]) -> None:
    observed = counts(2000, temperature=1.0, top_p=top_p)
    assert {identifier for identifier, count in enumerate(observed) if count} == kept
    mass = np.array([np.exp(LOGPROBS[identifier]) for identifier in sorted(kept)])
    if len(kept) > 1:
        seen = [observed[identifier] for identifier in sorted(kept)]
        assert stats.chisquare(seen, 2000 * mass / mass.sum()).pvalue > 0.001


def test_temperature_zero_is_greedy_and_draws_nothing() -> None:
    rng = np.random.default_rng(0)
    before = rng.bit_generator.state
    assert draw(LOGPROBS, temperature=0.0, top_p=0.1, rng=rng) == 1
    assert rng.bit_generator.state == before
    assert draw(np.log(np.array([0.4, 0.4, 0.2])), temperature=0.0, top_p=1.0, rng=rng) == 0


def test_impossible_tokens_are_never_drawn() -> None:
    rng = np.random.default_rng(3)
    logprobs = np.array([-np.inf, 0.0, -np.inf])
    assert {draw(logprobs, temperature=1.0, top_p=1.0, rng=rng) for _ in range(200)} == {1}
