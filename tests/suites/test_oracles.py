"""Oracles: right answers and wrong ones by hand; BFCL-style calls by mutation; hostile answers in linear time."""

import copy
import json
import sys
import time
from collections.abc import Callable
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.suites.grade import Grade, Seen, joined
from monitor.suites.oracles.contains import Contains
from monitor.suites.oracles.exact import Exact
from monitor.suites.oracles.golden_relative import GoldenRelative, overlap
from monitor.suites.oracles.json_schema import JsonSchema
from monitor.suites.oracles.numeric import Numeric
from monitor.suites.oracles.python_function import PythonFunction
from monitor.suites.oracles.regex import Regex
from monitor.suites.oracles.tool_call import ToolCalls, WantedCall
from monitor.suites.reading import read_suite
from monitor.types import Choice, Exchange, ToolCall
from tests.suites.test_schema import ROW

SCHEMA = {"type": "object", "properties": {"a": {"const": 1}, "b": {"pattern": "^x+$"}}, "required": ["a"]}
TEXTS: list[tuple[Any, str, str | None]] = [
    (Exact(value="Paris"), " Paris\n", None), (Exact(value="Paris"), "paris", "other_text"),
    (Exact(value=("a", "B"), ignore_case=True), "b", None), (Exact(value="a"), "", "other_text"),
    (Contains(all=("a", "b")), "xbxa", None), (Contains(all=("a", "b")), "a", "text_missing"),
    (Contains(any=("a", "b")), "b", None), (Contains(any=("a", "b")), "c", "text_missing"),
    (Contains(none=("a",)), "A", None), (Contains(none=("a",), ignore_case=True), "A", "text_unwanted"),
    (Regex(pattern=r"\bcat\b"), "a cat.", None), (Regex(pattern=r"\bcat\b"), "cats", "pattern_missing"),
    (Regex(pattern="cat", absent=True), "dog", None), (Regex(pattern="cat", absent=True), "cat", "pattern_found"),
    (Numeric(value=1234.5), "It is 1,234.5.", None), (Numeric(value=-3), "x = \u22123", None),
    (Numeric(value=3), "from 1 to 3", None), (Numeric(value=1, pick="first"), "1 to 3", None),
    (Numeric(value=1, pick="only"), "1 to 3", "several_numbers"), (Numeric(value=3), "three", "no_number"),
    (Numeric(value=100, tolerance=2), "102", None), (Numeric(value=100, tolerance=2), "102.1", "wrong_number"),
    (Numeric(value=100, relative=0.05), "95", None), (Numeric(value=2), "v2x", "no_number"),
    (Numeric(value=1e6), "1e6", None), (Numeric(value=10), "10.", None),
    (JsonSchema(schema=SCHEMA), '{"a": 1}', None), (JsonSchema(schema=SCHEMA), '{"a": 2}', "schema_const"),
    (JsonSchema(schema=SCHEMA), "{}", "schema_required"), (JsonSchema(schema=SCHEMA), '{"a": 1} ok', "not_json"),
    (JsonSchema(schema=SCHEMA), '{"a": 1, "b": "xy"}', "schema_pattern"), (JsonSchema(), "[1, 2]", None),
    (JsonSchema(schema=SCHEMA), '```json\n{"a": 1}\n```', "not_json"), (JsonSchema(), '{"a": NaN}', "not_json"),
    (JsonSchema(schema=SCHEMA, fenced=True), '```json\n{"a": 1}\n```', None), (JsonSchema(), "", "not_json"),
]  # fmt: skip


@pytest.mark.parametrize(("oracle", "text", "why"), TEXTS)
def test_texts(oracle: Any, text: str, why: str | None) -> None:
    assert oracle.problem is None
    assert oracle.grade(Seen(text=text)) == Grade(passed=why is None, why=why)


def test_golden_relative_needs_golden_and_grants_its_margin() -> None:
    oracle = GoldenRelative(target="the cat sat on the mat", margin=0.1)
    assert oracle.grade(Seen(text="x")).passed is None
    golden = ("the cat sat", "a cat sat on the mat")
    assert oracle.grade(Seen(text="the cat sat on the mat", golden=golden)).passed
    assert oracle.grade(Seen(text="dogs", golden=golden)) == Grade(passed=False, why="worse_than_golden")
    assert GoldenRelative().grade(Seen(text="The Cat, sat!", golden=golden)).passed
    assert GoldenRelative().grade(Seen(text="a cat", golden=golden)).why == "not_goldens"
    assert overlap("a b b", "b b c") == pytest.approx(2 * 2 / 6)


def test_python_is_asked_only_where_it_was_handed_over_and_may_not_break_the_run() -> None:
    oracle = PythonFunction(entry="m:f")
    assert oracle.grade(Seen(text="x")) == Grade(passed=None, why="python_not_allowed")
    assert oracle.grade(Seen(text="x", functions={"m:f": lambda text: text == "x"})).passed
    assert oracle.grade(Seen(text="y", functions={"m:f": lambda text: text == "x"})).why == "python_says_no"
    assert oracle.grade(Seen(text="x", functions={"m:f": lambda _: 1 / 0 > 0})).why == "python_raised"
    assert oracle.grade(Seen(text="x", functions={"m:f": lambda _: sys.exit(0)})).why == "python_raised"
    says_no: Any = lambda _: "no"  # noqa: E731
    assert oracle.grade(Seen(text="x", functions={"m:f": says_no})) == Grade(passed=None, why="python_no_bool")


