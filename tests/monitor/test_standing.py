"""Tolerances and statuses that detectors share; expectations written by hand."""

from dataclasses import replace

import pytest

from monitor.evidence import not_answered, split_is_known
from monitor.results import Evidence, GoldenView, Status, Tolerances
from monitor.standing import allowed, calibrated, status_of
from monitor.stats.eprocess import Interval
from monitor.tolerances import weights_of
from tests.detectors.made import endpoint, exchange, run_of


@pytest.mark.parametrize(
    ("log_e", "low", "high", "status"),
    [
        (7.0, 0.0, 0.0, "fail"), (3.0, 0.0, 0.05, "suspect"), (2.9, 0.11, 0.2, "suspect"),
        (2.9, 0.1, 0.2, "inconclusive"), (-1.0, 0.0, 0.1, "inconclusive"), (-1.0, 0.0, 0.09, "pass"),
    ],
)  # fmt: skip
def test_status(log_e: float, low: float, high: float, status: Status) -> None:
    """Oracle: ln 20 is 3.0 less 0.004; 0.1 is tolerated."""
    interval = Interval(estimate=low, low=low, high=high, confidence=0.95)
    assert status_of(log_e, interval, tolerated=0.1, fail_nats=6.9) == status


def test_a_pass_may_have_a_bound_of_its_own() -> None:
    interval = Interval(estimate=0.1, low=0.05, high=0.14, confidence=0.95)
    assert status_of(0.0, interval, tolerated=0.1, fail_nats=6.9, pass_below=0.15) == "pass"


@pytest.mark.parametrize(
    ("precision", "metric", "found", "tolerated"),
    [
        (None, "kl_nats", 0.003, 0.003), ("bf16", "kl_nats", 0.003, 0.003), ("fp8-dynamic", "kl_nats", None, 0.2),
        (None, "flip_rate", None, 0.1), ("fp8", "flip_rate", 0.04, 0.04),
        ("Q8_0", "kl_nats", None, 0.2), ("q4_0", "kl_nats", None, 0.3),  # weights were computed, nothing was served
    ],
)  # fmt: skip
def test_what_is_tolerated(precision: str | None, metric: str, found: float | None, tolerated: float) -> None:
    table = Tolerances(weights_sha256="0", by_metric={
        "kl_nats": {"full": 0.003, weights_of("q8_0"): 0.001, weights_of("q4_0"): 0.3}, "flip_rate": {"fp8": 0.04},
    })  # fmt: skip
    bare = Evidence(endpoint=endpoint(precision=precision), runs=(), exchanges=())
    made = replace(bare, tolerances=table)
    assert calibrated(made, metric) == found
    assert calibrated(bare, metric) is None
    assert allowed(made, metric, full=0.1, coarse=0.2) == tolerated


@pytest.mark.parametrize(
    ("tokens_from", "canonical", "known"),
    [("text", False, False), ("text", None, True), ("text", True, True), ("logprobs", False, True)],
)
def test_whether_the_split_is_known(tokens_from: str, canonical: bool | None, known: bool) -> None:
    view = GoldenView(exchange_id="e", run_id="r", prompt_tokens=1, tokens_from=tokens_from, canonical=canonical)  # type: ignore[arg-type]
    assert split_is_known(view) is known


def test_only_the_probes_own_answers_count() -> None:
    view = GoldenView(exchange_id="r1-0", run_id="r1", prompt_tokens=30)
    made = Evidence(
        endpoint=endpoint(), runs=(run_of(), replace(run_of("r2"), probe="sample")), exchanges=(exchange(0),),
        golden={"r1-0": view},
    )  # fmt: skip
    assert not_answered(made, {"logprobs"}) is None
    assert (not_answered(made, {"sample"}) or ("",))[0] == "no_answers"
    assert (not_answered(made, {"greedy"}) or ("",))[0] == "not_asked"
    assert (not_answered(replace(made, golden={}), {"logprobs"}) or ("",))[0] == "no_reference"
