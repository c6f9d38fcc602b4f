"""Divergence by place on made answers whose logits are off in a known way (KL of logit noise s is about s²/2)."""

from dataclasses import replace

import numpy as np
import pytest

from monitor.detectors.logprob_profile import LogprobProfile
from monitor.results import Evidence, Tolerances, Verdict
from tests.detectors.made import AT, evidence
from tests.detectors.made_greedy import flips, greedy_evidence, leaning


def judge(made: Evidence, **settings: float) -> Verdict:
    return LogprobProfile(**settings).run(made, at=AT, rng=np.random.default_rng(0))  # type: ignore[arg-type]


def test_a_faithful_endpoint_passes_within_one_run() -> None:
    verdict = judge(leaning(20, 32, context=0.02))
    assert (verdict.status, verdict.cause, verdict.n) == ("pass", None, 640)
    assert verdict.effect is not None
    assert verdict.low is not None
    assert verdict.high is not None
    assert verdict.low <= verdict.effect < verdict.high < 0.002
    assert verdict.effect == pytest.approx(0.02**2 / 2, rel=0.3)


def test_false_failures_at_the_tolerance() -> None:
    """H0 holds with equality when the tolerance is the true mean. 100 worlds at 5%: at most 11 (Ville)."""
    others = [judge(leaning(12, 16, context=0.1, seed=1000 + seed)) for seed in range(20)]
    truth = float(np.mean([verdict.details["kl_nats"] for verdict in others]))
    tolerances = Tolerances(weights_sha256="w", by_metric={"kl_nats": {"full": truth}})
    found = [judge(replace(leaning(12, 16, context=0.1, seed=seed), tolerances=tolerances)) for seed in range(100)]
    assert sum((verdict.e_value or 0) >= 20 for verdict in found) <= 11
    assert sum(verdict.status == "fail" for verdict in found) <= 2


def test_weights_are_found_within_64_tokens() -> None:
    """The bar: 64 output tokens, 19 of 20. Logits off by 0.4, half of it by token, are 0.08 nats: a quarter of Q4_0."""
    found = [judge(leaning(4, 16, token=0.3, context=0.27, seed=seed)) for seed in range(20)]
    assert sum(verdict.status == "fail" for verdict in found) >= 19
    assert all(verdict.n == 64 for verdict in found)


@pytest.mark.parametrize(("token", "context", "cause"), [(0.4, 0.4, "weights"), (0.05, 0.5, "kv_cache")])
def test_errors_by_token_are_weights_and_by_context_the_cache(token: float, context: float, cause: str) -> None:
    """Oracle: the share of variance that is the token's own, token² / (token² + context²): 0.5 and 0.01."""
    found = [judge(leaning(20, 32, token=token, context=context, seed=seed)) for seed in range(10)]
    assert [(verdict.status, verdict.cause) for verdict in found] == [("fail", cause)] * 10
    shares = [verdict.details["token_share"] for verdict in found]
    assert np.mean(shares) == pytest.approx(token**2 / (token**2 + context**2), abs=0.06)


def test_growth_is_the_caches_and_its_slope_is_measured() -> None:
    """KL is s²/2: with s² rising by 0.01 a token, the slope is 0.5 nats in 100 tokens; the top-20 keep most of it."""
    verdict = judge(leaning(20, 32, token=0.0, context=lambda place: float(np.sqrt(0.01 * place))))
    assert (verdict.status, verdict.cause) == ("fail", "kv_cache")
    assert "grows" in verdict.reason
    assert verdict.details["slope_low"] > 0
    assert 0.2 < verdict.details["kl_slope"] < 0.5


def test_what_fades_is_the_templates() -> None:
    verdict = judge(leaning(20, 32, context=lambda place: 0.8 if place < 4 else 0.05))
    assert (verdict.status, verdict.cause) == ("fail", "template")
    counted = judge(leaning(20, 32, token=0.5, deltas=[-20] * 20))
    assert (counted.status, counted.cause) == ("fail", "template")
    assert "weights are not judged" in counted.reason


