"""Flips on made answers whose rate, correlation and place are known."""

from dataclasses import replace

import numpy as np
import pytest

from monitor.detectors.greedy_flips import DETECTOR, GreedyFlips
from monitor.results import Evidence, Tolerances, Verdict
from tests.detectors.made import AT, evidence
from tests.detectors.made_greedy import after_temperature, flips, greedy_evidence, leaning, spoken


def judge(made: Evidence, **settings: float) -> Verdict:
    return GreedyFlips(**settings).run(made, at=AT, rng=np.random.default_rng(0))  # type: ignore[arg-type]


@pytest.mark.parametrize(("token", "context", "cause"), [(0.8, 0.0, "weights"), (0.0, 0.8, "kv_cache")])
def test_by_text_alone_choices_tell_weights_from_the_cache(token: float, context: float, cause: str) -> None:
    """Oracle: the share of the error that the token has everywhere, which is 1 and 0."""
    found = [judge(spoken(32, 12, token=token, context=context, seed=seed)) for seed in range(5)]
    assert [(verdict.status, verdict.cause) for verdict in found] == [("fail", cause)] * 5
    assert np.mean([verdict.details["token_share"] for verdict in found]) == pytest.approx(float(token > 0), abs=0.25)
    assert not any(verdict.details["cause_unsure"] for verdict in found)


def test_few_choices_leave_the_cause_unsure() -> None:
    """A share of one half by chance: with 6 answers two standard deviations reach across the limit."""
    verdict = judge(spoken(6, 12, token=0.5, context=0.5))
    assert verdict.status in {"fail", "suspect"}
    assert verdict.details["cause_unsure"]


def test_a_faithful_endpoint_passes_within_one_run() -> None:
    """20 answers of 32 tokens without a flip bound the rate below 1.5% at every look: Darling and Robbins, mixture."""
    verdict = judge(greedy_evidence(flips(20, 32, 0.0)))
    assert (verdict.status, verdict.cause, verdict.n) == ("pass", None, 640)
    assert verdict.high is not None
    assert verdict.high < 0.015
    assert verdict.mde is not None
    assert 0.015 < verdict.mde < 0.06


def test_near_ties_are_no_flips() -> None:
    """Margins of 0.05 nats are engine noise at 16 bit; of 0.3 only below."""
    assert judge(greedy_evidence(flips(20, 32, 0.2, margin=0.05))).status == "pass"
    assert judge(greedy_evidence(flips(20, 32, 0.2, margin=0.3), precision="int8")).status == "pass"
    assert judge(greedy_evidence(flips(20, 32, 0.2, margin=0.3))).status == "fail"


@pytest.mark.parametrize("rho", [0.0, 0.01])
def test_false_failures_at_the_tolerance(rho: float) -> None:
    """H0 is composite; at its edge, the e-value exceeds 20 in at most 5% of worlds (Ville). 300 worlds: at most 24."""
    found = [judge(greedy_evidence(flips(20, 32, 0.015, rho=rho, seed=seed))) for seed in range(300)]
    assert sum((verdict.e_value or 0) >= 20 for verdict in found) <= 24
    assert sum(verdict.status == "fail" for verdict in found) <= 2


@pytest.mark.parametrize("rate", [0.1, 0.3])
def test_other_weights_are_found_within_the_bar(rate: float) -> None:
    """The bar: 600 tokens, at least 19 of 20. A tenth of the tokens is what KV q4 does on real weights."""
    found = [judge(greedy_evidence(flips(18, 32, rate, seed=seed))) for seed in range(20)]
    assert sum((v.status, v.cause) == ("fail", "weights") for v in found) >= 19
    assert all(v.low is not None and v.high is not None and v.low < rate < v.high for v in found)


@pytest.mark.parametrize(("share", "requests"), [(0.1, 400), (0.2, 150)])
def test_a_routed_share_is_found_and_named(share: float, requests: int) -> None:
    """Bar B9: 80% power. The share lies in its interval; the others are faithful."""
    found = [judge(greedy_evidence(flips(requests, 16, 0.3, share=share, seed=seed))) for seed in range(20)]
    assert sum((v.status, v.cause) == ("fail", "routing") for v in found) >= 16
    assert all(v.details["routed_low"] <= share <= v.details["routed_high"] for v in found)


def test_another_prompt_is_blamed_before_the_weights() -> None:
    made = flips(20, 32, 0.3)
    same = judge(greedy_evidence(made, deltas=[-20] * 20))
    assert (same.status, same.cause) == ("fail", "template")
    assert "weights are not judged" in same.reason
    by_text = judge(greedy_evidence(made, deltas=[1 + index % 4 for index in range(20)]))
    assert (by_text.status, by_text.cause) == ("fail", "tokenizer")


