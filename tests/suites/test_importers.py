"""Each importer on a small file of its format written by hand: cases, right oracles, and all that was left out."""

from pathlib import Path
from typing import Any

import orjson
import pytest
from typer.testing import CliRunner

from jobs.cli import build
from monitor.errors import UsageError, WeighmasterError
from monitor.suites.grade import Seen
from monitor.suites.importers.catalogue import imported, importers
from monitor.suites.importers.imported import Imported
from monitor.suites.reading import read_suite, write_suite
from monitor.types import ToolCall

TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}


def lines(*rows: Any) -> str:
    return "".join(orjson.dumps(row).decode() + "\n" for row in rows)


def says(found: Imported, at: int, text: str) -> bool | None:
    return all(one.grade(Seen(text=text)).passed for one in found.suite.cases[at].oracles)


K2VV = lines(
    {"messages": [{"role": "_input", "content": "be"}, {"role": "user", "content": "a"}], "tools": [TOOL],
     "expected_tool_call": True, "temperature": 0.6, "max_tokens": 100, "model": "x", "seed": 3},
    {"messages": [{"role": "user", "content": "b"}], "tools": [TOOL], "expected_tool_call": False},
    {"messages": [{"role": "user", "content": "c"}], "check_type": ["repeat_n_gram"], "expected_tool_call": False},
    {"messages": [{"role": "user", "content": "d"}], "tools": [TOOL], "official_finish_reason": "stop_x"},
    {"messages": "no"}, {"data_index": 1, "response": {}, "tool_calls_valid": True},
)  # fmt: skip


def test_k2vv() -> None:
    kind, found = imported(K2VV, "k")
    assert kind == "k2vv"
    first, second, _third, fourth = found.suite.cases
    assert first.messages[0]["role"] == "system"
    assert first.parameters == {"max_tokens": 100, "temperature": 0.6}
    assert [one.oracles[0].kind for one in (first, second)] == ["tool_call", "tool_call"]
    call = ToolCall(id=None, name="f", arguments="{}")
    given = [one.oracles[0].grade(Seen(calls=(call,), tools={"f": {}})).passed for one in (first, second, fourth)]
    assert given == [True, False, False]
    assert found.counts["check_type repeat_n_gram"] == 1
    assert found.counts["result of a recorded run: not a case"] == 1
    assert len(found.unsupported) == 3


EVALS = lines(
    {"input": [{"role": "user", "content": "2+2?"}], "ideal": "4"}, {"input": "Capital?", "ideal": ["Paris (F)", "P"]},
    {"input": [{"role": "user", "content": "x"}], "ideal": ""}, {"input": 3, "ideal": "x"},
)  # fmt: skip


@pytest.mark.parametrize(
    ("registry", "right", "wrong"),
    [(None, " 4.", "It is 4"), ("a:\n  class: evals.elsuite.basic.includes:Includes", "It is 4", "five"),
     ("a:\n  class: evals.elsuite.basic.fuzzy_match:FuzzyMatch", "is 4", "no")],
)  # fmt: skip
def test_openai_evals(registry: str | None, right: str, wrong: str) -> None:
    kind, found = imported(EVALS, "e", beside=registry)
    assert (kind, len(found.suite.cases)) == ("openai_evals", 2)
    assert says(found, 0, right)
    assert not says(found, 0, wrong)
    assert says(found, 1, "Paris (F)")
    assert sorted(found.counts.values()) == [1, 1]


def test_openai_evals_of_a_class_that_is_graded_by_a_model_are_not_imported() -> None:
    _, found = imported(EVALS, "e", beside="a:\n  class: evals.elsuite.modelgraded.classify:ModelBasedClassify")
    assert not found.suite.cases
    assert found.counts["eval class ModelBasedClassify"] == 2


PROMPTFOO = """
prompts:
  - "Say {{word}} in {{ language }}"
  - file://other.txt
providers: [openai:gpt]
defaultTest:
  assert: [{type: not-contains, value: sorry}]
tests:
  - description: greeting
    vars: {word: hello, language: [French, German]}
    assert:
      - {type: icontains-any, value: "bonjour, hallo"}
      - {type: regex, value: "^[A-Z]", metric: capitals}
      - {type: llm-rubric, value: is polite}
      - {type: javascript, value: "output.length > 3"}
  - vars: {word: a, language: b}
    assert: [{type: is-json, value: {type: object}}, {type: latency, threshold: 100}]
  - vars: {word: "file://x.csv", language: b}
    assert: [{type: equals, value: "{{word}}"}]
  - vars: {word: "x", language: b}
    assert: [{type: equals, value: "{{word}}!"}, {type: not-regex, value: "(?=x)"}]
  - vars: {language: b}
    assert: [{type: equals, value: x}]
  - vars: {word: "Hello {{name}}", name: Bob, language: b}
    assert: [{type: equals, value: x}]
  - vars: {word: x, language: b}
    options: {transform: "output.trim()"}
    assert: [{type: equals, value: x}]
"""


