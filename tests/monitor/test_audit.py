"""When an audit stops, and which cause it names: on verdicts written by hand."""

import math
from dataclasses import replace
from typing import Any

import pytest

from monitor.audit import level_of, standing
from monitor.causes import explain
from monitor.results import Evidence, Status, Verdict
from monitor.types import Choice, Exchange, TokenLogprob, TopToken
from tests.detectors.made import AT, endpoint

ALPHA = 0.001


def said(
    detector: str, status: Status, *, cause: str | None = None, log_e: float | None = None, **details: Any
) -> Verdict:
    return Verdict(
        verdict_id="v", endpoint="acme/model", detector=detector, detector_version=1, at=AT, status=status, cause=cause,
        statistic="s", effect=None, unit="u", low=None, high=None, n=1, threshold=None,
        e_value=None if log_e is None else math.exp(log_e), reason=f"{detector} says so", run_ids=(), details=details,
    )  # fmt: skip


def test_joint_evidence_is_the_mean_of_the_e_values() -> None:
    """Oracle: (e^8 + e^0) / 2 is beyond 1/alpha = e^6.9, (e^7 + e^0) / 2 is not."""
    strong = standing([said("logprob_fidelity", "suspect", cause="weights", log_e=8.0),
                       said("sampler", "inconclusive", log_e=0.0)], alpha=ALPHA)  # fmt: skip
    assert strong.status == "fail"
    assert strong.log_e == pytest.approx(math.log((math.exp(8) + 1) / 2))
    weak = standing([said("logprob_fidelity", "suspect", cause="weights", log_e=7.0),
                     said("sampler", "inconclusive", log_e=0.0)], alpha=ALPHA)  # fmt: skip
    assert (weak.status, weak.done) == ("suspect", False)


def test_what_could_not_run_is_left_out_of_the_mean() -> None:
    found = standing([said("logprob_fidelity", "fail", cause="weights", log_e=7.0), said("sampler", "inconclusive")],
                     alpha=ALPHA)  # fmt: skip
    assert found.log_e == pytest.approx(7.0)


def test_wrong_prompt_counts_need_no_evidence() -> None:
    found = standing([said("accounting", "fail", cause="template"), said("sampler", "inconclusive")], alpha=ALPHA)
    assert (found.status, found.done) == ("fail", True)
    assert found.cause is not None
    assert found.cause.cause == "template"


def test_pass_needs_weights_and_sampler() -> None:
    weights = said("logprob_fidelity", "pass", log_e=-2.0, log_e_below=5.0)
    sampler = said("sampler", "pass", log_e=-2.0)
    assert standing([weights, sampler], alpha=ALPHA).status == "pass"
    half = standing([weights, said("sampler", "inconclusive", log_e=0.0)], alpha=ALPHA)
    assert (half.status, half.open, half.done) == ("inconclusive", ("sampler",), False)
    assert standing([weights], alpha=ALPHA).open == ("sampler",)
    assert standing([], alpha=ALPHA).open == ("weights", "sampler")


def test_a_pass_of_one_look_is_not_enough_for_stopping() -> None:
    early = said("logprob_fidelity", "pass", log_e=-1.0, log_e_below=2.0)
    assert "weights" in standing([early, said("sampler", "pass")], alpha=ALPHA).open


def test_a_pass_needs_the_interval_that_is_shown_below_the_tolerance() -> None:
    sampler = said("sampler", "pass")
    for high, status in ((0.0048, "inconclusive"), (0.0019, "pass"), (None, "pass")):
        shown = said("logprob_fidelity", "pass", log_e=-1.0, log_e_below=3.5, anytime_high=high)
        assert standing([replace(shown, threshold=0.002), sampler], alpha=ALPHA).status == status


def test_one_detector_that_doubts_keeps_its_area_open() -> None:
    found = standing([said("logprob_fidelity", "pass", log_e=-2.0, log_e_below=5.0),
                      said("greedy_flips", "suspect", cause="routing", log_e=3.5), said("sampler", "pass")],
                     alpha=ALPHA)  # fmt: skip
    assert (found.status, found.open) == ("suspect", ("weights",))


def test_detectors_that_an_audit_does_not_listen_to_change_nothing() -> None:
    found = standing([said("availability", "fail", cause="truncated", log_e=50.0)], alpha=ALPHA)
    assert (found.status, found.log_e, found.cause) == ("inconclusive", None, None)


@pytest.mark.parametrize(
    ("causes", "named"),
    [
        (["weights", "template"], "template"),
        (["weights", "kv_cache"], "kv_cache"),
        (["sampler", "weights"], "weights"),
        (["routing", "weights", "sampler"], "routing"),
        (["weights", "different_model"], "different_model"),
        (["something_new", "sampler"], "sampler"),
    ],
)
def test_the_fault_that_explains_the_others_is_named(causes: list[str], named: str) -> None:
    found = explain([said(f"d{at}", "fail", cause=cause) for at, cause in enumerate(causes)])
    assert found is not None
    assert found.cause == named


def test_the_sampler_is_named_where_other_detectors_clear_the_weights() -> None:
    """Sampled tokens of a hotter sampler may look like other weights; logprobs at temperature 0 tell."""
    blamed = said("sampler", "fail", cause="weights")
    for status, named in (("pass", "sampler"), ("inconclusive", "weights")):
        found = explain([blamed, said("logprob_fidelity", status)])  # type: ignore[arg-type]
        assert found is not None
        assert found.cause == named


def test_counts_of_the_prompt_have_the_last_word_on_the_prompt() -> None:
    early = said("greedy_flips", "fail", cause="template")
    for status, cause, named in (("fail", "tokenizer", "tokenizer"), ("pass", None, "weights"),
                                 ("inconclusive", "no_usage", "template")):  # fmt: skip
        found = explain([early, said("accounting", status, cause=cause)])  # type: ignore[arg-type]
        assert found is not None
        assert found.cause == named


def test_a_suspicion_is_named_only_where_nothing_fails() -> None:
    verdicts = [said("a", "fail", cause="sampler"), said("b", "suspect", cause="template")]
    found, doubt = explain(verdicts), explain(verdicts[1:])
    assert found is not None
    assert found.cause == "sampler"
    assert doubt is not None
    assert doubt.cause == "template"
    assert explain([said("a", "inconclusive", cause="no_usage")]) is None


def answered(*entries: TokenLogprob) -> Evidence:
    one = Exchange(outcome="ok", choices=(Choice(content="a", logprobs=entries or None),))
    return Evidence(endpoint=endpoint(), runs=(), exchanges=(one,))


def test_level() -> None:
    tops = (TopToken(token="a", logprob=-0.1), TopToken(token="b", logprob=-3.0))
    assert level_of(answered(TokenLogprob(token="a", logprob=-0.1, top=tops))) == "top_logprobs"
    assert level_of(answered(TokenLogprob(token="a", logprob=-0.1, top=tops[:1]))) == "chosen_logprobs"
    assert level_of(answered(TokenLogprob(token="a", logprob=None))) == "text"
    assert level_of(answered()) == "text"
    assert level_of(Evidence(endpoint=endpoint(), runs=(), exchanges=())) is None
