"""Layers of failures, each from the bytes of an answer. Oracle: the definitions of the layers."""

from typing import Any

import pytest

from monitor.tools.case import case_of
from monitor.tools.graded import grade
from monitor.tools.layers import LAYERS
from monitor.types import Exchange
from tests.tools.made import (
    WEATHER,
    call,
    called,
    captured,
    case,
    frame,
    function,
    graded,
    graded_whole,
    names,
    said,
    whole,  # fmt: skip
)

NAMED = {"type": "function", "function": {"name": "get_weather"}}


def bare(**fields: Any) -> dict[str, Any]:
    one = call(**fields)
    del one["index"]
    return one


FAULTY = [
    ("protocol:missing_index", [frame({"tool_calls": [bare()]}), frame({}, "tool_calls")], {}),
    ("protocol:index_reused", [frame({"tool_calls": [call()]}), frame({"tool_calls": [call(id="b")]}),
                               frame({}, "tool_calls")], {}),
    ("protocol:stop_with_tool_calls", called(call(), finish="stop"), {}),
    ("protocol:tool_calls_without_call", said("Hello", finish="tool_calls"), {}),
    ("protocol:tool_calls_without_call", [frame({"role": "assistant"}), frame({}, "tool_calls")], {}),
    ("protocol:unknown_finish_reason", called(call(), finish="stop_163586"), {}),
    ("protocol:duplicate_id", called(call(), call()), {}),
    ("protocol:id_missing", called(call(id=None)), {}),
    ("protocol:arguments_object", called(call(arguments={"city": "A"})), {}),
    ("protocol:finish_missing", [frame({"tool_calls": [call()]})], {}),
    ("parser:markup_leak", said('<tool_call>{"name": "get_weather", "arguments": {}}</tool_call>'), {}),
    ("parser:markup_leak", said("<tool_call>get_weather\n<arg_key>city", finish="tool_calls"), {}),
    ("parser:markup_leak", said("<|tool_call>call:get_weather{city:A}"), {"tool_choice": "required"}),
    ("schema:unreadable_call", said('<tool_call>{"name": "get_weather"'), {}),
    ("schema:unreadable_call", said('<tool_call>{"city": "Lisbon"}</tool_call>'), {}),
    ("parser:special_token_in_call", called(call("get_weather<|channel|>commentary")), {}),
    ("parser:special_token_in_call", called(call(arguments='{"city":"A"}</s>')), {}),
    ("parser:think_leak", said("Sunny then.</think>It is sunny."), {}),
    ("schema:not_json", called(call(arguments='{"city":"Lis')), {}),
    ("schema:nonstandard_number", called(call(arguments='{"city":NaN}')), {}),
    ("schema:duplicate_key", called(call(arguments='{"city":1,"city":"ok"}')), {}),
    ("schema:not_object", called(call(arguments='"Paris"')), {}),
    ("schema:trailing_bytes", called(call(arguments='{"city":"A"}{"city":"B"}')), {}),
    ("schema:schema_required", called(call(arguments="{}")), {}),
    ("schema:schema_type", called(call(arguments='{"city":7}')), {}),
    ("decision:undeclared_tool", called(call("Read")), {}),
    ("decision:choice_none_ignored", called(call()), {"tool_choice": "none"}),
    ("decision:choice_required_ignored", said("Sunny."), {"tool_choice": "required"}),
    ("decision:choice_named_ignored", said("Sunny."), {"tool_choice": NAMED}),
    ("decision:parallel_off_ignored", called(call(), call(id="b")), {"parallel": False}),
    ("content:only_reasoning", [frame({"reasoning_content": "hm"}), frame({}, "stop")], {}),
    ("content:empty", [frame({"role": "assistant"}), frame({}, "stop")], {}),
    ("content:empty_billed",
     [frame({"role": "assistant"}), frame({}, "stop"), frame(usage={"prompt_tokens": 5, "completion_tokens": 3})], {}),
    ("suite:schema_unusable", called(call()), {"tools": (function("get_weather", {"type": "int"}),)}),
    ("suite:dialect_sensitive", called(call(arguments='{"a":1}')),
     {"tools": (function("get_weather", {"type": "object", "dependencies": {"a": ["b"]}}),)}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "frames", "fields"), FAULTY, ids=lambda value: str(value)[:40])
def test_exactly_one_finding_at_its_layer(name: str, frames: list[dict[str, Any]], fields: dict[str, Any]) -> None:
    made = graded(frames, case(**fields))
    assert names(made) == [name]
    assert made.layer == (None if name.startswith("suite") else name.partition(":")[0])


CLEAN = [
    (called(call()), {}), (said("It is sunny."), {}), (called(call(), finish="stop"), {"tool_choice": NAMED}),
    (called(call()), {"tool_choice": NAMED}), (called(call(), call(id="b")), {}),
    (said("Write `<tool_call>{` to call."), {}), (said("Tags like <tool_call> open a call."), {"tool_choice": "none"}),
    (called(call(arguments="{}")), {"tools": (function("get_weather"),)}),
    (called(call(arguments="{}")), {"tools": (function("get_weather", {}),)}),
    (called(call(arguments='{"city":"Lis'), finish="length"), {}), (said("Well, ", finish="length"), {}),
    (said("Well, ", finish="length"), {"tool_choice": "required"}),
    ([frame({"reasoning_content": "hm"}), frame({"content": "Sunny."}), frame({}, "stop")], {}),
    ([frame({"reasoning_content": "hm"}), frame({}, "length")], {}),
    (called(call(arguments='{"city":"<|im_end|>"}')), {}),
]  # fmt: skip


