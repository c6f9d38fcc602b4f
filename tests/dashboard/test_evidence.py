"""Oracles: rows written by hand."""

from dataclasses import replace
from typing import Any

import pytest

from dashboard.evidence import Band, band, evidence, exchange_row, exchange_text, kind_of, outcome_counts
from monitor.types import ANSWERED, Choice, ToolCall
from tests.dashboard.scenes import exchange, verdict


def test_evidence_lists_every_number_and_leaves_out_what_was_not_measured() -> None:
    rows = dict(evidence(verdict("a", "logprob_fidelity", "fail", e_value=1.2e5)))
    assert rows["effect"] == "0.0041 nats"
    assert rows["interval"] == "[0.0032, 0.0052]"
    assert rows["threshold"] == "0.012 nats"
    assert rows["n"] == "240"
    assert rows["e-value"] == "120,000"
    assert rows["fingerprint"] == "9f86d081884c7d65"
    assert rows["runs"] == "r-0007, r-0008, r-0009 and 1 more"
    assert rows["pass nats"] == "0.012"
    assert "p" not in rows


def test_evidence_without_an_effect_shows_a_dash_not_zero() -> None:
    rows = dict(evidence(verdict("a", "logprob_fidelity", "inconclusive", effect=None, low=None, high=None)))
    assert rows["effect"] == "–"
    assert "interval" not in rows


def test_details_may_be_maps_and_lists() -> None:
    rows = dict(evidence(verdict("a", "accounting", "fail", details={"deltas": {"+21": 60}, "ids": ["x", None]})))
    assert rows["deltas"] == "+21=60"
    assert rows["ids"] == "x, –"


def test_a_routed_endpoint_names_both_who_answer() -> None:
    # Oracle: written by hand. Verdicts of earlier versions do not say how noisy the rest is.
    parts = [{"name": "Q4_0", "share": 0.3, "low": 0.21, "high": 0.4},
             {"name": "golden", "share": 0.7, "low": 0.6, "high": 0.79, "faithful": 0.98}]  # fmt: skip
    made = replace(verdict("a", "accounting", "fail"), detector="identify", details={"parts": parts})
    assert dict(evidence(made))["answered by"] == (
        "30% (21% to 40%) Q4_0, 70% (60% to 79%) the bf16 class (golden weights in 16 bit or more)"
    )
    del parts[1]["faithful"]
    assert dict(evidence(made))["answered by"].endswith("golden weights")
    assert "answered by" not in dict(evidence(replace(made, details={"parts": parts[:1]})))


def test_the_band_comes_from_the_fidelity_verdict() -> None:
    verdicts = [verdict("a", "accounting", "pass"), verdict("a", "logprob_fidelity", "pass")]
    assert band(verdicts) == Band(pass_nats=0.012, fail_nats=0.045)


def test_without_details_the_threshold_is_the_edge_and_nonsense_is_left_out() -> None:
    bare = verdict("a", "logprob_fidelity", "pass", details={})
    odd = verdict("a", "logprob_fidelity", "pass", details={"pass_nats": 0, "fail_nats": "much"})
    assert band([bare]) == Band(pass_nats=0.012, fail_nats=None)
    assert band([odd]) == band([]) == Band(pass_nats=None, fail_nats=None)


def test_outcomes_are_counted_with_whose_fault_they_are() -> None:
    counts = outcome_counts([exchange(0), exchange(1), exchange(2, outcome="stalled")])
    assert [(count.outcome, count.kind, count.n) for count in counts] == [
        ("ok", "answered", 2),
        ("stalled", "endpoint's fault", 1),
    ]
    assert {kind_of(outcome) for outcome in ANSWERED} == {"answered"}
    assert kind_of("rate_limited") == "reported apart"


def test_a_failed_exchange_has_empty_cells_not_zeros() -> None:
    row = exchange_row(exchange(0, outcome="stalled"))
    assert (row["ttft"], row["tps"], row["tokens"], row["status"]) == (None, None, None, None)


@pytest.mark.parametrize(
    ("usage", "golden", "shown"),
    [
        ({"completion_tokens": 9}, 7, (7, 9)),
        ({"completion_tokens": 9}, None, (None, 9)),
        ({"completion_tokens": "nine"}, 7, (7, None)),
        (None, None, (None, None)),
    ],
)
def test_the_golden_count_stands_beside_the_endpoints_own(
    usage: dict[str, Any] | None, golden: int | None, shown: tuple[int | None, int | None]
) -> None:
    row = exchange_row(exchange(0, usage=usage, tokens_golden=golden))
    assert (row["tokens"], row["billed"]) == shown


def test_a_row_holds_no_text_of_the_model() -> None:
    secret = "![x](http://127.0.0.1:1/)"
    row = exchange_row(exchange(0, content=secret, error=secret))
    assert secret not in str(row)


def test_what_was_said_keeps_channels_apart_and_leaves_out_empty_ones() -> None:
    choice = Choice(content="Four.", tool_calls=(ToolCall(id=None, name=None, arguments="{}"),))
    said = exchange_text(exchange(0, choices=(choice,), error="late"))
    assert said == [("Asked", "2 + 2?"), ("Answer", "Four."), ("Tool calls", "(no name) {}"), ("Error", "late")]
    assert exchange_text(exchange(0, choices=(), request=None)) == []
