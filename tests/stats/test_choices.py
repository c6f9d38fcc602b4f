"""The share of errors that belongs to tokens, from choices alone. Oracle: choices simulated with a known share."""

import numpy as np
import pytest

from monitor.stats.choices import Place, TokenShare, token_share

N_ANSWERS, N_PLACES, N_TOKENS, K = 48, 12, 60, 5


def simulated(share: float, *, size: float = 0.6, seed: int = 0) -> list[Place]:
    """Choices of an endpoint whose logprobs are off by errors of `size` nats, `share` of their variance by token."""
    rng = np.random.default_rng(seed)
    own = rng.standard_normal(N_TOKENS)
    places = []
    for answer in range(N_ANSWERS):
        for _ in range(N_PLACES):
            tokens = rng.choice(N_TOKENS, K, replace=False)
            logprobs = np.sort(-rng.exponential(1.5, K))[::-1]
            error = np.sqrt(share) * own[tokens] + np.sqrt(1 - share) * rng.standard_normal(K)
            chosen = int((logprobs + size * error).argmax())
            places.append(Place(answer, tuple(map(int, tokens)), tuple(map(float, logprobs)), chosen))
    return places


def found(share: float, seed: int) -> TokenShare:
    one = token_share(simulated(share, seed=seed), rng=np.random.default_rng(seed))
    assert one is not None
    return one


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_share_is_the_simulated_one(share: float) -> None:
    shares = [found(share, seed).share for seed in range(12)]
    assert np.mean(shares) == pytest.approx(share, abs=0.12)


def test_its_error_covers_what_happens_without_any_share() -> None:
    """Two standard deviations hold about 95%: five or more of 24 beyond happen once in 150."""
    some = [found(0.0, seed) for seed in range(24)]
    assert sum(abs(one.share) > 2 * one.error for one in some) <= 4
    assert np.std([one.share for one in some]) == pytest.approx(np.mean([one.error for one in some]), rel=0.5)


def test_size_of_the_errors_is_fitted_to_the_choices() -> None:
    assert found(0.0, 3).error_nats == pytest.approx(0.6, rel=0.15)


def test_errors_of_one_kind_are_told_from_the_other() -> None:
    assert all(found(0.0, seed).surely_below(0.4) for seed in range(5))
    assert all(found(0.8, seed).surely_above(0.3) for seed in range(5))


def test_without_a_differing_choice_there_is_no_share() -> None:
    assert token_share([Place(0, (1, 2), (-0.1, -2.0), 0)] * 4, rng=np.random.default_rng(0)) is None


def test_tokens_that_are_met_once_have_no_share() -> None:
    places = [Place(at, (2 * at, 2 * at + 1), (-0.1, -2.0), at % 2) for at in range(6)]
    assert token_share(places, rng=np.random.default_rng(0)) is None
