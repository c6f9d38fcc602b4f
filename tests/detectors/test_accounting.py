"""Prompt-token counts against golden counts set by hand."""

import re
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
    assert verdict.reason.startswith("32 of 32 prompt-token counts differ from golden's, 17 tokens less")
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


def test_few_answers_are_not_blamed_on_missing_usage() -> None:
    verdict = judge(evidence(n=2))
    assert (verdict.status, verdict.cause) == ("inconclusive", "too_few")


def test_usage_of_other_protocols_counts() -> None:
    made = evidence(n=8)
    anthropic = tuple(replace(one, usage={"input_tokens": 30, "output_tokens": 1}) for one in made.exchanges)
    assert judge(replace(made, exchanges=anthropic)).status == "pass"


def test_odd_usage_is_no_count() -> None:
    made = evidence(n=4)
    odd = tuple(replace(one, usage={"prompt_tokens": value}) for one, value in zip(
        made.exchanges, (True, "30", 30.0, [30]), strict=True))  # fmt: skip
    assert judge(replace(made, exchanges=odd)).status == "inconclusive"


WHOLE = {"name": "now", "description": "the time", "parameters": {"type": "object", "properties": {}}}


@pytest.mark.parametrize(
    ("function", "choice", "status"),
    [(WHOLE, "auto", "fail"), (WHOLE, "none", "inconclusive"), ({"name": "now"}, "auto", "inconclusive")],
)
def test_prompts_that_servers_may_render_differently_are_left_out(
    function: dict[str, object], choice: str, status: str
) -> None:
    made = evidence(n=8, deltas=[-7] * 8)
    asked = [
        replace(one.request, tools=({"type": "function", "function": function},), extra={"tool_choice": choice})
        for one in made.exchanges if one.request
    ]  # fmt: skip
    exchanges = tuple(replace(one, request=request) for one, request in zip(made.exchanges, asked, strict=True))
    assert judge(replace(made, exchanges=exchanges)).status == status


PARTS = {"system": 11, "tools": 7, "stub": 4, "history": 8}


def with_parts(made: Evidence, parts: dict[str, int]) -> Evidence:
    views = {key: replace(view, prompt_parts=parts) for key, view in made.golden.items()}
    return replace(made, golden=views)


@pytest.mark.parametrize(
    ("delta", "missing", "words"),
    [
        (-11, "system", "exactly the system turn"),
        (-7, "tools", "exactly the tools that were sent"),
        (-4, "stub", "exactly the words that open the answer"),
        (-18, "system+tools", "exactly the system turn .* and the tools"),
        (-5, None, r"5 tokens less \(e\.g\. [^)]*\)$"),
        (12, None, "as many tokens more on each, as a hidden system prompt adds"),
    ],
)
def test_a_difference_of_the_size_of_a_part_names_it(delta: int, missing: str | None, words: str) -> None:
    verdict = judge(with_parts(evidence(deltas=[delta] * 32), PARTS))
    assert verdict.details["missing"] == missing
    assert verdict.cause == "template"
    assert re.search(words, verdict.reason)


def test_a_part_explains_only_if_it_explains_every_difference() -> None:
    assert judge(with_parts(evidence(deltas=[-11] * 31 + [-4]), PARTS)).details["missing"] is None
    assert judge(with_parts(evidence(deltas=[-7] * 32), {**PARTS, "tools": 0})).details["missing"] is None
    assert judge(evidence(deltas=[-11] * 32)).details["missing"] is None
