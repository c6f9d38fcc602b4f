"""Tail-bucket KL against exact sums, the full KL, and the properties that the data-processing inequality gives."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.stats.divergence import capped_kl, tail_bucket_kl, truncated_bounds
from tests.stats.worlds import logits


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


@given(st.integers(0, 10_000), st.sampled_from([1, 5, 20]))
def test_bounds_hold_the_whole_divergences(seed: int, k: int) -> None:
    """Oracles: total variation, Jensen-Shannon and KL over all 200 tokens."""
    p, q = _pair(seed, noise=1.0)
    top = _top(q, k)
    found = truncated_bounds(p[top], q[top])
    whole_tv = float(np.abs(np.exp(p) - np.exp(q)).sum() / 2)
    middle = np.logaddexp(p, q) - np.log(2)
    whole_js = float((np.exp(p) * (p - middle) + np.exp(q) * (q - middle)).sum() / 2)
    assert found.tv_low - 1e-9 <= whole_tv <= found.tv_high + 1e-9
    assert found.js_low - 1e-9 <= whole_js <= found.js_high + 1e-9


def test_bounds_meet_when_all_tokens_are_listed() -> None:
    p, q = _pair(3)
    found = truncated_bounds(p, q)
    assert found.tv_low == pytest.approx(found.tv_high, abs=1e-9)
    assert found.js_low == pytest.approx(found.js_high, abs=1e-9)


@given(st.integers(0, 10_000), st.sampled_from([1, 5, 20]), st.sampled_from([1, 10, 150]))
def test_capped_kl_lies_between_the_bucket_and_the_whole(seed: int, k: int, n_hidden: int) -> None:
    p, q = _pair(seed, noise=2.0)
    top = _top(q, k)
    hidden = np.setdiff1d(_top(p, 200), top, assume_unique=True)[:n_hidden]
    full = float((np.exp(p) * (p - q)).sum())
    assert tail_bucket_kl(p[top], q[top]) - 1e-6 <= capped_kl(p[top], q[top], p[hidden]) <= full + 1e-6


def test_capped_kl_is_the_smallest_that_fits() -> None:
    """Oracle: golden .1, .6 unlisted, .3 rest; endpoint lists .2, so at most .2 for the .6, and .6 for the rest."""
    found = capped_kl([np.log(0.1)], [np.log(0.2)], [np.log(0.6)])
    assert found == pytest.approx(0.1 * np.log(0.5) + 0.6 * np.log(3) + 0.3 * np.log(0.5))
    assert found > tail_bucket_kl([np.log(0.1)], [np.log(0.2)]) + 0.3


def test_most_of_a_temperature_shift_is_left_at_five_tokens() -> None:
    """B14: T = 1.1, k = 5, 300 next-token distributions: at least 75% of the mean KL, never more than each row's."""
    rng = np.random.default_rng(14)
    golden = logits(rng, 300, 2000)
    warm = golden / 1.1 - np.logaddexp.reduce(golden / 1.1, axis=1, keepdims=True)
    full = (np.exp(golden) * (golden - warm)).sum(axis=1)
    top = np.argsort(-warm, axis=1)[:, :5]
    bucket = [tail_bucket_kl(p[t], q[t]) for p, q, t in zip(golden, warm, top, strict=True)]
    assert (np.array(bucket) <= full + 1e-9).all()
    assert np.sum(bucket) >= 0.75 * full.sum()


def test_exact_with_every_token() -> None:
    """B14: within 1e-9 of the whole sum for k = V."""
    for seed in range(50):
        p, q = _pair(seed)
        assert tail_bucket_kl(p, q) == pytest.approx(float((np.exp(p) * (p - q)).sum()), abs=1e-9)
