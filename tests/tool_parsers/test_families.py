"""One's own examples of every family: whole calls, several, broken ones; and text that no parser may trip over."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.errors import UsageError
from reference.tool_parsers.families import family_of, formats, parse

ARGUMENTS = {"city": "Köln", "days": 3}
JSON = json.dumps(ARGUMENTS, ensure_ascii=False)
DS = "\uff5c"
B = "\u2581"


def ds(name: str) -> str:
    """A marker of DeepSeek: ``ds("tool calls begin")``."""
    return f"<{DS}{name.replace(' ', B)}{DS}>"


def kimi_call(name: str, arguments: str, index: int = 0) -> str:
    return (
        f"<|tool_call_begin|>functions.{name}:{index}<|tool_call_argument_begin|>{arguments}<|tool_call_end|>"
    )  # fmt: skip


def kimi(*calls: str) -> str:
    return "<|tool_calls_section_begin|>" + "".join(calls) + "<|tool_calls_section_end|>"


def deepseek(*calls: str) -> str:
    marked = "".join(ds("tool call begin") + call + ds("tool call end") for call in calls)
    return ds("tool calls begin") + marked + ds("tool calls end")


def hermes(body: str) -> str:
    return f"<tool_call>\n{body}\n</tool_call>"


def harmony(name: str, arguments: str, end: str = "<|call|>") -> str:
    return f"<|channel|>commentary to=functions.{name} <|constrain|>json<|message|>{arguments}{end}"


def named(name: str, arguments: str, key: str = "arguments") -> str:
    return f'{{"name": "{name}", "{key}": {arguments}}}'


def glm(name: str, **values: str) -> str:
    pairs = "".join(f"\n<arg_key>{key}</arg_key>\n<arg_value>{value}</arg_value>" for key, value in values.items())
    return f"<tool_call>{name}{pairs}\n</tool_call>"


def coder(name: str, **values: str) -> str:
    pairs = "".join(f"<parameter={key}>\n{value}\n</parameter>\n" for key, value in values.items())
    return f"<tool_call>\n<function={name}>\n{pairs}</function>\n</tool_call>"


TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "forecast",
            "parameters": {
                "type": "object",
                "properties": {"city": {"type": "string"}, "days": {"type": "integer"}, "zip": {"type": "string"}},
            },
        },
    }
]

ONE: list[tuple[str, str]] = [
    ("hermes", hermes(named("forecast", JSON))),
    ("qwen", hermes(named("forecast", JSON))),
    ("qwen", coder("forecast", city="Köln", days="3")),
    ("llama3", named("forecast", JSON, "parameters")),
    ("llama3", "<|python_tag|>" + named("forecast", JSON, "parameters") + "<|eom_id|>"),
    ("llama3", f"<function=forecast>{JSON}</function>"),
    ("mistral", f"[TOOL_CALLS][{named('forecast', JSON)}]"),
    ("mistral", f"[TOOL_CALLS]forecast[ARGS]{JSON}</s>"),
    ("mistral", f"[TOOL_CALLS]forecast[CALL_ID]a1B2c3D4e[ARGS]{JSON}"),
    ("mistral", f"[TOOL_CALLS]forecast{JSON}"),
    ("kimi", kimi(kimi_call("forecast", JSON))),
    ("deepseek", deepseek(f"function{ds('tool sep')}forecast\n```json\n{JSON}\n```")),
    ("deepseek", deepseek(f"forecast{ds('tool sep')}{JSON}")),
    ("glm", glm("forecast", city="Köln", days="3")),
    ("harmony", f"<|channel|>analysis<|message|>Weather.<|end|><|start|>assistant{harmony('forecast', JSON)}"),
]


@pytest.mark.parametrize(("family", "text"), ONE)
def test_one_call(family: str, text: str) -> None:
    content, calls, problems = parse(text, family, TOOLS)
    assert (content, problems) == ("", ())
    assert [call.name for call in calls] == ["forecast"]
    assert json.loads(calls[0].arguments) == ARGUMENTS


@pytest.mark.parametrize("family", ["hermes", "qwen", "mistral", "kimi", "deepseek", "glm"])
def test_text_before_a_call_is_content(family: str) -> None:
    text = next(text for name, text in ONE if name == family)
    content, calls, problems = parse("Let me look.\n" + text, family, TOOLS)
    assert (content, len(calls), problems) == ("Let me look.", 1, ())


TWO: list[tuple[str, str]] = [
    ("hermes", hermes(named("a", "{}")) + "\n" + hermes(named("b", "{}"))),
    ("qwen", coder("a") + "\n" + coder("b")),
    ("llama3", named("a", "{}", "parameters") + "; " + named("b", "{}", "parameters")),
    ("mistral", f"[TOOL_CALLS][{named('a', '{}')}, {named('b', '{}')}]"),
    ("mistral", "[TOOL_CALLS]a[ARGS]{}[TOOL_CALLS]b[ARGS]{}"),
    ("kimi", kimi(kimi_call("a", "{}"), kimi_call("b", "{}", 1))),
    ("deepseek", deepseek(f"a{ds('tool sep')}{{}}", f"b{ds('tool sep')}{{}}")),
    ("glm", glm("a") + "\n" + glm("b")),
    ("harmony", harmony("a", "{}") + "<|start|>assistant" + harmony("b", "{}")),
]


@pytest.mark.parametrize(("family", "text"), TWO)
def test_two_calls_in_order(family: str, text: str) -> None:
    _, calls, problems = parse(text, family)
    assert [(call.name, call.arguments) for call in calls] == [("a", "{}"), ("b", "{}")]
    assert problems == ()


BROKEN: list[tuple[str, str, set[str]]] = [
    ("hermes", hermes('{"name": "f", "arguments": {"x": }}'), {"not_json"}),
    ("hermes", "<tool_call>" + named("f", "{}"), {"unclosed"}),
    ("hermes", hermes(named("f", '"text"')), {"arguments_as_text", "not_json"}),
    ("hermes", hermes(named("f", "[1]")), {"arguments_not_object"}),
    ("hermes", hermes('{"name": "f"}'), {"no_arguments"}),
    ("hermes", hermes('{"arguments": {}}'), {"no_name"}),
    ("hermes", hermes('["f"]'), {"malformed"}),
    ("hermes", hermes(named("f", '{"x": NaN}')), {"not_json"}),
    ("hermes", hermes(named("f", "{}")) + "done", {"text_between_calls"}),
    ("hermes", "<tool_call>" + named("a", "{}") + hermes(named("b", "{}")), {"unclosed"}),
    ("qwen", "<tool_call><function=f><parameter=x>1</function></tool_call>", {"malformed"}),
    ("qwen", coder("f", x="3"), {"untyped_argument"}),
    ("llama3", '{"name": "f", "parameters": {"x": }', {"not_json"}),
    ("llama3", named("f", "{}", "parameters") + " and then", {"not_json", "text_between_calls"}),
    ("llama3", "<|python_tag|>print(1)", {"not_json"}),
    ("llama3", '<function=f>{"x": 1', {"unclosed", "not_json"}),
    ("mistral", '[TOOL_CALLS][{"name": "f"', {"not_json"}),
    ("mistral", '[TOOL_CALLS]f[ARGS]{"x": ', {"not_json"}),
    ("mistral", "[TOOL_CALLS] nothing", {"malformed"}),
    ("kimi", kimi(kimi_call("f", '{"x"')), {"not_json"}),
    ("kimi", kimi("<|tool_call_begin|>f<|tool_call_argument_begin|>{}<|tool_call_end|>"), {"malformed", "no_name"}),
    ("kimi", "<|tool_calls_section_begin|>" + kimi_call("f", "{}"), {"unclosed"}),
    ("deepseek", deepseek("function f"), {"malformed", "no_name", "not_json"}),
    ("deepseek", deepseek(f"function{ds('tool sep')}f\n```\n{{}}\n```"), {"malformed", "not_json"}),
    ("glm", "<tool_call>f<arg_key>x</arg_key></tool_call>", {"malformed"}),
    ("glm", glm("f", x="[1]"), {"untyped_argument"}),
    ("harmony", harmony("f", "{}", "<|end|>"), {"unclosed"}),
    ("harmony", harmony("f", "{"), {"not_json"}),
    ("harmony", harmony("f", "{}").replace("functions.", ""), {"malformed"}),
]


@pytest.mark.parametrize(("family", "text", "problems"), BROKEN)
def test_faults_of_the_model_are_named(family: str, text: str, problems: set[str]) -> None:
    assert set(parse(text, family).problems) == problems


def test_what_cannot_be_read_stays_as_it_was_written() -> None:
    text = "Well. " + hermes('{"name": "f", ')
    content, calls, _ = parse(text, "hermes")
    assert (content, calls) == (text, ())


def test_arguments_are_never_repaired() -> None:
    call = parse('[TOOL_CALLS]f[ARGS]{"x": "Par', "mistral").tool_calls[0]
    assert call.arguments == '{"x": "Par'


def test_ids_are_those_of_the_model() -> None:
    assert parse(kimi(kimi_call("f", "{}", 4)), "kimi").tool_calls[0].id == "functions.f:4"
    assert parse("[TOOL_CALLS]f[CALL_ID]abc123XYZ[ARGS]{}", "mistral").tool_calls[0].id == "abc123XYZ"


@pytest.mark.parametrize("make", [glm, coder])
def test_the_schema_tells_text_from_numbers(make: Any) -> None:
    family = "glm" if make is glm else "qwen"
    call = parse(make("forecast", zip="01234", days="3"), family, TOOLS).tool_calls[0]
    assert json.loads(call.arguments) == {"zip": "01234", "days": 3}
    text = parse(make("forecast", city="two words"), family)
    assert json.loads(text.tool_calls[0].arguments) == {"city": "two words"}
    assert text.problems == ()


def test_calls_in_thoughts_do_not_count() -> None:
    thought = "<think>I could write " + hermes(named("a", "{}")) + " here.</think>"
    content, calls, problems = parse(thought + "\n" + hermes(named("b", "{}")), "hermes")
    assert [call.name for call in calls] == ["b"]
    assert content == thought
    assert problems == ()


def test_harmony_content_is_final_and_preamble_without_analysis() -> None:
    text = (
        "<|channel|>analysis<|message|>secret<|end|><|start|>assistant<|channel|>commentary<|message|>I look. <|end|>"
        "<|start|>assistant<|channel|>final<|message|>Rain.<|return|>"
    )
    assert parse(text, "harmony") == ("I look. Rain.", (), ())


@pytest.mark.parametrize("family", sorted(formats()))
@pytest.mark.parametrize("text", ["", "Plain text.", '{"answer": 42}', " spaced \n", "a < b && c > d"])
def test_plain_text_is_left_alone(family: str, text: str) -> None:
    assert parse(text, family) == (text, (), ())


PIECES = sorted(
    {piece for _, text in ONE + TWO for piece in (text[: len(text) // 2], text[len(text) // 2 :], text)}
    | {text for _, text, _ in BROKEN}
    | {"<tool_call>", "</tool_call>", "[TOOL_CALLS]", "<|message|>", "<think>", "</think>", "{" * 3000, "[" * 3000}
)


TEXTS = st.one_of(
    st.text(max_size=80), st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=5))).map("".join)
)


@settings(max_examples=300, deadline=None)
@given(text=TEXTS)
def test_nothing_is_raised_whatever_the_text(text: str) -> None:
    for family in formats():
        content, calls, problems = parse(text, family)
        assert isinstance(content, str)
        assert all(isinstance(call.arguments, str) for call in calls)
        assert len(set(problems)) == len(problems)


def test_deep_nesting_and_long_numbers_are_faults_not_crashes() -> None:
    for body in ("[" * 100_000, '{"name": "f", "arguments": {"x": ' + "9" * 5000 + "}}"):
        assert parse(hermes(body), "hermes").problems == ("not_json",)


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("Qwen/Qwen3-32B", "qwen"),
        ("meta-llama/Llama-3.3-70B-Instruct", "llama3"),
        ("mistralai/Mistral-Small-3.2", "mistral"),
        ("moonshotai/Kimi-K2-Instruct", "kimi"),
        ("deepseek-ai/DeepSeek-V3.1", "deepseek"),
        ("deepseek-ai/DeepSeek-R1-Distill-Qwen-7B", "qwen"),
        ("zai-org/GLM-4.6", "glm"),
        ("openai/gpt-oss-120b", "harmony"),
        ("NousResearch/Hermes-3-Llama-3.1-8B", "hermes"),
        ("google/gemma-3", None),
    ],
)
def test_names_tell_the_family(model: str, family: str | None) -> None:
    assert family_of(model) == family


def test_an_unknown_family_is_refused() -> None:
    with pytest.raises(UsageError, match="'gemma' is not one of deepseek, glm, harmony"):
        parse("x", "gemma")
