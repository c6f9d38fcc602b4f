"""Importers on files of strangers: any JSON value in any place of a valid row is taken over or listed, never raised."""

import os
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from jobs.cli import build
from jobs.out_file import replace_file
from monitor.errors import UsageError
from monitor.suites.importers.catalogue import imported, importers
from monitor.suites.importers.imported import Rows
from monitor.suites.reading import MAX_DEPTH, read_suite, too_deep, write_suite, write_yaml

TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {"a": {}}}}}
ASK = [{"role": "user", "content": "a"}]
VALID: dict[str, dict[str, Any]] = {
    "k2vv": {
        "id": "x", "hash": "y", "messages": ASK, "tools": [TOOL], "expected_tool_call": True, "max_tokens": 9,
        "should_call_tool": True, "official_finish_reason": "tool_calls", "check_type": ["tool_call"], "top_p": 0.5,
        "expected_calls": [{"name": "f", "arguments": {"a": 1}}], "temperature": 0.5, "tool_choice": "auto",
        "parallel_tool_calls": True, "stop": ["x"], "tags": ["t"], "expect": "call", "data_index": 1,
    },
    "openai_evals": {"input": ASK, "ideal": ["x"]},
    "inspect": {"id": 1, "input": ASK, "target": ["x"], "metadata": {"a": 1}, "choices": [], "files": {}},
    "bfcl": {
        "id": "simple_1", "question": [ASK], "ground_truth": [{"f": {"a": [1, ""]}}],
        "function": [{"name": "f", "parameters": {"type": "dict", "properties": {"a": {"type": "int"}}}}],
    },
    "promptfoo": {
        "prompts": ["say {{x}}"], "providers": ["p"], "description": "d",
        "defaultTest": {"vars": {"y": 1}, "assert": [], "metadata": {"k": 1}, "options": {}},
        "tests": [{
            "vars": {"x": ["a"]}, "metadata": {"tag": "t"}, "options": {}, "description": "d",
            "assert": [
                {"type": "equals", "value": "a", "weight": 1}, {"type": "contains-any", "value": ["a", "b"]},
                {"type": "is-json", "value": {"type": "object"}}, {"type": "not-contains", "value": "z"},
                {"type": "not-regex", "value": "q"}, {"type": "icontains", "value": "a"},
            ],
        }],
    },
    "lm_eval": {
        "task": "t", "output_type": "generate_until", "doc_to_text": "{{q}}", "doc_to_target": "a", "num_fewshot": 0,
        "metric_list": [{"metric": "exact_match", "ignore_case": True}],
        "generation_kwargs": {"until": ["x"], "max_gen_toks": 3, "temperature": 0.0, "do_sample": False, "top_p": 1},
    },
}  # fmt: skip
DOCUMENT = {"q": "1+1", "a": "2", "id": "d"}
ANY = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 2**63) | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["", "x", "{{", "file://x", "call", "!function x", "[[", "[1]"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["", "a", "type", "name", "role", "content", "value", "metric", "$ref"]), inner, max_size=3
    ),
    max_leaves=5,
)  # fmt: skip


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of everything in `value` but itself."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield (*path, key)
        yield from places(one, (*path, key))


def put(row: Any, path: tuple[Any, ...], value: Any) -> Any:
    changed = deepcopy(row)
    at = changed
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return changed


def take(kind: str, row: Any, document: Any = DOCUMENT) -> tuple[int, int]:
    """How many cases came of a file that holds `row` alone, and how many entries were listed."""
    text = orjson.dumps(row).decode()
    _, found = imported(text, "n", form=kind, beside=orjson.dumps(document).decode() if kind == "lm_eval" else None)
    for written, name in ((write_suite, "a.jsonl"), (write_yaml, "a.yaml")):
        assert not found.suite.cases or read_suite(written(found.suite), name, name="n") == found.suite
    assert all(one.where and "does not have the shape" not in one.what for one in found.unsupported), found.unsupported
    return len(found.suite.cases), len(found.unsupported)


