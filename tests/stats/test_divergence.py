"""Tail-bucket KL against exact sums, the full KL, and the properties that the data-processing inequality gives."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.stats.divergence import tail_bucket_kl


def _pair(seed: int, size: int = 200, noise: float = 0.3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    logits = rng.normal(0, 3, size)
    other = logits + rng.normal(0, noise, size)
    return logits - np.logaddexp.reduce(logits), other - np.logaddexp.reduce(other)


def _top(q: np.ndarray, k: int) -> np.ndarray:
    return np.argsort(q)[::-1][:k]


def test_two_tokens_by_hand() -> None:
    # p = (.5, rest .5), q = (.25, rest .75): .5 ln 2 + .5 ln(2/3)
    expected = 0.5 * np.log(2) + 0.5 * np.log(2 / 3)
    assert tail_bucket_kl([np.log(0.5)], [np.log(0.25)]) == pytest.approx(expected, rel=1e-12)


@given(st.integers(0, 10_000))
def test_is_the_full_kl_when_all_tokens_are_listed(seed: int) -> None:
    p, q = _pair(seed)
    full = float((np.exp(p) * (p - q)).sum())
    assert tail_bucket_kl(p, q) == pytest.approx(full, abs=1e-6)


@given(st.integers(0, 10_000), st.sampled_from([1, 5, 20, 100]))
def test_lower_bound_that_grows_with_k(seed: int, k: int) -> None:
    p, q = _pair(seed)
    full = float((np.exp(p) * (p - q)).sum())
    few, more = _top(q, k), _top(q, 2 * k)
    small, large = tail_bucket_kl(p[few], q[few]), tail_bucket_kl(p[more], q[more])
    assert -1e-9 <= small <= large + 1e-7 <= full + 2e-7


def test_equal_distributions_are_zero() -> None:
    p, _ = _pair(1)
    assert tail_bucket_kl(p[:20], p[:20]) == 0


def test_temperature_is_seen_with_twenty_of_many() -> None:
    # statistics 4.2: at temperature 1.1 the tail bucket keeps most of the effect; renormalising would lose it.
    p, _ = _pair(3, size=5000)
    cool = p / 1.1
    cool -= np.logaddexp.reduce(cool)
    top = _top(cool, 20)
    full = float((np.exp(p) * (p - cool)).sum())
    renormalised_p, renormalised_q = p[top] - np.logaddexp.reduce(p[top]), cool[top] - np.logaddexp.reduce(cool[top])
    renormalised = float((np.exp(renormalised_p) * (renormalised_p - renormalised_q)).sum())
    assert tail_bucket_kl(p[top], cool[top]) > 0.5 * full > renormalised


def test_rounded_probabilities_above_one_stay_finite() -> None:
    assert np.isfinite(tail_bucket_kl([np.log(0.6), np.log(0.4)], [np.log(0.6), np.log(0.4001)]))


@pytest.mark.parametrize(("p", "q"), [([], []), ([-1.0], [-1.0, -2.0]), ([-1.0], [-np.inf]), ([np.nan], [-1.0])])
def test_unusable_input(p: list[float], q: list[float]) -> None:
    with pytest.raises(ValueError, match="`golden` and `endpoint`"):
        tail_bucket_kl(p, q)
