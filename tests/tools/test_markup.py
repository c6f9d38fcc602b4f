"""Calls in text. Oracles: what the families' own chat templates write, and prose about them."""

import pytest

from monitor.tools.markup import call_in_text

CALLS = [
    ('<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>', "hermes"),
    ('I will look.\n<tool_call>{"name"', "hermes"),
    ("<tool_call>\n<function=f>\n<parameter=x>1</parameter></function></tool_call>", "qwen"),
    ("<tool_call>f\n<arg_key>x</arg_key><arg_value>1</arg_value></tool_call>", "glm"),
    ("<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0", "kimi"),
    ('[TOOL_CALLS] [{"name": "f", "arguments": {}}]', "mistral"), ('[TOOL_CALLS]f[ARGS]{"x":1}', "mistral"),
    ('<|python_tag|>{"name": "f", "parameters": {}}', "llama3"), ('<function=f>{"x": 1}</function>', "llama3"),
    ("<\uff5ctool\u2581calls\u2581begin\uff5c><\uff5ctool\u2581call\u2581begin\uff5c>f", "deepseek"),
    ("<|channel|>commentary to=functions.f <|constrain|>json<|message|>{}", "harmony"),
    ("<|tool_call>call:f{x:1}", "gemma"), ('<|function_call|>{"name": "f"}', "gigachat"),
    ('<minimax:tool_call>\n<invoke name="f">', "minimax"), ('<function_calls>\n<invoke name="f">', "anthropic"),
    ('{"name": "f", "parameters": {"x": 1}}', "json"), ('[{"name": "f", "arguments": "{}"}]', "json"),
    ('{"type": "function", "function": {"name": "f", "arguments": {}}}', "json"),
    ('    <tool_call>\n    {"name": "f", "arguments": {}}\n    </tool_call>', "hermes"),
    ('Sure.\n    <tool_call>{"name": "f", "arguments": {}}</tool_call>', "hermes"),
    ('So:\n\n    code\n\nNow:\n<tool_call>{"name": "f", "arguments": {}}</tool_call>', "hermes"),
    ('{"name": "f", "arguments": {"a": "x\u2028y"}}\n{"name": "f", "arguments": {}}', "json"),
]  # fmt: skip

PROSE = [
    "", "Hello", "Hermes models open a call with <tool_call> and close it.", 'Use `<tool_call>{"name": ...}`.',
    '```json\n{"name": "f", "arguments": {}}\n```', "```\n<tool_call>\n{}\n</tool_call>\n```",
    '```\n[TOOL_CALLS] [{"name": "f"}]', '{"name": "Ada", "age": 36}', '{"name": "f"}', "[]", "[1, 2]",
    '{"name": "g", "arguments": {}}', 'The call {"name": "f", "arguments": {}} would do it.',
    "[TOOL_CALLS] is Mistral's marker.", "The token <|python_tag|>, then code.", "to=functions.f is harmony's address.",
    "<function=f> opens a call", "set a <|channel|>", "A <think> tag opens a thought.",
    'Example:\n\n    <tool_call>\n    {"name": "f", "arguments": {}}\n    </tool_call>\n',
    'Example:\n \n\t<tool_call>{"name": "f", "arguments": {}}</tool_call>\n\n\t<|python_tag|>f(1)\nSo.',
    '~~~\n<tool_call>{"name": "f", "arguments": {}}</tool_call>\n~~~',
]  # fmt: skip


@pytest.mark.parametrize(("text", "form"), CALLS)
def test_calls_are_found_in_every_family(text: str, form: str) -> None:
    found = call_in_text(text, {"f"})
    assert found is not None
    assert found.form == form


@pytest.mark.parametrize("text", PROSE)
def test_talk_about_calls_is_no_call(text: str) -> None:
    assert call_in_text(text, {"f"}) is None


def test_the_place_is_where_the_call_begins() -> None:
    found = call_in_text('A `code` here: <tool_call>{"name"', ())
    assert found is not None
    assert found.at == 15
