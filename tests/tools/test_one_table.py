"""The same bytes before the layers of `tools` and the catalogue of `faults`. Oracle: one answer has one layer."""

from dataclasses import replace
from typing import Any

import orjson
import pytest

from monitor.faults.catalogue import BY_NAME
from monitor.faults.find import faults
from monitor.faults.profiles import PROFILES
from monitor.tools.graded import Graded, grade
from monitor.tools.measures import RATES
from monitor.wire.dispatch import decode
from tests.tools.made import call, called, captured, case, frame, function, names, said, streamed, whole

USAGE = frame(usage={"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18})
DIALECT = function("get_weather", {"type": "object", "unevaluatedProperties": False})
D4 = {"$schema": "http://json-schema.org/draft-04/schema#", "type": "object", "required": ["x"],
      "properties": {"x": {"type": "number", "minimum": 1, "exclusiveMinimum": True}}}  # fmt: skip
ANCHOR = {"type": "object", "$defs": {"s": {"$anchor": "q", "type": "string"}}, "properties": {"x": {"$ref": "#q"}}}


def both(frames: list[dict[str, Any]], **fields: Any) -> tuple[Graded, list[str]]:
    """What each makes of one streamed answer: the grade, and layer and name of the faults."""
    exchange = decode(captured(streamed([*frames, USAGE]), case(**fields)))
    made = grade(exchange)
    assert made is not None
    return made, [f"{BY_NAME[name].layer}:{name}" for name in faults(exchange, PROFILES["openai"])]


SAME = [
    (called(call(arguments='{"city":"a"}</s')), "parser"),
    (called(call(arguments='{"city":"a"}</tool_call>')), "parser"),
    (called(call(arguments='{"city":"a"}<|im_end|')), "parser"), (called(call("<|tool|>get_weather")), "parser"),
    (called(call("get_weather<|channel|>json")), "parser"),
    (called(call(arguments='{"city":"a"} <|im_end|>')), "parser"),
    (called(call(arguments='{"city":')), "schema"), (called(call(arguments='{"city":NaN}')), "schema"),
    (called(call(arguments='{"city":"a"}{}')), "schema"), (called(call(arguments='{"city":7}')), "schema"),
    (called(call("read")), "decision"), (called(call(), finish="stop"), "protocol"),
    (called(call(arguments='{"city":"\\ud800"}')), "schema"),
    ([frame({"reasoning_content": "hm"}), frame({}, "stop")], "content"),
    (said("They ask.\n</think>\n\nSunny."), "parser"), (said('[get_weather(city="a")]'), "parser"),
]  # fmt: skip


@pytest.mark.parametrize(("frames", "layer"), SAME, ids=range(len(SAME)))
def test_one_fault_has_one_layer(frames: list[dict[str, Any]], layer: str) -> None:
    made, named = both(frames)
    assert [made.layer] == [one.partition(":")[0] for one in named] == [layer], (names(made), named)


TALK = [
    "Kimi marks the section with <|tool_calls_section_begin|> and its end.", "Llama puts <|python_tag|> before code.",
    "DeepSeek emits <\uff5ctool\u2581calls\u2581begin\uff5c> first.",
    "<\uff5ctool\u2581call\u2581begin\uff5c> opens one.",
    '{"name":"get_weather","description":"W","parameters":{"type":"object","properties":{}}}',
    '{"name":"get_weather","parameters":{"type":"object","properties":{}}}',
    'It emits "<tool_call>{" before the call.', "Use <function_calls> <invoke name=..> tags.",
    "<think> is a tag.", "<think> opens and </think> closes.", "The closing tag is:\n\n    </think>\n\nAs shown.",
    "The closing tag is:\n\n</think>\n\nas shown.", "- </think>\n- <think>", "Put it after\n</think>\nand go.",
    "1. </think>\n2. <think>", "| </think> | end |", "<think>\n...\n</think>\n\nis the format.", "[later]",
    '{"name": ["get_weather"], "arguments": {}}', '[snow(city="a")]',
]  # fmt: skip


@pytest.mark.parametrize("text", TALK)
def test_talk_is_no_fault(text: str) -> None:
    made, named = both(said(text))
    assert (names(made), named) == ([], [])
    document = whole({"content": text}, usage={"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18})
    exchange = decode(captured(orjson.dumps(document), case(), stream=False))
    assert faults(exchange, PROFILES["openai"]) == ()


def test_blank_lines_are_read_in_one_go() -> None:
    """A thought of 200,000 blank lines; a reader that begins anew at each would take hours."""
    assert both(said("a" + "\n" * 200_000 + "</think>\n\nSunny."))[1] == ["parser:thinking_leak"]


LEFT = [
    '{"name":"get_weather","arguments":{"city":"a"}}\n{"name":"get_weather","arguments":{"city":"b"}}',
    '{"tool_calls":[{"name":"get_weather","arguments":{"city":"a"}}]}',
    '[get_weather(city="a"), get_weather(city="b")]',
    '<tool_calls>[{"name":"get_weather","arguments":{}}]</tool_calls>', "They ask.\n</think>\n\nSunny.",
    '<\uff5cDSML\uff5cfunction_calls>\n<\uff5cDSML\uff5cinvoke name="get_weather">', "<think>They ask.</think>Sunny.",
]  # fmt: skip


@pytest.mark.parametrize("text", LEFT)
def test_what_was_left_in_the_text_is_found(text: str) -> None:
    _, named = both(said(text))
    assert [one.partition(":")[0] for one in named] == ["parser"]


def rate(made: Graded) -> bool | None:
    return next(one.holds(made) for one in RATES if one.metric.name == "tool_schema_accuracy")


def test_what_the_dialect_decides_is_neither_a_fault_nor_counted() -> None:
    made, named = both(called(call(arguments='{"a":1}')), tools=(DIALECT,))
    assert (names(made), named, rate(made)) == (["suite:dialect_sensitive"], [], None)


@pytest.mark.parametrize(
    ("schema", "arguments", "name"),
    [(D4, "{}", "required"), (D4, '{"x":1}', "minimum"), (ANCHOR, '{"x":1}', "type")],
)  # fmt: skip
def test_what_draft_7_cannot_use_excuses_nothing(schema: Any, arguments: str, name: str) -> None:
    made, named = both(called(call(arguments=arguments)), tools=(function("get_weather", schema),))
    assert (names(made), named, rate(made)) == ([f"schema:schema_{name}"], ["schema:schema_violation"], False)


@pytest.mark.parametrize(("asked", "flag"), [(True, "stream_ignored"), (False, "stream_unasked")])
def test_the_other_form_than_asked_for_is_framing(asked: bool, flag: str) -> None:
    document = whole({"content": "Sunny."}, usage={"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18})
    body = orjson.dumps(document) if asked else streamed([*said("Sunny."), USAGE])
    kind = "application/json" if asked else "text/event-stream"
    capture = captured(body, case(expect="any"), stream=asked)
    exchange = decode(replace(capture, headers=(("content-type", kind),)))
    made = grade(exchange)
    assert made is not None
    assert names(made) == [f"framing:{flag}"]
    assert faults(exchange, PROFILES["openai"]) == ("bad_framing",)