def test_promptfoo() -> None:
    kind, found = imported(PROMPTFOO, "p")
    assert kind == "promptfoo"
    french, german, as_json = found.suite.cases
    assert [one.messages[0]["content"] for one in (french, german)] == ["Say hello in French", "Say hello in German"]
    assert (french.case_id, german.case_id) == ("greeting", "greeting#2")
    assert says(found, 0, "Bonjour")
    assert not says(found, 0, "Bonjour, sorry")
    assert not says(found, 0, "bonjour")
    assert [one.kind for one in as_json.oracles] == ["contains", "json_schema"]
    assert found.counts == {
        "prompt that is a file or a function": 7, "assertion llm-rubric": 2, "assertion javascript": 2,
        "assertion latency with threshold": 1, "variable that is a file": 1, "test with transform": 1,
        "variable that holds a template itself": 1,
        "template variable that is no text: word": 1,
        next(key for key in found.counts if "look-around" in key): 1,
    }  # fmt: skip


def test_variables_without_end_are_left_out_at_once() -> None:
    values = ", ".join(f"v{at}: [1, 2, 3, 4, 5, 6, 7, 8, 9]" for at in range(30))
    text = f"prompts: [a]\ntests: [{{vars: {{{values}}}, assert: [{{type: equals, value: x}}]}}]"
    _, found = imported(text, "p")
    assert (len(found.suite.cases), len(found.unsupported)) == (0, 1)


QUESTIONS = lines(
    {"id": "simple_0", "question": [[{"role": "user", "content": "area"}]], "function": [
        {"name": "geo.area", "parameters": {"type": "dict", "required": ["base"], "properties": {
            "base": {"type": "float"}, "unit": {"type": "string"}, "type": {"type": "any"},
            "points": {"type": "tuple", "items": {"type": "int"}}}}}]},
    {"id": "irrelevance_1", "question": [[{"role": "user", "content": "hi"}]], "function": [{"name": "f"}]},
    {"id": "live_relevance_1", "question": [[{"role": "user", "content": "hi"}]], "function": [{"name": "f"}]},
    {"id": "multi_2", "question": [[{"role": "user", "content": "a"}], []], "function": [{"name": "f"}]},
    {"id": "java_0", "question": [[{"role": "user", "content": "a"}]], "function": [{"name": "f"}]},
    {"id": "simple_9", "question": [[{"role": "user", "content": "a"}]], "function": [{"name": "f"}]},
)  # fmt: skip
TRUTH = lines({"id": "simple_0", "ground_truth": [{"geo.area": {"base": [10, 10.0], "unit": ["units", ""]}}]})


def test_bfcl() -> None:
    kind, found = imported(QUESTIONS, "b", beside=TRUTH)
    assert kind == "bfcl"
    simple, irrelevant, relevant = found.suite.cases
    function = simple.tools[0]["function"]
    assert function["name"] == "geo_area"
    schema = function["parameters"]
    assert schema["type"] == "object"
    assert schema["properties"] == {
        "base": {"type": "number"}, "unit": {"type": "string"}, "type": {},
        "points": {"type": "array", "items": {"type": "integer"}},
    }  # fmt: skip
    grade = simple.oracles[0].grade
    for text, why in (('{"base": 10}', None), ('{"base": 10, "unit": "Units"}', None), ('{"base": 9}', "wrong_value"),
                      ('{"unit": "units"}', "missing_argument")):  # fmt: skip
        assert grade(Seen(calls=(ToolCall(id=None, name="geo_area", arguments=text),))).why == why
    assert irrelevant.oracles[0].grade(Seen()).passed
    assert not relevant.oracles[0].grade(Seen()).passed
    left = ["several turns", "language java", "no ground truth, or one that is no list of calls"]
    assert found.counts == dict.fromkeys(left, 1)


def test_bfcl_in_one_file_is_the_same() -> None:
    assert imported(QUESTIONS + TRUTH, "b")[1].suite == imported(QUESTIONS, "b", beside=TRUTH)[1].suite


