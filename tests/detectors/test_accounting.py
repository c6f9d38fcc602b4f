"""Prompt-token counts against golden counts set by hand."""

from dataclasses import replace

import numpy as np
import pytest

from monitor.detectors.accounting import DETECTOR
from monitor.results import Evidence, Verdict
from tests.detectors.made import AT, evidence, exchange


def judge(made: Evidence) -> Verdict:
    return DETECTOR().run(made, at=AT, rng=np.random.default_rng(0))


def test_equal_counts_pass() -> None:
    verdict = judge(evidence())
    assert (verdict.status, verdict.effect, verdict.n, verdict.cause) == ("pass", 1.0, 32, None)


@pytest.mark.parametrize(
    ("deltas", "cause"),
    [
        ([-17] * 32, "template"),
        ([3] * 32, "template"),
        ([0] * 30 + [1, 3], "tokenizer"),
        (list(range(1, 33)), "tokenizer"),
        ([0] * 31 + [2], "template or tokenizer"),
    ],
)
def test_the_pattern_of_differences_names_the_layer(deltas: list[int], cause: str) -> None:
    verdict = judge(evidence(deltas=deltas))
    assert (verdict.status, verdict.cause) == ("fail", cause)
    assert verdict.details["k"] == deltas.count(0)


def test_template_that_adds_to_every_turn() -> None:
    made = evidence(deltas=[4] * 32)
    longer = tuple(
        exchange(index, prompt_tokens=38 if index % 2 else 34, n_messages=3 if index % 2 else 1) for index in range(32)
    )
    assert judge(replace(made, exchanges=longer)).cause == "template"


def test_reason_shows_one_example() -> None:
    verdict = judge(evidence(deltas=[-17] * 32))
    assert verdict.reason.startswith("32 of 32 prompt-token counts differ from golden by -17 tokens")
    assert "13 instead of 30" in verdict.reason
    assert verdict.details["deltas"] == {"-17": 32}


@pytest.mark.parametrize(
    ("made", "cause"),
    [
        (replace(evidence(), golden={}), "no_reference"),
        (replace(evidence(), exchanges=tuple(exchange(i, prompt_tokens=None) for i in range(32))), "no_usage"),
        (replace(evidence(), exchanges=tuple(exchange(i, prompt_tokens=0) for i in range(32))), "no_usage"),
        (replace(evidence(), exchanges=tuple(exchange(i, outcome="stalled") for i in range(32))), "no_answers"),
    ],
)
def test_without_evidence_inconclusive_with_the_cause(made: Evidence, cause: str) -> None:
    verdict = judge(made)
    assert (verdict.status, verdict.cause, verdict.effect) == ("inconclusive", cause, None)


def test_odd_usage_is_no_count() -> None:
    made = evidence(n=4)
    odd = tuple(replace(one, usage={"prompt_tokens": value}) for one, value in zip(
        made.exchanges, (True, "30", 30.0, [30]), strict=True))  # fmt: skip
    assert judge(replace(made, exchanges=odd)).status == "inconclusive"
