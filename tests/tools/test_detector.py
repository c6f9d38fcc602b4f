"""Verdicts on runs made by hand. Oracles: which layer was broken, and binomial numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from monitor.detectors.tool_calls import ToolCalls
from monitor.results import Evidence, GoldenView, Verdict
from monitor.tools.case import Case, Form
from monitor.tools.draws import ToolDraws
from monitor.tools.tolerance import smallest_rate
from tests.detectors.made import AT
from tests.tools.made import case, function
from tests.tools.made_evidence import Answer, Calls, bytes_of, known_cases, right, tools_evidence, usage_of

LEAK = '<tool_call>{"name": "read_thermometer", "arguments": {}}</tool_call>'


def judge(evidence: Evidence, **settings: Any) -> Verdict:
    return ToolCalls(**settings).run(evidence, at=AT, rng=np.random.default_rng(1))


def broken(answer: Answer, *, forms: Sequence[Form] = ("stream", "whole"), every: int = 3) -> Answer:
    """`answer` for every third case that wants a call, in the forms named; the right one otherwise."""
    calling = [one.case_id for one in known_cases() if one.calls][::every]

    def given(case: Case, form: Form, calls: Calls) -> bytes:
        return (answer if case.case_id in calling and form in forms else right)(case, form, calls)

    return given


def with_first(calls: Calls, **function_fields: Any) -> list[Mapping[str, Any]]:
    first = {**calls[0], "function": {**calls[0]["function"], **function_fields}}
    return [first, *calls[1:]]


def leak(case: Case, form: Form, _calls: Calls) -> bytes:
    return bytes_of(case, form, (), text=LEAK)


def bad_json(case: Case, form: Form, calls: Calls) -> bytes:
    return bytes_of(case, form, with_first(calls, arguments='{"a": '))


def undeclared(case: Case, form: Form, calls: Calls) -> bytes:
    return bytes_of(case, form, with_first(calls, name="Read"))


def finish_stop(case: Case, form: Form, calls: Calls) -> bytes:
    return bytes_of(case, form, calls, finish="stop")


def same_id(case: Case, form: Form, calls: Calls) -> bytes:
    return bytes_of(case, form, [{**one, "id": None} for one in calls])


def test_right_answers_pass_and_say_what_would_have_been_seen() -> None:
    made = judge(tools_evidence())
    assert (made.status, made.cause, made.effect) == ("pass", None, 0.0)
    assert made.n == 2 * len(known_cases())
    # Both forms say the same here, as where the seed is honoured: one draw, not two.
    assert made.mde == smallest_rate([1] * len(known_cases()), tolerated=0.001, alpha=0.001)
    assert made.e_value is not None
    assert made.e_value < 1
    assert made.details["symptoms"] == {}
    assert made.details["f1_labels"] == 1.0
    assert "no fault" in made.reason


@pytest.mark.parametrize(
    ("answer", "layer", "name"),
    [(leak, "parser", "markup_leak"), (bad_json, "schema", "not_json"), (undeclared, "decision", "undeclared_tool"),
     (finish_stop, "protocol", "stop_with_tool_calls"), (same_id, "protocol", "id_missing")],
)  # fmt: skip
def test_the_broken_layer_is_the_cause(answer: Answer, layer: str, name: str) -> None:
    made = judge(tools_evidence(broken(answer)))
    assert (made.status, made.cause) == ("fail", layer)
    assert name in made.reason
    assert made.p_value is not None
    assert made.p_value < 1e-6
    assert made.e_value is not None
    assert made.e_value > 1e6
    assert set(made.details["symptoms"]) == {f"{layer}:{name}"}


def test_a_fault_of_one_form_is_told() -> None:
    made = judge(tools_evidence(broken(leak, forms=("stream",))))
    assert (made.status, made.cause) == ("fail", "parser")
    assert "only in the form stream" in made.reason
    assert made.details["whole_only"] == 0
    assert made.details["stream_only"] > 20
    assert made.details["p_forms"] < 1e-6


def test_the_first_layer_is_the_cause_when_two_are_broken() -> None:
    def both(case: Case, form: Form, calls: Calls) -> bytes:
        return bytes_of(case, form, with_first(calls, arguments="[]"), finish="stop")

    made = judge(tools_evidence(broken(both)))
    assert made.cause == "protocol"
    assert made.details["p_schema"] < 1e-6


def test_one_fault_in_a_hundred_cases_is_no_verdict() -> None:
    made = judge(tools_evidence(broken(bad_json, forms=("stream",), every=10_000)))
    assert (made.status, made.details["k"]) == ("pass", 1)
    assert "not_json" in made.reason


def test_accepted_findings_count_for_nothing() -> None:
    assert judge(tools_evidence(broken(finish_stop)), accepted=("stop_with_tool_calls",)).status == "pass"


def test_content_is_never_more_than_suspect() -> None:
    def nothing(case: Case, form: Form, _calls: Calls) -> bytes:
        return bytes_of(case, form, (), text="")

    made = judge(tools_evidence(broken(nothing)))
    assert (made.status, made.cause) == ("suspect", "content")


def test_tools_that_never_reach_the_prompt_are_found_without_a_reference() -> None:
    """Prompts have the same length whatever tools stand beside them, and the model never calls."""

    def blind(case: Case, form: Form, _calls: Calls) -> bytes:
        usage = {"prompt_tokens": 37, "completion_tokens": 9, "total_tokens": 46}
        return bytes_of(case, form, (), usage=usage)

    made = judge(tools_evidence(blind))
    assert (made.status, made.cause) == ("fail", "template")
    assert "tools_not_in_prompt" in made.reason


@pytest.mark.parametrize(("parts", "counts"), [({"tools": 0, "stub": 4}, False), ({"tools": 9, "stub": 4}, True)])
def test_tools_are_not_missed_where_goldens_template_has_no_place_for_them(parts: dict[str, int], counts: bool) -> None:
    def blind(case: Case, form: Form, _calls: Calls) -> bytes:
        return bytes_of(case, form, (), usage={"prompt_tokens": 37, "completion_tokens": 9, "total_tokens": 46})

    evidence = tools_evidence(blind)
    views = {
        one.exchange_id: GoldenView(exchange_id=one.exchange_id, run_id="r1", prompt_tokens=37, prompt_parts=parts)
        for one in evidence.exchanges
    }
    found = judge(replace(evidence, golden=views)).details.get("symptoms", {})
    assert ("template:tools_not_in_prompt" in found) is counts


@pytest.mark.parametrize(("less", "name"), [(90, "tools_not_in_prompt"), (3, "prompt_differs")])
def test_golden_counts_tell_the_template(less: int, name: str) -> None:
    evidence = tools_evidence()
    views = {}
    for one in evidence.exchanges:
        golden = int((one.usage or {})["prompt_tokens"]) + less
        views[one.exchange_id] = GoldenView(
            exchange_id=one.exchange_id, run_id="r1", prompt_tokens=golden, prompt_parts={"tools": 90, "stub": 4}
        )
    made = judge(replace(evidence, golden=views))
    assert (made.status, made.cause) == ("fail", "template")
    assert set(made.details["symptoms"]) == {f"template:{name}"}


def test_tools_that_lack_a_key_are_not_compared_with_golden() -> None:
    """llama.cpp writes ``parameters: {}`` for them, other servers null: a difference that says nothing."""
    bare = [case(function("now"), case_id=f"c{at}", expect="none") for at in range(20)]
    evidence = tools_evidence(cases=bare)
    views = {
        one.exchange_id: GoldenView(exchange_id=one.exchange_id, run_id="r1", prompt_tokens=1000)
        for one in evidence.exchanges
    }
    assert judge(replace(evidence, golden=views)).details["symptoms"] == {}


def draws_of(share: float, *, sound: bool = True, n: int = 8) -> dict[str, ToolDraws]:
    calls = tuple(int(at < round(share * n)) for at in range(n))
    good = tuple(bool(one) and (sound or at % 2 == 0) for at, one in enumerate(calls))
    return {one.case_id: ToolDraws(calls=calls, sound=good) for one in known_cases() if one.tool_choice is None}


def labelled_draws() -> dict[str, ToolDraws]:
    return {
        one.case_id: draws_of(1.0 if one.calls else 0.0)[one.case_id]
        for one in known_cases() if one.tool_choice is None
    }  # fmt: skip


def test_decisions_like_goldens_pass_and_the_ceiling_is_told() -> None:
    made = judge(tools_evidence(draws=labelled_draws()))
    assert made.status == "pass"
    assert made.details["f1_ceiling"] == 1.0
    assert "is the ceiling" in made.reason


def test_an_endpoint_that_never_calls_fails_by_its_decisions() -> None:
    def silent(case: Case, form: Form, _calls: Calls) -> bytes:
        return bytes_of(case, form, ())

    made = judge(tools_evidence(silent, draws=labelled_draws()))
    assert (made.status, made.cause) == ("fail", "decision")
    assert made.details["excess"] < -0.5
    assert made.details["z"] < -10


def test_without_golden_labels_alone_decide_nothing() -> None:
    def silent(case: Case, form: Form, _calls: Calls) -> bytes:
        return bytes_of(case, form, ())

    cases = [one for one in known_cases() if one.tool_choice is None]
    made = judge(tools_evidence(silent, cases=cases))
    assert (made.status, made.cause) == ("inconclusive", "no_calls")
    half = judge(tools_evidence(broken(silent, every=2), cases=cases))
    assert half.status == "pass"
    assert half.details["f1_labels"] < 0.8


def endless(case: Case, form: Form, _calls: Calls) -> bytes:
    return bytes_of(case, form, (), text="and so on " * 9, finish="length", usage=counted(case, 256))


def counted(case: Case, tokens: int) -> dict[str, int]:
    usage = usage_of(case)
    return {**usage, "completion_tokens": tokens, "total_tokens": usage["prompt_tokens"] + tokens}


def begun(tokens: int) -> Answer:
    """Every answer is a call that ends by length after three characters, at so many of 256 tokens."""

    def answer(case: Case, form: Form, calls: Calls) -> bytes:
        made = with_first(calls, arguments='{"c') if calls else ()
        return bytes_of(case, form, made, finish="length", usage=counted(case, tokens))

    return answer


def test_calls_that_the_limit_cut_are_no_pass() -> None:
    """A call that was begun is no more of an answer than none."""
    made = judge(tools_evidence(begun(256)))
    assert (made.status, made.cause) == ("inconclusive", "cut_by_limit")


def test_a_cut_well_before_the_limit_is_the_endpoints() -> None:
    made = judge(tools_evidence(begun(5)))
    assert (made.status, made.cause, made.details["cut_by_limit"]) == ("fail", "protocol", 0)
    assert "length_before_cap" in made.reason


def test_answers_that_the_limit_cut_are_no_pass() -> None:
    made = judge(tools_evidence(endless))
    assert (made.status, made.cause) == ("inconclusive", "cut_by_limit")
    assert "raise `tokens`" in made.reason


def test_answers_without_end_fail_where_goldens_end() -> None:
    made = judge(tools_evidence(endless, draws=labelled_draws()))
    assert (made.status, made.cause) == ("fail", "content")
    assert "+100% against golden's" in made.reason
    both = {name: ToolDraws(calls=(), sound=(), n_cut=8) for name in labelled_draws()}
    assert judge(tools_evidence(endless, draws=both)).cause == "cut_by_limit"


def test_what_golden_itself_does_is_tolerated() -> None:
    """Golden writes half of its calls badly, and so does the endpoint: no fault of the endpoint."""
    weak = broken(bad_json)
    assert judge(tools_evidence(weak)).cause == "schema"
    cases = [one for one in known_cases() if one.tool_choice is None]
    made = judge(tools_evidence(weak, cases=cases, draws=draws_of(1.0, sound=False)))
    assert made.details["p_schema"] > 0.01
    assert made.details["tolerated_of_the_model"] > 0.5


def test_unusable_schemas_of_the_suite_are_inconclusive() -> None:
    bad = [case(function("get_weather", {"type": "int"}), case_id=f"c{at}") for at in range(20)]

    def answer(asked: Case, form: Form, _calls: Calls) -> bytes:
        one = {"index": 0, "id": "a", "type": "function", "function": {"name": "get_weather", "arguments": "{}"}}
        return bytes_of(asked, form, [one])

    made = judge(tools_evidence(answer, cases=bad))
    assert (made.status, made.cause) == ("inconclusive", "suite")


def test_too_little_is_inconclusive() -> None:
    assert judge(tools_evidence(cases=known_cases(4))).cause == "too_few"
    evidence = tools_evidence()
    dead = tuple(replace(one, outcome="connect_error", choices=()) for one in evidence.exchanges)
    made = judge(replace(evidence, exchanges=dead))
    assert (made.status, made.cause) == ("inconclusive", "no_answers")
    assert "connect_error" in made.reason
    assert judge(replace(evidence, runs=())).cause == "not_asked"


def test_b19_through_the_detector() -> None:
    """88 cases in both forms, 3% of the answers break their schema: found at alpha 0.001 in at least 90% of runs.

    The detector's p-value depends on the run through the number of faulty cases only, so each number is judged once;
    the share of runs is then that of 20,000 simulated numbers.
    """
    cases = [one for one in known_cases() if one.calls][:88]
    assert len(cases) == 88
    good = tools_evidence(cases=cases).exchanges
    bad = tools_evidence(bad_json, cases=cases).exchanges
    found = []
    for k in range(12):
        mixed = tuple(bad[at] if at % 2 == 0 and at // 2 < k else good[at] for at in range(len(good)))
        made = judge(replace(tools_evidence(cases=cases[:1]), exchanges=mixed), tolerated=0.001, alpha=0.001)
        found.append(made.status == "fail" and made.cause == "schema")
    rng = np.random.default_rng(19)
    faulty = (rng.random((20_000, 88, 2)) < 0.03).any(axis=2).sum(axis=1)
    healthy = (rng.random((20_000, 88, 2)) < 0.001).any(axis=2).sum(axis=1)
    seen = np.array(found)
    assert seen[np.minimum(faulty, 11)].mean() >= 0.895  # 0.9 less three standard errors of 20,000 runs
    assert seen[np.minimum(healthy, 11)].mean() <= 0.0015


def test_settings_are_checked() -> None:
    with pytest.raises(ValueError, match="suspect_alpha"):
        ToolCalls(alpha=0.1)
    with pytest.raises(ValueError, match="min_cases"):
        ToolCalls(min_cases=0)