def test_inspect() -> None:
    text = orjson.dumps([
        {"id": 7, "input": "2+2?", "target": "4"}, {"input": [{"role": "user", "content": "x"}], "target": ["a", "b"]},
        {"input": "x", "target": "A", "choices": ["one", "two"]}, {"input": "x", "target": "A", "files": {"a": "b"}},
        {"input": "x", "target": ""},
    ]).decode()  # fmt: skip
    kind, found = imported(text, "i")
    assert (kind, [one.case_id for one in found.suite.cases]) == ("inspect", ["7", "2"])
    assert says(found, 1, "It is B.")
    assert len(found.unsupported) == 3


def test_inspect_as_a_table() -> None:
    # Oracle: the rows as Inspect's csv_dataset reads them; a broken row and one that is too long are counted.
    text = (
        '\ufeffinput,target,id,choices\r\n"What is\n2, or 3?",2,first,\r\nsay x,x,,\r\nA or B?,A,c,"one,two"\r\n'
        ',,,\r\na,b,c,d,e\r\n,x,,\r\nbad "quote" here,"x"y,,\r\nlast,z,,'
    )
    kind, found = imported(text, "i")
    assert (kind, [one.case_id for one in found.suite.cases]) == ("inspect", ["first", "2", "3"])
    assert found.suite.cases[0].messages[0]["content"] == "What is\n2, or 3?"
    assert says(found, 2, "It is Z.")
    assert found.counts == {"sample with choices": 1, "row with more cells than the head": 1,
                            "sample without `input`": 1, "row that is not CSV": 1}  # fmt: skip
    assert imported("input,target\nx,y", "i", form="inspect")[1].suite.cases[0].case_id == "1"


TASK = """
task: mine
output_type: generate_until
dataset_path: json
dataset_kwargs: {data_files: docs.jsonl}
doc_to_text: "Q: {{question}}\\nA:"
doc_to_target: answer
generation_kwargs: {until: ["\\n"], max_gen_toks: 20, temperature: 0.0}
metric_list: [{metric: exact_match, ignore_case: true}]
"""


def test_lm_eval() -> None:
    docs = lines({"question": "2+2", "answer": 4, "id": "x"}, {"question": "?"}, {"question": [], "answer": "a"})
    kind, found = imported(TASK, "l", beside=docs)
    assert (kind, len(found.suite.cases), len(found.unsupported)) == ("lm_eval", 1, 2)
    (case,) = found.suite.cases
    assert (case.case_id, case.messages[0]["content"]) == ("x", "Q: 2+2\nA:")
    assert case.parameters == {"max_tokens": 20, "temperature": 0.0, "stop": ["\n"]}
    assert says(found, 0, " 4 ")


@pytest.mark.parametrize(
    ("line", "what"),
    [("output_type: loglikelihood", "output_type loglikelihood"),
     ("doc_to_target: !function x.y", "doc_to_target: !function"),
     ("filter_list: [{name: x}]", "filter_list"), ("num_fewshot: 3", "num_fewshot"),
     ("metric_list: [{metric: bleu}]", "metric bleu")],
)  # fmt: skip
def test_what_lm_eval_computes_otherwise_is_left_out(line: str, what: str) -> None:
    key = line.partition(":")[0]
    text = "\n".join(one for one in TASK.splitlines() if not one.startswith(key)) + f"\n{line}\n"
    _, found = imported(text, "l", beside=lines({"question": "a", "answer": "b"}))
    assert (len(found.suite.cases), found.counts) == (0, {what: 1})


def test_all_that_lm_eval_computes_otherwise_is_told_at_once() -> None:
    """Oracle: a filter, another metric, two unknown options and no documents: five things in one look."""
    text = TASK.replace("exact_match, ignore_case: true", "bleu").replace("{until", "{num_beams: 3, x: 1, until")
    _, found = imported(text + "filter_list: [{name: x}]\n", "l")
    assert list(found.counts) == [
        "filter_list", "metric bleu", "generation_kwargs with num_beams, x",
        "documents: give the file that dataset_kwargs names with --with",
    ]  # fmt: skip


def test_a_k2vv_row_whose_messages_are_no_list_is_told_so() -> None:
    kind, found = imported('{"messages": "x", "expected_tool_call": true}', "k")
    assert (kind, found.counts) == ("k2vv", {"row that is no request: `messages` must be a list of objects": 1})


