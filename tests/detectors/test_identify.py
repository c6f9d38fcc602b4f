"""`identify` on made evidence whose truth is known."""

from dataclasses import replace

import numpy as np
import pytest

from monitor.detectors.identify import Identify
from monitor.evidence import asked_by
from monitor.identified_parts import told_parts
from monitor.results import Evidence, Prediction, Verdict
from tests.detectors.made import AT
from tests.detectors.made_greedy import after_temperature
from tests.detectors.made_identify import after_sampler, identify_evidence, text_evidence


def judged(evidence: Evidence) -> Verdict:
    return Identify().run(evidence, at=AT, rng=np.random.default_rng(0))


def test_full_precision_passes() -> None:
    # Oracle: type I error over seeds; golden weights in an engine of full precision.
    found = [judged(identify_evidence(seed=seed, precision="bf16")) for seed in range(40)]
    assert all(one.status == "pass" for one in found)
    assert all(one.cause is None for one in found)


@pytest.mark.parametrize("name", ["Q8_0", "Q4_0", "fp8-channel"])
def test_a_coarser_scheme_fails_by_name(name: str) -> None:
    found = judged(identify_evidence(name, n=40, noise=0.05, precision="bf16"))
    assert (found.status, found.cause) == ("fail", f"weights: {name}")
    assert name in found.reason
    assert found.details["schemes"][0]["name"] == name


def test_the_declared_scheme_passes() -> None:
    assert judged(identify_evidence("Q8_0", n=40, noise=0.05, precision="q8_0")).status == "pass"
    assert judged(identify_evidence("Q8_0", n=40, noise=0.05, precision="q4_0")).status == "pass"
    assert judged(identify_evidence("Q4_0", n=40, noise=0.05, precision="q8_0")).cause == "weights: Q4_0"


@pytest.mark.parametrize(
    ("name", "cause"), [("kv-4", "kv_cache: kv-4"), ("rope-x0.1", "engine: rope-x0.1"),
                        ("layers-2", "different_model: layers-2")],
)  # fmt: skip
def test_other_faults_fail_whatever_is_declared(name: str, cause: str) -> None:
    found = judged(identify_evidence(name, n=40, precision="q4_0"))
    assert (found.status, found.cause) == ("fail", cause)


def test_a_share_of_the_requests_is_routing() -> None:
    found = judged(identify_evidence("Q4_0", n=60, share=0.4))
    assert (found.status, found.cause) == ("fail", "routing: Q4_0")
    assert found.details["share_low"] < 0.4 < found.details["share_high"]
    own, rest = told_parts(found.details)
    assert f"{own.share:.0%} of the requests ({own.range}) answer like Q4_0, the others ({rest.range}) " in found.reason
    assert "like the bf16 class (golden weights in 16 bit or more), posterior above 0.999" in found.reason
    assert (own.label, rest.label) == ("Q4_0", "bf16-class")


def test_the_others_are_not_called_16_bit_where_they_are_noisier() -> None:
    # Oracle: the noise of what answers the rest, 0.1 nats: int8 activations. 16 bit shows 0.063 at most.
    found = judged(identify_evidence("Q4_0", n=60, share=0.4, noise=0.1))
    assert found.cause == "routing: Q4_0"
    assert "like golden weights with more noise than 16 bit shows" in found.reason
    assert told_parts(found.details)[1].label == "golden weights"


def test_two_wrong_backends_are_both_named_with_their_shares() -> None:
    one, other = identify_evidence("Q4_0", n=60), identify_evidence("rope-x0.1", n=60)
    views = {key: (one if at % 3 else other).golden[key] for at, key in enumerate(one.golden)}
    found = judged(replace(one, golden=views))
    assert found.status == "fail"
    assert found.cause is not None
    assert set(found.cause.removeprefix("routing: ").split(" and ")) == {"Q4_0", "rope-x0.1"}
    parts = {part["name"]: part for part in found.details["parts"]}
    assert parts["Q4_0"]["low"] < 2 / 3 < parts["Q4_0"]["high"]
    assert parts["rope-x0.1"]["low"] < 1 / 3 < parts["rope-x0.1"]["high"]
    own, rest = told_parts(found.details)
    assert f"({own.range}) answer like {own.name}, the others ({rest.range}) like {rest.name}" in found.reason


def test_backends_that_tell_who_they_are_are_judged_one_by_one() -> None:
    made = identify_evidence("Q4_0", n=60, share=0.4)
    gone = np.random.default_rng(0).random(60) < 0.4  # as the evidence was made
    told = tuple(
        replace(one, fingerprint="fp_b" if bad else "fp_a") for one, bad in zip(made.exchanges, gone, strict=True)
    )
    found = judged(replace(made, exchanges=told)).details["backends"]
    assert {one["backend"]: one["name"] for one in found} == {"fp_a": "golden", "fp_b": "Q4_0"}
    assert {one["backend"]: one["prompts"] for one in found} == {"fp_a": int((~gone).sum()), "fp_b": int(gone.sum())}
    assert judged(made).details["backends"] == []


def test_what_is_not_in_the_bank_is_unexplained() -> None:
    found = judged(identify_evidence("Q4_0", n=40, without=("Q4_0",)))
    assert (found.status, found.cause) == ("inconclusive", "unexplained")
    assert found.details["nearest"] is not None


