"""KL bands on made evidence whose true divergence is known from the noise (mean KL of logit noise s is about s²/2)."""

from dataclasses import replace

import numpy as np
import pytest

from monitor.detectors.logprob_fidelity import DETECTOR
from monitor.results import Evidence, GoldenView, Status, Verdict
from monitor.stats.confseq import mean_above
from monitor.types import Exchange
from tests.detectors.made import AT, evidence, exchange, position


def judge(made: Evidence) -> Verdict:
    return DETECTOR().run(made, at=AT, rng=np.random.default_rng(0))


def blind(exchanges: tuple[Exchange, ...]) -> Evidence:
    return replace(evidence(), golden={}, exchanges=exchanges)


@pytest.mark.parametrize(
    ("noise", "precision", "status", "band"),
    [
        (0.0, None, "pass", "indistinguishable"),
        (0.02, "bf16", "pass", "indistinguishable"),
        (0.1, "fp8", "pass", "within declared precision"),
        (0.15, "bf16", "suspect", "below declared precision"),
        (0.6, "bf16", "fail", "below declared precision"),
        (0.6, "int4", "fail", "below declared precision"),
    ],
)
def test_bands(noise: float, precision: str | None, status: Status, band: str) -> None:
    verdict = judge(evidence(noise=noise, precision=precision))
    assert (verdict.status, verdict.band) == (status, band)
    assert verdict.cause == (None if status == "pass" else "weights")


def test_effect_is_the_mean_kl_within_its_interval() -> None:
    """Logit noise of SD s has a KL of at most about s²/2, of which the top-20 keeps most."""
    verdict = judge(evidence(noise=0.4, n=64))
    assert verdict.effect is not None
    assert verdict.low is not None
    assert verdict.high is not None
    assert verdict.low < verdict.effect < verdict.high
    assert 0.2 * 0.08 < verdict.effect < 0.08
    assert verdict.mde is not None
    assert verdict.mde > (verdict.threshold or 0)


def test_false_alarms_of_a_faithful_endpoint() -> None:
    """A bf16-like endpoint (mean KL 0.0004) is never suspect in 100 seeds: the null is a tolerance, not equality."""
    statuses = [judge(evidence(noise=0.03, precision="bf16", seed=seed, n=16)).status for seed in range(100)]
    assert set(statuses) == {"pass"}


def test_difference_on_a_misread_prompt_is_not_blamed_on_the_weights() -> None:
    verdict = judge(evidence(noise=0.6, deltas=[-20] * 32))
    assert (verdict.status, verdict.cause, verdict.band) == ("fail", "template", "different configuration")
    assert "weights are not judged" in verdict.reason


def test_between_tolerance_and_interval_nothing_is_claimed() -> None:
    verdict = judge(evidence(noise=0.075, precision="bf16", n=8, positions=1))
    assert verdict.status == "inconclusive"
    assert verdict.low is not None
    assert verdict.low <= (verdict.threshold or 0) < (verdict.high or 0)


def test_reports_agreement() -> None:
    verdict = judge(evidence(noise=0.0))
    assert verdict.details["top1_same"] == verdict.n == 128
    assert verdict.details["mean_abs_dlp"] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(
    ("made", "cause"),
    [
        (replace(evidence(), golden={}), "no_reference"),
        (blind(tuple(exchange(i, logprobs=False) for i in range(9))), "no_logprobs"),
        (blind(tuple(exchange(i, outcome="http_5xx") for i in range(9))), "no_answers"),
        (blind(()), "no_answers"),
    ],
)
def test_without_evidence_inconclusive_with_the_cause(made: Evidence, cause: str) -> None:
    verdict = judge(made)
    assert (verdict.status, verdict.cause) == ("inconclusive", cause)
    assert verdict.effect is None


def test_too_few_prompts() -> None:
    verdict = judge(evidence(n=7))
    assert verdict.status == "inconclusive"
    assert "7 prompts comparable, 8 needed" in verdict.reason


def test_not_in_the_golden_vocabulary_is_said() -> None:
    made = evidence(n=9)
    views = {
        key: replace(view, positions=(), problem="token 'Ω' at position 0 is not in the golden vocabulary")
        for key, view in made.golden.items()
    }
    verdict = judge(replace(made, golden=views))
    assert verdict.cause == "not_comparable"
    assert "golden vocabulary" in verdict.reason


def sampled_at_zero(one: GoldenView) -> GoldenView:
    """The view of an endpoint that lists only its choice, with certainty."""
    return replace(one, positions=tuple(
        replace(p, endpoint_top=(0.0,), golden_top=p.golden_top[:1], endpoint_logprob=0.0) for p in one.positions
    ))  # fmt: skip


def test_logprobs_after_the_sampler_are_recognised_and_not_blamed_on_the_weights() -> None:
    made = evidence()
    made = replace(made, golden={key: sampled_at_zero(one) for key, one in made.golden.items()})
    found = judge(made)
    assert (found.status, found.cause) == ("inconclusive", "logprob_semantics")
    assert "after the sampler" in found.reason


def test_evidence_may_be_looked_at_after_every_request() -> None:
    """Type I at the edge: requests whose mean KL is the tolerance, in 400 looks, 200 times; at most 1% reach 100."""
    rng, alarms = np.random.default_rng(3), 0
    for _ in range(200):
        values = rng.exponential(0.002, 400)
        alarms += mean_above(values, null=0.002).peak >= np.log(100)
    assert alarms <= 6  # binomial 99.9% bound at 1%


def test_degraded_weights_are_beyond_doubt_after_eight_requests() -> None:
    found = judge(evidence(noise=0.6, n=8, positions=4))
    assert found.e_value is not None
    assert found.e_value > 1000
    assert judge(evidence(noise=0.02, n=8)).e_value is not None
    assert (judge(evidence(noise=0.02, n=32)).details["log_e_below"]) > np.log(20)


@pytest.mark.parametrize(("k", "n", "noise"), [(20, 50, 0.12), (5, 100, 0.15)])
def test_b10_a_shift_of_five_millinats_is_found_in_single_tokens(k: int, n: int, noise: float) -> None:
    """Bar B10: noise like that of 8 bits, declared bf16, whose KL by `k` logprobs is 0.005; an e-value of 1,000."""
    verdicts = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        made = evidence(noise=noise, n=n, positions=1, seed=seed, precision="bf16")
        views = {key: replace(view, positions=(position(rng, noise, k),)) for key, view in made.golden.items()}
        verdicts.append(judge(replace(made, golden=views)))
    assert np.mean([one.effect or 0.0 for one in verdicts]) == pytest.approx(0.005, abs=0.0005)
    assert sum((one.e_value or 0.0) >= 1000 for one in verdicts) >= 11
