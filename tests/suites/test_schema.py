"""The schema of suites: every mistake is named with its place; what is written reads back the same."""

from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from jobs.cli import build
from jobs.suite_files import from_file
from monitor.errors import ConfigError, UsageError, WeighmasterError
from monitor.suites.reading import read_suite, write_suite
from monitor.suites.rows import kinds

ONE_OF_EACH: list[dict[str, Any]] = [
    {"kind": "exact", "value": ["a", "b"], "ignore_case": True}, {"kind": "contains", "any": ["x"], "none": ["y"]},
    {"kind": "regex", "pattern": "^a+$"}, {"kind": "json_schema", "schema": {"type": "object"}, "fenced": True},
    {"kind": "numeric", "value": 3.5, "tolerance": 0.1, "pick": "first"},
    {"kind": "tool_call", "calls": [{"name": "f", "arguments": {"x": [1, "one"]}, "optional": ["x"]}]},
    {"kind": "python", "entry": "acme.checks:fine"}, {"kind": "golden_relative", "target": "some words"},
]
ROW: dict[str, Any] = {
    "id": "a", "messages": [{"role": "user", "content": "Hi\u2028there"}], "repeats": 3, "weight": 2.0, "tags": ["t"],
    "privacy": "keep", "oracles": ONE_OF_EACH, "parameters": {"max_tokens": 9, "temperature": 0, "stop": ["x"]},
    "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}],
}


def test_every_kind_of_oracle_is_here() -> None:
    assert {one["kind"] for one in ONE_OF_EACH} == set(kinds())


def test_lines_and_yaml_read_the_same_and_what_is_written_reads_back() -> None:
    lines = orjson.dumps({"suite": {"name": "n"}}).decode() + "\n" + orjson.dumps(ROW).decode() + "\n"
    suite = read_suite(lines, "a.jsonl", name="file")
    assert suite.name == "n"
    again = read_suite(write_suite(suite), "b.jsonl", name="x")
    assert again == suite
    as_yaml = yaml.safe_dump({"name": "n", "cases": [ROW]})
    assert read_suite(as_yaml, "a.yaml", name="x") == suite


def test_the_hash_is_of_the_cases_and_not_of_the_name_or_the_order_of_keys() -> None:
    def hashed(row: dict[str, object], name: str = "n") -> str:
        return read_suite(orjson.dumps(row).decode(), "a.jsonl", name=name).sha256

    assert hashed(ROW) == hashed(dict(reversed(ROW.items())), "other")
    assert hashed(ROW) != hashed(ROW | {"repeats": 4})


def test_defaults_hold_where_a_case_says_nothing() -> None:
    text = """
    defaults: {privacy: drop, repeats: 4, parameters: {temperature: 0.5}}
    cases:
      - {prompt: a, oracles: [{kind: exact, value: b}]}
      - {prompt: a, oracles: [{kind: exact, value: b}], repeats: 1, parameters: {max_tokens: 3}}
    """
    first, second = read_suite(text, "a.yaml", name="x").cases
    assert (first.privacy, first.repeats, first.parameters) == ("drop", 4, {"max_tokens": 256, "temperature": 0.5})
    assert (second.repeats, second.parameters) == (1, {"max_tokens": 3, "temperature": 0.5})


