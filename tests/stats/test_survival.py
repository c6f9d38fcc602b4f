"""Oracles: scipy's log-rank test and empirical distribution for censored data; the definition; simulation."""

import numpy as np
import pytest
from scipy.stats import CensoredData, ecdf, logrank

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
    assert ours.at(0) == (1.0, 0.0)


@pytest.mark.parametrize("seed", range(5))
def test_one_stratum_is_scipys_log_rank(seed: int) -> None:
    rng = np.random.default_rng(seed)
    first, second = drawn(rng, 50, 30, 64), drawn(rng, 80, 40, 64)
    ours = log_rank([first], [second])
    theirs = logrank(censored(first), censored(second))
    assert ours.p_value == pytest.approx(theirs.pvalue, rel=1e-9)
    assert ours.statistic == pytest.approx(theirs.statistic**2, rel=1e-9)


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
    assert log_rank([short], [long]).p_value > 0.01
    assert np.mean(short[0]) < 0.7 * np.mean(long[0])


def test_strata_keep_prompts_apart() -> None:
    """Two prompts of very different lengths, mixed otherwise in the second sample: no difference within a prompt."""
    rng = np.random.default_rng(3)
    (short, _), (long, _) = drawn(rng, 60, 5, 500), drawn(rng, 60, 100, 500)
    whole = [False] * 60
    first = [(short[:40], whole[:40]), (long[:20], whole[:20])]
    second = [(short[40:], whole[:20]), (long[20:], whole[:40])]
    assert log_rank(first, second).p_value > 0.01
    pooled = (short[:40] + long[:20], whole), (short[40:] + long[20:], whole)
    assert log_rank([pooled[0]], [pooled[1]]).p_value < 0.001


def test_type_one_error_and_power() -> None:
    """400 simulated pairs at alpha 0.05: within four standard errors of 0.05; answers twice as long are found."""
    rng = np.random.default_rng(11)
    null = np.mean([log_rank([drawn(rng, 40, 40, 64)], [drawn(rng, 120, 40, 64)]).p_value < 0.05 for _ in range(400)])
    assert abs(null - 0.05) < 4 * (0.05 * 0.95 / 400) ** 0.5
    found = np.mean([log_rank([drawn(rng, 40, 80, 64)], [drawn(rng, 120, 40, 64)]).p_value < 0.05 for _ in range(100)])
    assert found > 0.5


def test_nothing_ended_decides_nothing() -> None:
    assert log_rank([([64, 64], [True, True])], [([64], [True])]).p_value == 1.0
    with pytest.raises(ValueError, match="equally long"):
        kaplan_meier([1, 2], [True])