@pytest.mark.parametrize(("providers", "cases"), [
    ("[{id: a, config: {tools: [%s]}}, {id: b, config: {tools: [%s]}}]", 1), ("[{id: a, config: {tools: [%s]}}, b]", 0),
    ("[{id: a, config: {tools: file://x.json}}]", 0), ("openai:gpt", 0), ("[]", 0),
])  # fmt: skip
def test_promptfoo_calls_need_tools_that_all_providers_have(providers: str, cases: int) -> None:
    """Oracle: a call to a function that was never declared cannot be right."""
    tool = orjson.dumps(TOOL).decode()
    tests = "tests: [{vars: {}, assert: [{type: is-valid-openai-tools-call}]}]"
    text = f"prompts: [a]\nproviders: {providers.replace('%s', tool)}\n{tests}\n"
    _, found = imported(text, "p")
    assert len(found.suite.cases) == cases
    assert [one.tools for one in found.suite.cases] == [(TOOL,)] * cases
    assert any("without `config.tools`" in what for what in found.counts) == (not cases)


def test_every_format_has_a_test_here_and_is_told_apart() -> None:
    texts = {"k2vv": K2VV, "openai_evals": EVALS, "promptfoo": PROMPTFOO, "bfcl": QUESTIONS, "lm_eval": TASK,
             "inspect": lines({"input": "a", "target": "b"})}  # fmt: skip
    assert texts.keys() == importers().keys()
    for kind, text in texts.items():
        assert [name for name, one in importers().items() if one.recognises(text)] == [kind]


@pytest.mark.parametrize(("text", "beside"), [
    (K2VV, None), (EVALS, None), (PROMPTFOO, None), (QUESTIONS + TRUTH, None),
    (TASK, lines({"question": "1 + 1?", "answer": "2"}, {"question": "Wo?", "answer": "zu Köln"})),
    (lines({"input": "1 + 1?", "target": "2", "id": 7}, {"input": "Wo?", "target": ["Köln", "Bonn"]}), None),
])  # fmt: skip
def test_what_was_imported_reads_back_the_same(text: str, beside: str | None) -> None:
    found = imported(text, "n", beside=beside)[1]
    assert found.suite.cases
    assert read_suite(write_suite(found.suite), "a.jsonl", name="n") == found.suite


NONE = ["", "x", "[1]", "{}", '{"input": 1', "tests: [*a]", "[" * 900, '{"prompts": [], "tests": 3}']


@pytest.mark.parametrize("text", NONE)
def test_what_is_no_suite_is_refused_in_words(text: str) -> None:
    for form in ("auto", *importers()):
        try:
            _, found = imported(text, "n", form=form)
        except WeighmasterError as error:
            assert isinstance(error, UsageError)  # noqa: PT017  # both ways are fine
        else:
            assert not found.suite.cases


def test_nothing_in_a_suite_is_executed(tmp_path: Path) -> None:
    """Templates, tags and assertions that would write a file if anything ran them."""
    trap = tmp_path / "executed"
    code = f"open('{trap}', 'w').close()"
    texts = [
        PROMPTFOO.replace("output.length > 3", code).replace("{{word}}", "{{ ().__class__ }}", 1),
        TASK.replace("answer\n", f"!function {code}\n", 1),
        f"task: !!python/object/apply:os.system ['touch {trap}']\ndoc_to_text: a",
        TASK.replace("{{question}}", "{% for x in cycler.__init__.__globals__ %}x{% endfor %}"),
    ]
    for text in texts:
        for form in ("auto", "promptfoo", "lm_eval"):
            try:
                imported(text, "n", form=form, beside=None if form != "lm_eval" else lines({"question": "a"}))
            except UsageError:
                continue
    assert not trap.exists()


def test_the_command_counts_what_it_left_out_and_lists_it_when_asked(tmp_path: Path) -> None:
    path, out = tmp_path / "p.yaml", tmp_path / "own.jsonl"
    path.write_text(PROMPTFOO)
    command = ["suite", "import", str(path), "--out", str(out)]
    short = CliRunner().invoke(build(), command)
    assert short.exit_code == 0
    assert "2 x assertion javascript" in short.stdout
    assert "tests[0]: assertion" not in short.stdout
    listed = CliRunner().invoke(build(), [*command, "--report-unsupported"])
    assert "prompts[0] x tests[0]: assertion javascript" in listed.stdout
    again = CliRunner().invoke(build(), ["suite", "import", str(out), "--out", str(tmp_path / "b.jsonl"), "--json"])
    assert orjson.loads(again.stdout)["cases"] == 3