WRONG = {
    '{"prompt": "a"}': "line 1.oracles",
    '{"prompt": "a", "oracles": [{"kind": "exakt", "value": "x"}]}': "line 1.oracles[0].kind",
    '{"prompt": "a", "oracels": []}': "did you mean oracles?",
    '{"oracles": [{"kind": "exact", "value": "x"}]}': "line 1.messages",
    '{"prompt": "a", "oracles": [{"kind": "exact", "value": "x", "valu": 1}]}': "unknown key",
    '{"prompt": "a", "oracles": [{"kind": "regex", "pattern": "(?=x)"}]}': "look-around",
    '{"prompt": "a", "oracles": [{"kind": "regex", "pattern": "("}]}': "unclosed group",
    '{"prompt": "a", "oracles": [{"kind": "json_schema", "schema": {"type": "strin"}}]}': "not a JSON Schema",
    '{"prompt": "a", "oracles": [{"kind": "json_schema", "schema": {"pattern": "(a)\\\\1"}}]}': "backreferences",
    '{"prompt": "a", "oracles": [{"kind": "numeric", "value": "x"}]}': "line 1.oracles[0].value",
    '{"prompt": "a", "oracles": [{"kind": "contains"}]}': "`all`, `any` or `none`",
    '{"prompt": "a", "oracles": [{"kind": "tool_call"}]}': "list `calls`",
    '{"prompt": "a", "oracles": [{"kind": "python", "entry": "os.system(1)"}]}': "package.module:function",
    '{"prompt": "a", "repeats": 0, "oracles": [{"kind": "exact", "value": "x"}]}': "line 1.repeats",
    '{"prompt": "a", "weight": -1, "oracles": [{"kind": "exact", "value": "x"}]}': "line 1.weight",
    '{"prompt": "a", "privacy": "public", "oracles": [{"kind": "exact", "value": "x"}]}': "keep, hash, drop",
    '{"prompt": "a", "parameters": {"temperature": -1}, "oracles": [{"kind": "exact", "value": "x"}]}': "temperature",
    '{"prompt": "a", "parameters": {"seed": 1}, "oracles": [{"kind": "exact", "value": "x"}]}': "parameters.seed",
    '{"prompt": "a", "tools": [{"name": "f"}], "oracles": [{"kind": "exact", "value": "x"}]}': "line 1.tools",
    '{"generated": {"family": "copyin", "n": 3}}': "line 1.family",
    '{"generated": {"family": "copying", "n": 3, "level": 9}}': "line 1.level",
    '{"suite": {"nam": "x"}}\n{"generated": {"family": "copying", "n": 3}}': "suite.nam",
    "[1]": "a case is an object",
    '{"generated": {"family": ["copying"], "n": 3}}': "line 1.family",
    '{"generated": {"family": "copying", "n": 3, "level": 1.0}}': "line 1.level",
    '{"prompt": "a", "weight": 1e308, "oracles": [{"kind": "exact", "value": "x"}]}': "at most 1,000,000",
    '{"prompt": "a", "parameters": {"max_tokens": 1.5}, "oracles": [{"kind": "exact", "value": "x"}]}': "whole number",
    '{"prompt": "a", "prompt": "b", "oracles": []}\n{"prompt": "a"}': "line 1: has the key 'prompt' twice",
    '{"messages": [{"role": "pope", "content": "a"}], "oracles": [{"kind": "exact", "value": "x"}]}': "`role`: system,",
    '{"messages": [{"role": "user", "content": 5}], "oracles": [{"kind": "exact", "value": "x"}]}': "line 1.messages",
}


FIELDS = {
    '{"kind": "exact", "value": 3}': "oracles[0].value: must be a text or a list of texts",
    '{"kind": "exact", "value": ["a", 2]}': "oracles[0].value: must be a text or a list of texts",
    '{"kind": "exact"}': "oracles[0].value: is missing",
    '{"kind": "contains", "all": "x"}': 'oracles[0].all: must be a list (such as ["..."])',
    '{"kind": "numeric", "value": "x"}': "oracles[0].value: must be a number",
    '{"kind": "numeric", "value": 1, "pick": "middle"}': "oracles[0].pick: must be one of last, first, only",
    '{"kind": "json_schema", "schema": []}': 'oracles[0].schema: must be an object (such as {"...": ...})',
    '{"kind": "json_schema", "fenced": "perhaps"}': "oracles[0].fenced: must be true or false",
    '{"kind": "tool_call", "calls": [{"arguments": {"a": 1}, "name": "f"}]}': "oracles[0].calls[0].arguments.a: must",
    '{"kind": "tool_call", "calls": ["x"]}': "oracles[0].calls[0]: must be an object",
    '{"kind": "tool_call", "calls": [{}]}': "oracles[0].calls[0].name: is missing",
    '{"kind": "tool_call", "calls": [{"name": "f", "args": {}}]}': "oracles[0].calls[0].args: unknown key",
    '{"kind": "tool_call", "calls": [{"name": "f"}]}': "oracles[0]: wants a call, and the case has no tools (declare",
    '{"kind": "tool_call", "expect": "some"}': "oracles[0]: wants a call, and the case has no tools (declare",
}