@pytest.mark.parametrize("reference", ["$ref", "$dynamicRef"])
def test_a_reference_that_leads_nowhere_is_told_however_deep_and_one_that_leads_somewhere_is_not(
    reference: str,
) -> None:
    inner = {"if": {"type": "number"}, "then": {reference: "#/nope"}}
    assert "#/nope" in str(JsonSchema(schema=inner).problem)
    for into in ("#/type/x", "#/minLength/x", "#/definitions/q/x", "#/required/x"):  # a text, a number, a bool, a list
        schema = {"type": "object", "minLength": 1, "definitions": {"q": True}, "required": ["a"],
                  "properties": {"a": {reference: into}}}  # fmt: skip
        assert into in str(JsonSchema(schema=schema).problem)
    assert "http://x.example/a" in str(JsonSchema(schema={"not": {"items": {"$ref": "http://x.example/a"}}}).problem)
    fine = {"$id": "http://e.example/r", "$defs": {"a": {"$id": "b", "$anchor": "k"}},
            "items": {"$ref": "b#k"}, "not": {reference: "#/$defs/a"}}  # fmt: skip
    assert JsonSchema(schema=fine).problem is None


def test_an_oracle_that_fails_says_so_and_not_what_it_saw() -> None:
    """Reached only by a reference through what is no schema: nothing of it may end up in a log."""
    schema = {"const": 1, "x": {"y": {"$ref": "#/nope"}}, "if": {"type": "number"}, "then": {"$ref": "#/x/y"}}
    answer = Exchange(exchange_id="e", run_id="r", outcome="ok", choices=(Choice(content="1"),))
    case = read_suite(
        orjson.dumps({**ROW, "oracles": [{"kind": "json_schema", "schema": schema}]}).decode(), "a.jsonl", name="x"
    ).cases[0]
    assert case.grade(answer) == Grade(passed=None, why="oracle_failed")


def test_one_wrong_oracle_decides() -> None:
    right, wrong, untold = Grade(passed=True), Grade(passed=False, why="w"), Grade(passed=None, why="u")
    assert joined([right, untold, wrong]) == wrong
    assert joined([right, untold]) == untold
    assert joined([right, right]) == right


HOSTILE = ["a" * 200_000 + "!", "(" * 200_000, "[" * 200_000, "1," * 100_000, "\ud800", "\0" * 1000, '{"a":' * 50_000]


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: text[:3].encode("unicode_escape").decode())
def test_hostile_answers_take_linear_time(text: str) -> None:
    """Python's `re` needs 2^200000 steps for the first pattern; the bound is generous for a busy machine."""
    oracles: list[Any] = [
        Regex(pattern="^(a+)+$"), Regex(pattern="(a|aa|a)*b"), JsonSchema(schema=SCHEMA), Numeric(value=1),
        Contains(all=("x",)), Exact(value="x"),
        JsonSchema(schema={"type": "string", "pattern": "^(a+)+$"}), GoldenRelative(target="a", margin=0.0),
    ]  # fmt: skip
    start = time.process_time()
    for oracle in oracles:
        oracle.grade(Seen(text=text, golden=("a",)))
        oracle.grade(Seen(text=json.dumps(text), golden=("a",)))
    assert time.process_time() - start < 20


@given(st.text(max_size=50), st.text(max_size=20), st.text(max_size=50))
def test_no_answer_makes_an_oracle_raise(text: str, name: str, arguments: str) -> None:
    case = read_suite(orjson.dumps(ROW).decode(), "a.jsonl", name="x").cases[0]
    call = ToolCall(id=None, name=name, arguments=arguments)
    for oracle in case.oracles:
        oracle.grade(Seen(text=text, calls=(call,), tools={"f": {}}, golden=(text,)))


# Calls: perfect answers pass, every single edit is found under its name.

WANTED = ToolCalls(calls=(
    WantedCall(name="book", arguments={"city": ("New York", "NYC"), "n": (2,), "price": (9.5,), "vip": (True,),
                                       "days": (["mon", "tue"],), "who": ({"name": ["Ann"], "age": [30, ""]},),
                                       "note": ("please",)}, optional=("note",)),
    WantedCall(name="pay", arguments={"amount": (5,)}),
))  # fmt: skip
PERFECT: list[dict[str, Any]] = [
    {"name": "book", "arguments": {"city": "new york", "n": 2, "price": 9.5, "vip": True, "days": ["Mon", "tue"],
                                   "who": {"name": "Ann"}}},
    {"name": "pay", "arguments": {"amount": 5}},
]  # fmt: skip