def test_the_rows_to_change_are_whole() -> None:
    assert VALID.keys() == importers().keys()
    assert {kind: take(kind, row) for kind, row in VALID.items()} == dict.fromkeys(VALID, (1, 0))


@pytest.mark.parametrize("kind", VALID)
@settings(max_examples=50, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_any_value_in_any_place_is_taken_over_or_listed(kind: str, data: st.DataObject) -> None:
    """Oracle: no exception but a UsageError for a file of another format, and always a case or an entry."""
    path = data.draw(st.sampled_from(list(places(VALID[kind]))))
    row = put(VALID[kind], path, data.draw(ANY))
    document = data.draw(st.just(DOCUMENT) | st.dictionaries(st.sampled_from(["q", "a", "id"]), ANY))
    try:
        cases, listed = take(kind, row, document)
    except UsageError:
        assert path in {("tests",), ("doc_to_text",)}
    else:
        assert cases + listed or row.get("tests") == [] or row.get("prompts") == []


@settings(max_examples=60, deadline=None, derandomize=True)
@given(rows=st.lists(ANY, max_size=4))
def test_rows_of_anything_are_listed_one_by_one(rows: list[Any]) -> None:
    """Oracle: as many entries as rows that are no case, with the place of each."""
    text = "".join(orjson.dumps(row).decode() + "\n" for row in rows)
    for kind in ("k2vv", "inspect", "openai_evals", "bfcl"):
        _, found = imported(text if not text.lstrip().startswith("[") else "\n{}\n" + text, "n", form=kind)
        assert len({one.where for one in found.unsupported}) >= len(rows)
        assert not found.suite.cases


def test_a_fault_that_nobody_foresaw_is_listed_too() -> None:
    found = Rows()
    found.each([("line 1", 1), ("line 2", 2)], lambda _, row: [][row])
    assert [one.where for one in found.unsupported] == ["line 1", "line 2"]


@pytest.mark.parametrize("text", ["[" * 200_000, "- " * 9000, "{a: " * 9000, '{"a":' * 9000, "? " * 9000])
def test_deep_nesting_is_refused_before_anything_walks_it(text: str) -> None:
    """It took minutes. The oracle is the words: they come from the first place that is too deep."""
    with pytest.raises(UsageError, match=f"line 1: nested more than {MAX_DEPTH} deep"):
        imported(text, "n", form="promptfoo")
    with pytest.raises(UsageError, match="not recognised"):
        imported(text, "n")


def test_depth_is_that_of_lists_and_objects() -> None:
    deep: Any = 1
    for _ in range(MAX_DEPTH):
        deep = [deep, "x"]
    assert (too_deep(deep), too_deep([deep]), too_deep({"a": deep}), too_deep("x")) == (False, True, True, False)
    row = VALID["inspect"] | {"metadata": [deep]}
    assert take("inspect", row) == (0, 1)
    with pytest.raises(UsageError, match="line 1: nested more than"):
        read_suite(orjson.dumps({"prompt": "a", "tags": [deep]}).decode(), "a.jsonl", name="n")


@pytest.mark.parametrize(
    ("kind", "row", "what"),
    [("bfcl", {"foo": 1}, "neither a question nor a possible answer"),
     ("bfcl", {"id": "a", "ground_truth": []}, "possible answer without its question"),
     ("bfcl", put(VALID["bfcl"], ("function", 0, "parameters", "properties"), [1]), "properties of a function"),
     ("inspect", VALID["inspect"] | {"input": [{"role": "user", "content": [{"type": "image"}]}]}, "more than text"),
     ("k2vv", VALID["k2vv"] | {"banana": 1}, "key that is no part of a request, not sent: banana"),
     ("k2vv", VALID["k2vv"] | {"max_tokens": "x"}, "max_tokens that is no whole number"),
     ("k2vv", VALID["k2vv"] | {"temperature": [1]}, "temperature that is no number"),
     ("k2vv", {"messages": ASK, "tools": [TOOL]}, "does not say what a right answer is"),
     *[("promptfoo", VALID["promptfoo"] | {key: [1]}, f"{key} of the configuration")
       for key in ("scenarios", "extensions", "evaluateOptions")],
     ("promptfoo", put(VALID["promptfoo"], ("tests", 0, "prompts"), ["a"]), "test with prompts"),
     ("promptfoo", put(VALID["promptfoo"], ("tests", 0, "vars", "x"), []), "variable that is an empty list"),
     ("lm_eval", VALID["lm_eval"] | {"description": "Answer."}, "description"),
     ("lm_eval", VALID["lm_eval"] | {"generation_kwargs": {"num_beams": 2}}, "generation_kwargs with num_beams"),
     ("lm_eval", VALID["lm_eval"] | {"metric_list": [{"metric": "exact_match"}, {"metric": "bleu"}]}, "metric bleu")],
)  # fmt: skip
def test_nothing_is_passed_over_in_silence(kind: str, row: Any, what: str) -> None:
    beside = '{"q": "a", "a": "b"}' if kind == "lm_eval" else None
    _, found = imported(orjson.dumps(row).decode(), "n", form=kind, beside=beside)
    assert any(what in one.what for one in found.unsupported), found.unsupported


def test_requests_without_expectations_are_recognised_and_lines_that_are_broken_listed() -> None:
    whole = orjson.dumps(VALID["k2vv"]).decode()
    kind, found = imported(f'{{"messages": [], "tools": []}}\n{whole}\n{{"messages": [\n', "n")
    assert (kind, len(found.suite.cases)) == ("k2vv", 1)
    assert [one.where for one in found.unsupported] == ["line 1", "line 3"]


def run(*words: str) -> Any:
    return CliRunner().invoke(build(), ["suite", "import", *words])


def test_the_name_of_the_file_says_how_it_is_written(tmp_path: Path) -> None:
    source = tmp_path / "s.jsonl"
    source.write_bytes(orjson.dumps(VALID["inspect"]))
    suites = []
    for name in ("own.yaml", "own.YML", "own.jsonl"):
        out = tmp_path / name
        assert run(str(source), "--out", str(out)).exit_code == 0
        suites.append(read_suite(out.read_text(), name, name="x"))
    assert suites[0] == suites[1] == suites[2]
    assert isinstance(yaml.safe_load((tmp_path / "own.yaml").read_text())["cases"], list)


def test_refusals_name_the_remedy_the_places_and_the_file_once(tmp_path: Path) -> None:
    source = tmp_path / "s.jsonl"
    source.write_text('{"foo": 1}\n{"foo":\n')
    closed = str(run(str(source), "--out", "/nope/x.yaml").exception)
    assert "there is no folder /nope; make it, or name another file" in closed
    out = ("--out", str(tmp_path / "o.jsonl"))
    assert str(run(str(source), *out).exception).count("s.jsonl") == 1
    assert "its first object has the keys foo" in str(run(str(source), *out).exception)
    told = str(run(str(source), *out, "--format", "bfcl", "--report-unsupported").exception)
    assert "line 1: row that is neither a question" in told
    assert "line 2: line that is not JSON" in told
    as_json = orjson.loads(run(str(source), *out, "--format", "bfcl", "--json").stdout)
    assert [one["where"] for one in as_json["unsupported_at"]] == ["line 2", "line 1"]
    assert not (tmp_path / "o.jsonl").exists()


def test_a_file_does_not_take_the_place_of_a_device(tmp_path: Path) -> None:
    """As root a rename would: /dev/null would be a file from then on."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        replace_file(pipe, b"x")
        assert (os.read(reader, 9), pipe.is_fifo()) == (b"x", True)
    finally:
        os.close(reader)
