"""Oracles: sentences and cells written by hand for small sets of endpoints."""

from dataclasses import replace
from typing import Any

import pytest

from dashboard.store_reader import EndpointNow, Measured
from dashboard.view import (
    NAMED,
    detectors_of,
    effect_text,
    metric_text,
    overall,
    sample_text,
    sentence,
    worst_first,
)
from dashboard.words import DASH
from monitor.results import Verdict
from tests.dashboard.scenes import verdict


def now(name: str, *verdicts: Verdict, **changes: Any) -> EndpointNow:
    return EndpointNow(endpoint=name, provider="lab", model="m", verdicts=verdicts, metrics={}, **changes)


def passing(name: str) -> EndpointNow:
    return now(name, *(verdict(name, detector, "pass") for detector in ("availability", "accounting")))


def failing(name: str, detector: str, cause: str | None) -> EndpointNow:
    return now(name, verdict(name, detector, "fail", cause=cause), verdict(name, "accounting", "pass"))


def test_one_undecided_check_keeps_an_endpoint_from_passing() -> None:
    ok = verdict("a", "availability", "pass")
    unsure = verdict("a", "logprob_fidelity", "inconclusive")
    doubtful = verdict("a", "accounting", "suspect")
    broken = verdict("a", "accounting", "fail")
    assert overall(now("a", ok)) == "pass"
    assert overall(now("a", ok, unsure)) == "inconclusive"
    assert overall(now("a", ok, unsure, doubtful)) == "suspect"
    assert overall(now("a", ok, unsure, broken)) == "fail"
    assert overall(now("a")) is None


def test_those_that_need_attention_come_first() -> None:
    endpoints = [
        passing("a"),
        now("b"),
        failing("z", "accounting", None),
        failing("c", "accounting", None),
        now("d", verdict("d", "accounting", "inconclusive")),
    ]
    assert [endpoint.endpoint for endpoint in worst_first(endpoints)] == ["c", "z", "d", "a", "b"]


@pytest.mark.parametrize(
    ("endpoints", "said"),
    [
        ([passing("a"), passing("b")], "All 2 endpoints are faithful."),
        ([passing("a")], "a is faithful."),
        ([now("a")], "a waits for its first verdict."),
        ([failing("a", "logprob_fidelity", "weights")], "a is not faithful: weights."),
        (
            [passing("a"), failing("b", "logprob_fidelity", "weights"), failing("c", "accounting", None)],
            "1 of 3 endpoints is faithful: a. 2 are not faithful: b (weights), c (token accounting).",
        ),
        (
            [passing("a"), passing("b"), failing("c", "availability", "truncated, stalled")],
            "2 of 3 endpoints are faithful: a, b. c does not answer reliably: truncated, stalled.",
        ),
        (
            [now("a", verdict("a", "accounting", "suspect", cause="template")), now("b")],
            "None of 2 endpoints is known to be faithful. a is suspect: template. b waits for its first verdict.",
        ),
        (
            [now("a", verdict("a", "logprob_fidelity", "inconclusive", cause="no_logprobs"))],
            "a could not be decided: no logprobs.",
        ),
    ],
)
def test_the_sentence_says_who_is_faithful_who_is_not_and_why(endpoints: list[EndpointNow], said: str) -> None:
    assert sentence(endpoints) == said


def test_the_sentence_stays_short_with_many_endpoints() -> None:
    said = sentence([failing(f"e{index:02}", "accounting", "template") for index in range(30)])
    assert said.count("template") == NAMED
    assert said.endswith(f"and {30 - NAMED} more.")


def test_an_unreachable_endpoint_is_not_called_unfaithful_but_one_with_both_faults_is() -> None:
    both = now("a", verdict("a", "availability", "fail"), verdict("a", "accounting", "fail", cause="template"))
    assert "is not faithful: availability, template" in sentence([both])


def test_what_has_no_past_to_look_at_and_what_is_slow_do_not_make_unfaithful() -> None:
    young = replace(verdict("a", "availability", "inconclusive", cause="no_history"), detector="speed_shift")
    assert "is faithful" in sentence([now("a", verdict("a", "availability", "pass"), young)])
    slow = replace(verdict("a", "availability", "fail", cause="slower_start"), detector="speed_shift")
    assert "not faithful" not in sentence([now("a", verdict("a", "accounting", "pass"), slow)])


def test_some_detectors_are_always_columns_and_others_follow() -> None:
    other = replace(verdict("a", "availability", "pass"), detector="two_sample")
    always = ("availability", "accounting", "fidelity", "logprob_fidelity")
    assert detectors_of([now("a", other)]) == (*always, "two_sample")


def test_an_effect_without_interval_says_so() -> None:
    assert effect_text(verdict("a", "accounting", "pass", low=None)) == "100 % (no interval)"
    assert effect_text(verdict("a", "accounting", "pass", effect=None)) == "no effect measured"


def test_metrics_name_what_they_rest_on_and_absence_is_not_zero() -> None:
    metrics = {
        "ttft_ms_p50": Measured(value=43.21, n=5),
        "success_rate": Measured(value=0.8, n=5, k=4),
        "tps_p50": Measured(value=None, n=0),
    }
    assert metric_text(metrics, "ttft_ms_p50") == "43.2 ms"
    assert metric_text(metrics, "success_rate") == "80 %"
    assert sample_text(metrics, "success_rate") == "4 of 5"
    assert metric_text(metrics, "tps_p50") == metric_text(metrics, "kl_nats") == DASH
    assert sample_text(metrics, "kl_nats") == "no data yet"