def test_some_answers_off_and_the_others_clean_is_routing() -> None:
    verdict = judge(leaning(40, 16, token=0.6, share=0.3))
    assert (verdict.status, verdict.cause) == ("fail", "routing")
    assert 4 <= verdict.details["answers_off"] <= 20
    assert verdict.details["within_nats"] < 1e-6


def test_answers_on_both_sides_of_the_tolerance_are_one_kind() -> None:
    """Logits off by 0.09 in every context are 0.004 nats on average: some answers are within 0.002, none is clean."""
    found = [judge(leaning(40, 4, context=0.09, seed=seed)) for seed in range(10)]
    assert any(verdict.details["within_nats"] is not None for verdict in found)
    assert {verdict.cause for verdict in found if verdict.status in {"fail", "suspect"}} == {"weights"}
    assert sum(verdict.status in {"fail", "suspect"} for verdict in found) >= 5


def test_8_bit_is_allowed_where_declared() -> None:
    """Logits off by 0.1 are 0.005 nats: above what 16 bit may show, below what 8 bit may."""
    assert judge(leaning(40, 32, token=0.1, precision="bf16")).status in {"fail", "suspect"}
    assert judge(leaning(40, 32, token=0.1, precision="fp8")).status == "pass"


def test_logprobs_after_temperature_are_not_judged() -> None:
    made = leaning(20, 16)
    views = {
        key: replace(view, positions=tuple(replace(p, endpoint_top=(0.0, *[-50.0] * 19)) for p in view.positions))
        for key, view in made.golden.items()
    }
    verdict = judge(replace(made, golden=views))
    assert (verdict.status, verdict.cause) == ("inconclusive", "logprob_semantics")
    assert "after the sampler" in verdict.reason


def test_too_little_is_inconclusive() -> None:
    made = greedy_evidence(flips(20, 8, 0.0))
    assert judge(made).cause == "no_logprobs"
    without = [(one, one.request and replace(one.request, top_logprobs=None)) for one in made.exchanges]
    exchanges = tuple(replace(one, request=request) for one, request in without)
    assert judge(replace(made, exchanges=exchanges)).cause == "not_asked"
    assert judge(evidence()).cause == "not_asked"
    assert judge(leaning(1, 8)).cause == "too_few"
    undecided = judge(leaning(4, 4, context=0.05))
    assert (undecided.status, undecided.cause) == ("inconclusive", "undecided")
    assert undecided.mde is not None


def test_the_reason_gives_the_effect_and_not_the_mean_over_tokens() -> None:
    """Oracle: 19 answers of one stretch are golden's, one is 9 nats off, cut at 5: mean 0.25, that of tokens 0.45."""
    made = leaning(20, 8)
    views = dict(made.golden)
    key = next(iter(views))
    far = tuple(replace(one, golden_top=(-1e-6,), endpoint_top=(-9.0,)) for one in views[key].positions)
    verdict = judge(replace(made, golden={**views, key: replace(views[key], positions=far)}))
    assert verdict.effect == pytest.approx(0.25, abs=0.01)
    assert verdict.details["kl_nats"] == pytest.approx(0.45, abs=0.01)
    assert f"mean KL {verdict.effect:.2g} nats of 20 stretches" in verdict.reason
    assert "cut at 5" in verdict.reason


def test_a_single_place_has_no_slope() -> None:
    verdict = judge(leaning(20, 1))
    assert verdict.details["kl_slope"] is None


@pytest.mark.parametrize(
    "settings", [{"full_precision_nats": 0.0}, {"stretch": 0}, {"cut": 1.0}, {"alpha": 0.5}, {"min_answers": 1}]
)
def test_bad_settings_are_refused(settings: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="m"):
        LogprobProfile(**settings)  # type: ignore[arg-type]