def test_few_prompts_are_undecided_and_fewer_are_no_evidence() -> None:
    assert judged(identify_evidence("Q8_0", n=4, noise=0.25)).status == "inconclusive"
    few = judged(identify_evidence("Q8_0", n=3))
    assert (few.status, few.effect) == ("inconclusive", None)


def test_without_predictions_nothing_is_said() -> None:
    found = judged(replace(identify_evidence("Q4_0"), predictions=()))
    assert (found.status, found.cause) == ("inconclusive", "no_predictions")


def test_logprobs_after_the_sampler_tell_by_what_was_chosen() -> None:
    # Oracle: what was served. All of the probability is on one token wherever golden is unsure; which one is left.
    assert judged(after_sampler(identify_evidence(None, n=40, noise=0.005))).status in {"pass", "inconclusive"}
    found = judged(after_sampler(identify_evidence("Q4_0", n=40)))
    assert (found.status, found.cause, found.details["by"]) == ("fail", "weights: Q4_0", "text")


def test_one_logprob_after_the_sampler_tells_nothing() -> None:
    made = after_temperature(identify_evidence("Q4_0", n=40))
    views = {
        key: replace(view, positions=tuple(
            replace(one, endpoint_top=one.endpoint_top[:1], golden_top=one.golden_top[:1]) for one in view.positions
        ))
        for key, view in made.golden.items()
    }  # fmt: skip
    rows = tuple(
        replace(one, logprobs={key: tuple(row[:1] for row in some) for key, some in one.logprobs.items()})
        for one in made.predictions
    )
    found = judged(replace(made, golden=views, predictions=rows))
    assert (found.status, found.cause, found.n) == ("inconclusive", "logprob_semantics", 40)


@pytest.mark.parametrize("name", ["Q4_0", "Q5_0", "rope-x0.1", "layers-2"])
def test_text_names_what_is_served(name: str) -> None:
    # Oracle: what was served. 96 tokens of 8 answers.
    found = judged(text_evidence(name))
    assert found.status == "fail"
    assert found.cause is not None
    assert found.cause.endswith(name)
    assert (found.n, found.details["by"]) == (96, "text")
    assert found.details["missed"][name] < found.details["missed"]["golden"] / 3


def test_text_of_golden_weights_is_no_scheme() -> None:
    # Oracle: type I error over seeds.
    found = [judged(text_evidence(None, seed=seed)) for seed in range(20)]
    assert all(one.status in {"pass", "inconclusive"} for one in found)
    assert all(one.details["schemes"][0]["family"] == "bf16-class" for one in found)


def test_text_of_what_is_not_in_the_bank_is_unexplained() -> None:
    found = [judged(text_evidence("Q4_0", seed=seed, without=("Q4_0",))) for seed in range(10)]
    assert all((one.status, one.cause) == ("inconclusive", "unexplained") for one in found)


def test_text_of_a_share_is_routing() -> None:
    found = judged(text_evidence("Q4_0", n=40, share=0.4))
    assert (found.status, found.cause) == ("fail", "routing: Q4_0")
    assert found.details["share_low"] < 0.4 < found.details["share_high"]


def test_text_does_not_know_samplers_and_odd_splits() -> None:
    # Oracle: golden's first choice is that of golden at another temperature, and a text that was split otherwise tells
    # nothing.
    made = text_evidence(None)
    hot = Prediction(variant="temperature-1.1", family="sampler", cause="sampler", logprobs={
        key: tuple(tuple(value / 1.1 for _, value in place.rivals) for place in view.positions)
        for key, view in made.golden.items()
    })  # fmt: skip
    names = [one["name"] for one in judged(replace(made, predictions=(*made.predictions, hot))).details["schemes"]]
    assert "temperature-1.1" not in names
    odd = {key: replace(view, canonical=False) for key, view in made.golden.items()}
    assert judged(replace(made, golden=odd)).cause == "not_comparable"


def test_another_prompt_is_not_blamed_on_weights() -> None:
    made = identify_evidence("Q4_0", n=40)
    longer = tuple(replace(one, usage={"prompt_tokens": 51, "completion_tokens": 1}) for one in made.exchanges)
    assert judged(replace(made, exchanges=longer)).cause == "template"


def test_masked_and_unknown_tokens_are_left_out() -> None:
    made = identify_evidence("Q4_0", n=40)
    views = {
        key: replace(view, positions=tuple(
            replace(one, endpoint_top=(*one.endpoint_top[:-1], -9999.0)) for one in view.positions
        ))
        for key, view in made.golden.items()
    }  # fmt: skip
    unknown = replace(made.predictions[0], logprobs={
        key: tuple((*row[:-2], float("nan"), row[-1]) for row in rows)
        for key, rows in made.predictions[0].logprobs.items()
    })  # fmt: skip
    odd = replace(made, golden=views, predictions=(unknown, *made.predictions[1:]))
    assert len(list(asked_by(odd, {"identify"}))) == 40
    assert judged(odd).cause == "weights: Q4_0"


@pytest.mark.parametrize("values", [{"sure": 1.0}, {"likely": 0.999}, {"min_prompts": 0}, {"full_precision_nats": 0.0}])
def test_thresholds_that_make_no_sense_are_refused(values: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="must"):
        Identify(**values)  # type: ignore[arg-type]