@pytest.mark.parametrize(("frames", "fields"), CLEAN)
def test_clean_answers_have_no_finding(frames: list[dict[str, Any]], fields: dict[str, Any]) -> None:
    assert names(graded(frames, case(**fields))) == []


def test_an_answer_in_one_piece_is_judged_alike() -> None:
    one = {key: value for key, value in call().items() if key != "index"}
    assert names(graded_whole(whole({"tool_calls": [one]}, "tool_calls"))) == []
    assert names(graded_whole(whole({"tool_calls": []}, "tool_calls"))) == ["protocol:tool_calls_without_call"]
    assert names(graded_whole(whole({"tool_calls": [one]}, "stop"))) == ["protocol:stop_with_tool_calls"]


def test_empty_arguments_are_noted_and_no_fault() -> None:
    made = graded(called(call(arguments="")), case(function("get_weather")))
    assert (names(made), made.layer) == (["protocol:arguments_empty"], None)


@pytest.mark.parametrize(
    ("outcome", "layer"),
    [("truncated", "transport"), ("http_5xx", "transport"), ("connect_error", "transport"), ("stalled", "transport"),
     ("error_in_stream", "transport"), ("non_json_200", "framing"), ("undecodable_encoding", "framing"),
     ("rate_limited", None), ("auth_error", None), ("not_run", None), ("filtered", None)],
)  # fmt: skip
def test_outcomes(outcome: Any, layer: str | None) -> None:
    made = grade(Exchange(request=captured(b"", case()).request, outcome=outcome))
    assert made is not None
    assert made.layer == layer
    assert made.decided is None


def test_the_deepest_explanation_comes_first() -> None:
    made = graded(called(call("Read", arguments="{"), finish="stop"))
    assert names(made) == ["protocol:stop_with_tool_calls", "schema:not_json", "decision:undeclared_tool"]
    assert made.layer == "protocol"
    places = [LAYERS.index(one.layer) for one in made.symptoms]
    assert places == sorted(places)


def test_what_is_shown_is_the_piece_at_fault() -> None:
    (one,) = graded(called(call(arguments='{"city":' + " " * 500 + "oops}"))).symptoms
    assert "oops" in one.shown
    assert len(one.shown) <= 200
    (leak,) = graded(said("x" * 500 + '<tool_call>{"name": "get_weather"')).symptoms
    assert leak.shown.startswith("<tool_call>")


def test_predicates_are_kept_apart() -> None:
    assert graded(called(call())).predicates == (True, True, False, False)
    assert graded(said("Hi", finish="tool_calls")).predicates == (True, False, False, False)
    assert graded(called(call(), finish="stop")).predicates == (False, True, False, False)
    assert graded(said('<tool_call>{"name": "f"')).predicates == (False, False, True, False)
    billed = {"prompt_tokens": 5, "completion_tokens": 3}
    silent = [frame({"role": "assistant"}), frame({}, "stop"), frame(usage=billed)]
    assert graded(silent).predicates == (False, False, False, True)
    assert graded(said("Hi")).predicates == (False, False, False, False)


def test_the_decision_is_unknown_where_the_limit_cut_it() -> None:
    assert graded(called(call())).decided is True
    assert graded(said("Hi")).decided is False
    assert graded(said("Hi", finish="length")).decided is None
    assert graded(called(call(arguments="{"), finish="length")).decided is True


@pytest.mark.parametrize(
    ("usage", "early"),
    [({"completion_tokens": 5}, True), ({"completion_tokens": 229}, True), ({"completion_tokens": 231}, False),
     ({"completion_tokens": 256}, False), (None, False),
     ({"completion_tokens": 5, "total_tokens": 265, "prompt_tokens": 4,
       "completion_tokens_details": {"reasoning_tokens": 256}}, False)],
)  # fmt: skip
def test_a_cut_below_nine_tenths_of_256_tokens_is_not_the_askers(usage: Any, early: bool) -> None:
    made = graded([*said("Well, ", finish="length"), frame(usage=usage)])
    assert names(made) == (["protocol:length_before_cap"] if early else [])
    assert made.decided is None


def test_reasoning_that_may_be_left_out_of_the_count_excuses_a_cut() -> None:
    thought = [frame({"reasoning_content": "hm"}), *said("Well, ", finish="length")]
    assert names(graded([*thought, frame(usage={"completion_tokens": 5})])) == []


def test_the_case_comes_back_out_of_the_request() -> None:
    made = case(WEATHER, tool_choice=NAMED, parallel=False, body={"stop": ["x"]})
    again = case_of(made.request("stream", max_tokens=9, temperature=None))
    assert again == made
    assert made.named == "get_weather"
    assert again.parameters["get_weather"]["required"] == ["city"]