@pytest.mark.parametrize("oracle", FIELDS)
def test_a_field_of_an_oracle_is_told_in_our_words_once(oracle: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_suite(f'{{"prompt": "a", "oracles": [{oracle}]}}', "a.jsonl", name="x")
    (told,) = caught.value.problems
    assert str(told).startswith(f"line 1.{FIELDS[oracle]}")
    assert not [word for word in ("Input", "valid", "tuple", "string", "dictionary") if word in str(told)]


@pytest.mark.parametrize("text", WRONG)
def test_each_mistake_is_named(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_suite(text, "a.jsonl", name="x")
    assert WRONG[text] in str(caught.value)


def test_a_call_that_is_not_declared_is_a_mistake_and_none_needs_no_tools() -> None:
    tools = '"tools": [{"type": "function", "function": {"name": "cancel_order"}}]'
    row = '{"prompt": "a", %s, "oracles": [{"kind": "tool_call", "calls": [{"name": "%s"}]}]}'
    assert read_suite(row % (tools, "cancel_order"), "a.jsonl", name="x").cases
    with pytest.raises(ConfigError) as caught:
        read_suite(row % (tools, "cancel_oder"), "a.jsonl", name="x")
    assert str(caught.value) == (
        "line 1.oracles[0].calls[0].name: 'cancel_oder' is not declared in `tools` of the case (declared: cancel_order)"
    )
    none = '{"prompt": "a", "oracles": [{"kind": "tool_call", "expect": "none"}]}'
    assert read_suite(none, "a.jsonl", name="x").cases


@pytest.mark.parametrize(("text", "kind", "name"), [
    ("prompts: [a]\ntests: []", "promptfoo", "a.yaml"), ('{"input": "a", "ideal": "b"}', "openai_evals", "a.jsonl"),
    ('[{"input": "a", "target": "b"}]', "inspect", "a.jsonl"),
])  # fmt: skip
def test_a_file_of_another_program_is_told_how_it_is_taken_over(
    text: str, kind: str, name: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(WeighmasterError, match=f"looks like {kind}, of another program.*weighmaster suite import"):
        from_file(path)


def test_all_mistakes_are_told_at_once_and_two_cases_of_one_id_are_one() -> None:
    bad = '{"id": 1, "prompt": "", "oracles": []}\n{"id": 1, "prompt": "a", "repeats": "x", "oracles": []}'
    with pytest.raises(ConfigError) as caught:
        read_suite(bad, "a.jsonl", name="x")
    assert len(caught.value.problems) == 5
    torn = '{"prompt": \n{"prompt": "a", "oracles": []}\n{"x'
    with pytest.raises(ConfigError) as caught:
        read_suite(torn, "a.jsonl", name="x")
    assert [one.path for one in caught.value.problems] == ["line 1", "line 3", "line 2.oracles"]
    same = '{"id": 1, "prompt": "a", "oracles": [{"kind": "exact", "value": "x"}]}\n' * 2
    with pytest.raises(ConfigError, match="another case has the id"):
        read_suite(same, "a.jsonl", name="x")


def test_a_mistake_in_the_defaults_is_told_once() -> None:
    bad = '{"suite": {"defaults": {"privacy": "x", "repeats": 0, "parameters": {"top_p": 2}}}}\n'
    with pytest.raises(ConfigError) as caught:
        read_suite(bad + '{"prompt": "a", "oracles": [{"kind": "exact", "value": "x"}]}\n' * 2, "a.jsonl", name="x")
    assert sorted(one.path for one in caught.value.problems if one.path.startswith("defaults")) == [
        "defaults.parameters.top_p", "defaults.privacy", "defaults.repeats"
    ]  # fmt: skip
    assert len(caught.value.problems) == 3


NONE = [
    "", "cases: []", "a: &x [1]\nb: *x", "x: [", "3", "cases: 3", "!!python/object:os.x 1", "generated: 5",
    "cases: []\ncases: [{prompt: a}]", "cases: [{prompt: a, tags: [b], prompt: a}]",
    "x: !!set {a, b}", "x: !!binary aGVsbG8=", 'cases: ["\\ud800"]', "x: 2026-99-99",
]  # fmt: skip


@pytest.mark.parametrize("text", NONE)
def test_what_is_no_suite_is_refused_by_name(text: str) -> None:
    with pytest.raises(WeighmasterError, match=r"a\.yaml|unknown key"):
        read_suite(text, "a.yaml", name="x")


def test_yaml_may_say_what_json_cannot_and_whole_numbers_with_a_point() -> None:
    text = """
    cases:
      - messages: [{role: user, content: 2026-01-01}]
        repeats: 2.0
        parameters: {logit_bias: {1: 5}}
        oracles: [{kind: exact, value: "1"}]
    """
    (case,) = read_suite(text, "a.yaml", name="x").cases
    assert (case.messages[0]["content"], case.parameters["logit_bias"]) == ("2026-01-01", {"1": 5})
    assert list(range(case.repeats)) == [0, 1]


def test_deep_nesting_is_refused_not_a_crash() -> None:
    with pytest.raises(UsageError):
        read_suite("cases: " + "[" * 900, "a.yaml", name="x")


@given(st.text(max_size=200) | st.from_type(type(None)).map(lambda _: '{"prompt": "a", "oracles": [null, 1, [], {}]}'))
def test_any_text_is_read_or_refused(text: str) -> None:
    for source in ("a.jsonl", "a.yaml"):
        with suppress(WeighmasterError):
            read_suite(text, source, name="x")


def test_validate_says_what_is_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_bytes(orjson.dumps(ROW))
    result = CliRunner().invoke(build(), ["suite", "validate", str(path), "--json"])
    assert result.exit_code == 0
    found = orjson.loads(result.stdout)
    assert (found["cases"], found["answers"], found["python"]) == (1, 3, ["acme.checks:fine"])
    told = CliRunner().invoke(build(), ["suite", "validate", str(path)])
    assert "), 1 case, 3 answers a run; wants to run acme.checks:fine" in told.stdout
    path.write_bytes(b'{"prompt": 3}')
    wrong = CliRunner().invoke(build(), ["suite", "validate", str(path), "--json"])
    assert isinstance(wrong.exception, ConfigError)
    assert [one["path"] for one in orjson.loads(wrong.stdout)["problems"]] == ["line 1.messages", "line 1.oracles"]
