"""Oracles: scipy's log-rank test and curve for censored data; published variances; the definition; simulation."""

import numpy as np
import pytest
from scipy.stats import CensoredData, chi2, ecdf, logrank

from monitor.stats.survival import kaplan_meier, log_rank


def drawn(rng: np.random.Generator, n: int, mean: float, cap: int) -> tuple[list[int], list[bool]]:
    lengths = rng.geometric(1 / mean, n)
    return [int(min(one, cap)) for one in lengths], [bool(one > cap) for one in lengths]


def censored(sample: tuple[list[int], list[bool]]) -> CensoredData:
    lengths, cut = np.array(sample[0]), np.array(sample[1])
    return CensoredData(uncensored=lengths[~cut], right=lengths[cut])


@pytest.mark.parametrize("seed", range(5))
def test_curve_is_scipys(seed: int) -> None:
    sample = drawn(np.random.default_rng(seed), 60, 40, 64)
    ours, theirs = kaplan_meier(*sample), ecdf(censored(sample)).sf
    for time in range(1, 64):
        assert ours.at(time)[0] == pytest.approx(float(theirs.evaluate(time)), abs=1e-12)
    assert ours.at(0) == (1.0, 60.0)


@pytest.mark.parametrize("seed", range(5))
def test_one_stratum_is_scipys_log_rank(seed: int) -> None:
    rng = np.random.default_rng(seed)
    first, second = drawn(rng, 50, 30, 64), drawn(rng, 80, 40, 64)
    ours = log_rank([first], [second])
    theirs = logrank(censored(first), censored(second))
    assert ours.statistic == pytest.approx(theirs.statistic**2, rel=1e-9)
    assert chi2.sf(ours.statistic, 1) == pytest.approx(theirs.pvalue, rel=1e-9)


def test_a_share_is_worth_as_many_answers_as_greenwood_says() -> None:
    """Without cuts before, S (1 - S) / variance is the number of answers; with them scipy's standard error says it."""
    curve = kaplan_meier([3, 5, 5, 8, 13], [False] * 5)
    assert curve.at(5) == pytest.approx((0.4, 5.0))
    assert curve.at(13) == pytest.approx((0.0, 5.0), abs=1e-12)
    sample = drawn(np.random.default_rng(2), 60, 40, 64)
    sample[1][:20] = [True] * 20
    between = ecdf(censored(sample)).sf.confidence_interval(method="linear")
    share, size = kaplan_meier(*sample).at(40)
    half = 1.959964 * (share * (1 - share) / size) ** 0.5
    assert share - half == pytest.approx(float(between.low.evaluate(40)), rel=1e-6)
    assert share + half == pytest.approx(float(between.high.evaluate(40)), rel=1e-6)


def test_weights_stand_for_answers() -> None:
    """An answer of weight 2 is two answers, but says no more than one: the curve is that of six, worth 4.5 (Kish)."""
    heavy, light = kaplan_meier([3, 5, 8], [False] * 3, [2, 2, 2]), kaplan_meier([3, 5, 8], [False] * 3)
    assert heavy.at(5) == light.at(5)
    doubled = kaplan_meier([3, 5, 8, 8], [False] * 4, [2, 2, 1, 1])
    assert [doubled.at(time)[0] for time in (3, 5, 8)] == pytest.approx([2 / 3, 1 / 3, 0], abs=1e-12)
    assert doubled.at(0) == pytest.approx((1.0, 3.6))


def test_without_cuts_the_curve_is_the_share_of_longer_answers() -> None:
    lengths = [3, 5, 5, 8, 13]
    curve = kaplan_meier(lengths, [False] * 5)
    assert [curve.at(time)[0] for time in (2, 3, 5, 12, 13)] == pytest.approx([1, 0.8, 0.4, 0.2, 0])


def test_a_cap_alone_is_no_difference() -> None:
    """The same lengths, once cut at 64 and once at 256: a test on cut lengths as they are would see a difference."""
    rng = np.random.default_rng(7)
    lengths = rng.geometric(1 / 80, 400)
    short = [int(min(one, 64)) for one in lengths[:200]], [bool(one > 64) for one in lengths[:200]]
    long = [int(min(one, 256)) for one in lengths[200:]], [bool(one > 256) for one in lengths[200:]]
    assert p_of([short], [long]) > 0.01
    assert np.mean(short[0]) < 0.7 * np.mean(long[0])


def test_strata_keep_prompts_apart() -> None:
    """Two prompts of very different lengths, mixed otherwise in the second sample: no difference within a prompt."""
    rng = np.random.default_rng(3)
    (short, _), (long, _) = drawn(rng, 60, 5, 500), drawn(rng, 60, 100, 500)
    whole = [False] * 60
    first = [(short[:40], whole[:40]), (long[:20], whole[:20])]
    second = [(short[40:], whole[:20]), (long[20:], whole[:40])]
    assert p_of(first, second) > 0.01
    pooled = (short[:40] + long[:20], whole), (short[40:] + long[20:], whole)
    assert p_of([pooled[0]], [pooled[1]]) < 0.001


def test_few_answers_are_no_alarm() -> None:
    """1,200 null looks at 5 answers beside 40: chi-squared is below 0.001 in 0.6% of them, ours in 0.1% at most.

    At most 0.001 plus three standard errors of 1,200 looks; the same at 0.05.
    """
    rng = np.random.default_rng(5)
    looks = [log_rank([drawn(rng, 5, 40, 10**6)], [drawn(rng, 40, 40, 10**6)]) for _ in range(1200)]
    p = np.array([one.p_value for one in looks], dtype=float)
    by_chi_squared = chi2.sf(np.array([one.statistic for one in looks], dtype=float), 1)
    assert (by_chi_squared <= 0.001).mean() > 0.001 + 3 * (0.001 * 0.999 / 1200) ** 0.5
    for alpha in (0.05, 0.001):
        assert (p <= alpha).mean() <= alpha + 3 * (alpha * (1 - alpha) / 1200) ** 0.5


@pytest.mark.parametrize(("own", "other"), [(16, 10**6), (10**6, 16), (32, 64)])
def test_other_caps_raise_no_alarm(own: int, other: int) -> None:
    rng = np.random.default_rng(own)
    null = np.mean([p_of([drawn(rng, 20, 40, own)], [drawn(rng, 60, 40, other)]) <= 0.05 for _ in range(200)])
    assert null <= 0.05


def test_power() -> None:
    """Answers twice as long, 40 beside 120: found at 0.05 in most of 100 looks."""
    rng = np.random.default_rng(11)
    found = np.mean([p_of([drawn(rng, 40, 80, 64)], [drawn(rng, 120, 40, 64)]) < 0.05 for _ in range(100)])
    assert found > 0.5


def p_of(first: list[tuple[list[int], list[bool]]], second: list[tuple[list[int], list[bool]]]) -> float:
    p_value = log_rank(first, second).p_value
    assert p_value is not None
    return p_value


def test_nothing_ended_decides_nothing() -> None:
    found = log_rank([([64, 64], [True, True])], [([64], [True])])
    assert (found.statistic, found.p_value, found.excess) == (None, None, None)
    with pytest.raises(ValueError, match="equally long"):
        kaplan_meier([1, 2], [True])