def graded(calls: list[dict[str, Any]]) -> Grade:
    made = tuple(
        ToolCall(id="1", name=one["name"],
                 arguments=one["arguments"] if isinstance(one["arguments"], str) else json.dumps(one["arguments"]))
        for one in calls
    )  # fmt: skip
    return WANTED.grade(Seen(calls=made, tools={"book": {}, "pay": {}}))


def test_perfect_calls_pass_in_any_order_and_wording() -> None:
    assert graded(PERFECT).passed
    assert graded(PERFECT[::-1]).passed
    other = copy.deepcopy(PERFECT)
    other[0]["arguments"] |= {"city": "N.Y.C", "note": "Please", "who": {"name": "ann", "age": 30}, "n": 2.0}
    assert graded(other).passed


def edit(key: str, value: Any) -> Callable[[list[dict[str, Any]]], None]:
    def change(calls: list[dict[str, Any]]) -> None:
        calls[0]["arguments"][key] = value

    return change


EDITS: dict[str, tuple[Callable[[list[dict[str, Any]]], Any], str]] = {
    "call dropped": (lambda calls: calls.pop(), "wrong_count"),
    "call doubled": (lambda calls: calls.append(calls[0]), "wrong_count"),
    "all dropped": (lambda calls: calls.clear(), "no_call"),
    "another name": (lambda calls: calls[0].update(name="boook"), "wrong_name"),
    "name in capitals": (lambda calls: calls[1].update(name="Pay"), "wrong_name"),
    "argument missing": (lambda calls: calls[0]["arguments"].pop("city"), "missing_argument"),
    "argument added": (edit("colour", "red"), "unexpected_argument"),
    "key misspelt": (lambda calls: calls[0]["arguments"].update(citi=calls[0]["arguments"].pop("city")),
                     "unexpected_argument"),
    "another text": (edit("city", "Boston"), "wrong_value"), "another number": (edit("n", 3), "wrong_value"),
    "fraction": (edit("n", 2.5), "wrong_value"), "number as text": (edit("n", "2"), "wrong_type"),
    "text as number": (edit("city", 7), "wrong_type"), "bool as number": (edit("vip", 1), "wrong_type"),
    "bool turned": (edit("vip", value=False), "wrong_value"), "bool as text": (edit("vip", "true"), "wrong_type"),
    "null": (edit("city", None), "wrong_type"), "list shorter": (edit("days", ["mon"]), "wrong_value"),
    "list in another order": (edit("days", ["tue", "mon"]), "wrong_value"),
    "list of others": (edit("days", ["mon", 2]), "wrong_type"), "list as text": (edit("days", "mon,tue"), "wrong_type"),
    "object with another value": (edit("who", {"name": "Bob"}), "wrong_value"),
    "object without a key": (edit("who", {"age": 30}), "wrong_value"),
    "object with one more": (edit("who", {"name": "Ann", "x": 1}), "wrong_value"),
    "object of another type": (edit("who", {"name": 3}), "wrong_type"),
    "object as text": (edit("who", "Ann"), "wrong_type"), "optional one wrong": (edit("note", "no"), "wrong_value"),
    "arguments cut": (lambda calls: calls[0].update(arguments='{"city": "NYC"'), "bad_arguments"),
    "arguments twice": (lambda calls: calls[1].update(arguments='{"amount": 5, "amount": 5}'), "bad_arguments"),
    "arguments a list": (lambda calls: calls[1].update(arguments="[5]"), "bad_arguments"),
}  # fmt: skip


@pytest.mark.parametrize("name", EDITS)
def test_every_single_edit_is_found_under_its_name(name: str) -> None:
    calls = copy.deepcopy(PERFECT)
    change, why = EDITS[name]
    change(calls)
    assert graded(calls) == Grade(passed=False, why=why)


def test_of_two_calls_of_one_function_each_is_given_the_one_that_serves_it() -> None:
    oracle = ToolCalls(calls=(
        WantedCall(name="f", arguments={"x": (1, 2)}), WantedCall(name="f", arguments={"x": (1,)}),
    ))  # fmt: skip
    made = [ToolCall(id=None, name="f", arguments=f'{{"x": {x}}}') for x in (1, 2)]
    assert oracle.grade(Seen(calls=tuple(made), tools={"f": {}})).passed
    assert not oracle.grade(Seen(calls=(made[1], made[1]), tools={"f": {}})).passed


def test_some_call_and_none() -> None:
    tools = {"f": {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}}
    fine, bad, other = (ToolCall(id=None, name=name, arguments=text) for name, text in
                        (("f", '{"x": 1}'), ("f", '{"x": "1"}'), ("g", "{}")))  # fmt: skip
    some, none = ToolCalls(expect="some"), ToolCalls(expect="none")
    said = [some.grade(Seen(calls=(one,), tools=tools)).why for one in (fine, bad, other)]
    assert said == [None, "schema", "wrong_name"]
    assert some.grade(Seen()).why == "no_call"
    assert none.grade(Seen()).passed
    assert none.grade(Seen(calls=(fine,))).why == "unwanted_call"