def test_flips_that_come_with_length_and_flips_that_come_first() -> None:
    late = [judge(greedy_evidence(flips(20, 32, lambda t: 0.3 * t / 32, seed=seed))) for seed in range(20)]
    assert sum((v.status, v.cause) == ("fail", "kv_cache") for v in late) >= 19
    early = judge(greedy_evidence(flips(20, 32, lambda t: 0.5 if t < 8 else 0.0)))
    assert (early.status, early.cause) == ("fail", "template")


@pytest.mark.parametrize("after", [0.0, 0.2])
def test_joined_texts_are_the_engines(after: float) -> None:
    """Golden's own words up to a token that golden holds for impossible; after it, one in five or none is odd.

    That is what splicing tails of other answers to the same prompt did on real weights: 35 of 36 answers had such a
    token, nothing flipped before it and a quarter of the tokens after it.
    """
    made = flips(25, 32, lambda _: after)
    for index, row in enumerate(made):
        join = 8 + index % 16
        row[:join] = [0.0] * join
        row[join] = 9.0
    verdict = judge(greedy_evidence(made))
    assert (verdict.status, verdict.cause) == ("fail", "engine")
    assert verdict.details["n_cliffs"] == 25
    assert verdict.details["rate_before_cliffs"] == 0


def test_different_model_and_sampler() -> None:
    """Another model is nats away from golden's choices; a sampler takes tokens that it likes less itself."""
    other = judge(greedy_evidence(flips(20, 32, 0.9, margin=6.0)))
    assert (other.status, other.cause) == ("fail", "different_model")
    sampled = judge(_sampled())
    assert (sampled.status, sampled.cause) == ("fail", "sampler")
    assert sampled.details["odd_choices"] == 1.0


def _sampled() -> Evidence:
    made = greedy_evidence(flips(20, 32, 0.4), noise=0.0)
    views = {}
    for key, view in made.golden.items():
        positions = tuple(
            replace(one, endpoint_logprob=min(one.endpoint_top)) if one.golden_rank else one for one in view.positions
        )
        views[key] = replace(view, positions=positions)
    return replace(made, golden=views)


def test_logprobs_after_temperature_name_no_cause() -> None:
    """Flips everywhere alike; divergences of such logprobs are huge and another one in each context, for no fault."""
    verdict = judge(after_temperature(leaning(20, 32, token=1.5)))
    assert (verdict.status, verdict.cause) == ("fail", "weights")
    assert verdict.details["token_share"] is None


def test_the_smallest_rate_that_could_have_been_seen_reaches_alpha() -> None:
    """Oracle: expected evidence of the right one of 3 x 3 alternatives, of which all together have half the weight."""
    verdict = judge(greedy_evidence(flips(20, 32, 0.0)))
    assert verdict.mde is not None
    rate, null = verdict.mde, 0.015
    gain = rate * np.log(rate / null) + (1 - rate) * np.log((1 - rate) / (1 - null))
    assert verdict.n * gain - np.log(18) >= np.log(1000)


def test_calibrated_tolerance_is_used() -> None:
    tolerances = Tolerances(weights_sha256="w", by_metric={"flip_rate": {"full": 0.2}})
    made = flips(20, 32, 0.1)
    assert judge(greedy_evidence(made)).status == "fail"
    verdict = judge(greedy_evidence(made, tolerances=tolerances))
    assert (verdict.status, verdict.threshold) == ("pass", 0.2)


def test_too_little_is_inconclusive() -> None:
    few = judge(greedy_evidence(flips(2, 32, 0.0)))
    assert (few.status, few.cause, few.effect) == ("inconclusive", "too_few", None)
    undecided = judge(greedy_evidence(flips(4, 8, 0.0)))
    assert (undecided.status, undecided.cause) == ("inconclusive", "undecided")
    other_probe = judge(evidence())
    assert (other_probe.status, other_probe.cause) == ("inconclusive", "not_asked")
    unknown = judge(greedy_evidence(flips(20, 32, 0.5), canonical=False))
    assert (unknown.status, unknown.cause) == ("inconclusive", "not_comparable")
    assert unknown.details["n_noncanonical"] == 20


def test_logprobs_make_no_difference_to_what_is_a_flip() -> None:
    """A pure context error flips some tokens; the count follows from golden's margins alone."""
    made = leaning(20, 16, context=0.5)
    margins = [p.golden_top1_logprob - (p.golden_logprob or 0.0) for v in made.golden.values() for p in v.positions]
    assert judge(made).details["k"] == sum(margin > 0.1 for margin in margins) > 0


@pytest.mark.parametrize(
    "settings",
    [{"noise_nats": 1.0}, {"tolerated_rate": 0.0}, {"alpha": 0.05}, {"rho": 1.0}, {"min_answers": 0},
     {"different_nats": 0.0}],
)  # fmt: skip
def test_bad_settings_are_refused(settings: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="must"):
        DETECTOR(**settings)  # type: ignore[arg-type]
