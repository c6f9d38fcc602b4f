"""Suites as JSON lines. Oracles: the rows of K2VV, MiniMax and evalscope as their notes describe them."""

import json
from typing import Any

import pytest

from monitor.errors import UsageError
from monitor.tools.case import Case, ExpectedCall, case_of
from monitor.tools.rows import read_rows
from monitor.wire.openai_chat import PROTOCOL
from tests.tools.made import WEATHER

USER = {"role": "user", "content": "Weather in Lisbon?"}


def read(*rows: Any) -> tuple[Case, ...]:
    return read_rows("\n".join(json.dumps(row) for row in rows), "s")


def sent(case: Case) -> dict[str, Any]:
    request = case.request("stream", max_tokens=99, temperature=None)
    body: dict[str, Any] = json.loads(PROTOCOL.body(request, "m"))
    return body


def test_a_k2vv_row_is_sent_as_it_is() -> None:
    broken = {"role": "assistant", "content": "", "tool_calls": [
        {"id": "x:0", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": '}}]}  # fmt: skip
    row = {
        "model": "kimi", "messages": [{"role": "_input", "content": "Be brief."}, USER, broken], "tools": [WEATHER],
        "temperature": 0.6, "max_tokens": 64000, "stream": False, "top_k": 20, "thinking": {"type": "enabled"},
    }  # fmt: skip
    (case,) = read(row)
    body = sent(case)
    assert body["messages"] == [{"role": "system", "content": "Be brief."}, USER, broken]
    assert (body["temperature"], body["max_tokens"], body["stream"], body["model"]) == (0.6, 64000, True, "m")
    assert (body["top_k"], body["thinking"], body["tools"]) == (20, {"type": "enabled"}, [WEATHER])
    assert (case.expect, case.case_id) == ("any", "s/1")


def test_keys_of_verifiers_are_expectations_and_are_never_sent() -> None:
    rows = [
        {"messages": [USER], "tools": [WEATHER], "expected_tool_call": True, "check_type": ["tool_calls"]},
        {"messages": json.dumps([USER]), "tools": json.dumps([WEATHER]), "should_call_tool": False,
         "official_finish_reason": "stop"},
        {"messages": [USER], "tools": [WEATHER], "official_finish_reason": "tool_calls", "data_index": 7, "hash": "h"},
        {"messages": [USER], "tools": [WEATHER], "id": "mine", "expected_calls": [{"name": "get_weather"}],
         "tags": ["t"], "tool_choice": "auto", "parallel_tool_calls": False, "max_completion_tokens": 5},
    ]  # fmt: skip
    cases = read(*rows)
    assert [case.expect for case in cases] == ["call", "none", "call", "call"]
    assert [case.tags for case in cases] == [("tool_calls",), (), (), ("t",)]
    assert cases[3].calls == (ExpectedCall(name="get_weather"),)
    assert [case.case_id for case in cases] == ["s/1", "s/2", "s/3", "s/mine"]
    plain = {"model", "messages", "max_tokens", "stream", "stream_options", "tools"}
    assert [set(sent(case)) for case in cases[:3]] == [plain, plain, plain]
    assert set(sent(cases[3])) == plain | {"tool_choice", "parallel_tool_calls"}
    assert sent(cases[3])["max_tokens"] == 5


def test_the_request_alone_says_what_was_expected() -> None:
    (case,) = read({"messages": [USER], "tools": [WEATHER], "expect": "none", "tool_choice": "none", "stop": ["x"]})
    again = case_of(case.request("whole", max_tokens=9, temperature=None))
    assert (again.case_id, again.expect, again.tool_choice, again.body) == ("s/1", "none", "none", {"stop": ["x"]})


MISTAKES = [
    ("[]", "s, line 1: a row is a JSON object"), ("{", "s, line 1: "), ('{"tools": []}', "`messages` is missing"),
    ('{"messages": [1]}', "`messages` must be a list of objects"), ("\n\n", "s: holds no case"),
    ('{"messages": [{"role": "user"}], "expect": "yes"}', "`expect` must be call, none or any"),
    ('{"messages": [{"role": "user"}], "expected_calls": [{}]}', "`expected_calls` must be"),
    ('{"messages": [{"role": "user"}], "expected_calls": [{"name": 5}]}', "`expected_calls` must be"),
    ('{"messages": [{"role": "user"}], "expected_calls": [{"name": "f", "arguments": "{}"}]}', "`expected_calls` must"),
    ('{"messages": [{"role": "user"}], "tools": [{"type": "function", "function": {}}]}', "a tool must be"),
    ('{"messages": [{"role": "user"}], "tools": [{"name": "f"}]}', "a tool must be"),
    ('{"messages": [{"role": "user"}], "tools": [{"function": {"name": "f", "parameters": "{bad}"}}]}',
     "`parameters` of 'f' must be an object"),
    ('{"messages": [{"role": "user"}], "tool_choice": {"type": "function"}}', "a named `tool_choice` must be"),
    ('{"messages": [{"role": "user"}], "tool_choice": 5}', "`tool_choice` must be a word or an object"),
    ('{"messages": [{"role": "user"}], "id": 1}\n{"messages": [{"role": "user"}], "id": 1}', "two rows have the id"),
    *((f'{{"messages": [{{"role": "user"}}], "{key}": {value}}}', f"`{key}` must be {words}") for key, value, words in (
        ("max_tokens", '"many"', "a whole number"), ("max_tokens", "-100000", "a whole number"),
        ("max_tokens", "0", "a whole number"), ("max_tokens", "true", "a whole number"),
        ("max_completion_tokens", "2.5", "a whole number"), ("max_tokens", "1000000000000000", "a whole number"),
        ("temperature", '"hot"', "a number of at least 0"), ("temperature", "-1", "a number of at least 0"),
        ("parallel_tool_calls", "1", "true or false"), ("id", "{}", "text or a whole number"),
    )),
]  # fmt: skip


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85", "\x0c", "\x1e"])
def test_only_line_feeds_part_rows(separator: str) -> None:
    """RFC 8259 allows all of these unescaped within strings, the last two escaped, as json writes them."""
    text = json.dumps({"messages": [{"role": "user", "content": f"a{separator}b"}]}, ensure_ascii=False)
    (case,) = read_rows(text + "\r\n", "s")
    assert case.messages[0]["content"] == f"a{separator}b"


@pytest.mark.parametrize(("text", "words"), MISTAKES)
def test_mistakes_name_the_line_and_the_remedy(text: str, words: str) -> None:
    with pytest.raises(UsageError, match="s") as raised:
        read_rows(text, "s")
    assert words in str(raised.value)


def test_all_mistakes_are_told_or_counted() -> None:
    with pytest.raises(UsageError) as raised:
        read_rows("{}\n" * 7, "s")
    told = str(raised.value)
    assert [f"line {at}: `messages` is missing" in told for at in range(1, 8)] == [True] * 5 + [False] * 2
    assert told.endswith("; and 2 lines more")
