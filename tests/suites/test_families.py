"""Generated cases: the right answer passes, a wrong one fails, instances are fresh, repeatable and secret."""

import random
import re
from typing import Any

import orjson
import pytest

from jobs.suite_levels import Level, suite_of
from monitor.suites.case import Generated, SuiteCase
from monitor.suites.families.catalogue import families, instances
from monitor.suites.grade import Seen, joined
from monitor.suites.oracles.contains import Contains
from monitor.suites.oracles.exact import Exact
from monitor.suites.oracles.json_schema import JsonSchema
from monitor.suites.oracles.numeric import Numeric
from monitor.suites.oracles.tool_call import ToolCalls
from monitor.suites.reading import named, read_suite, write_suite
from monitor.types import ToolCall

EVERY = [(kind, level) for kind, one in families().items() for level in range(1, one.levels + 1)]
SENTENCES = {
    "German": "Das Meer ist sehr blau und tief.", "French": "La mer est bleue et calme.",
    "Spanish": "El mar es azul y la casa es de Ana.", "Russian": "\u041c\u043e\u0440\u0435",
    "Greek": "\u03b1\u03b2\u03b3", "Chinese": "\u5927\u6d77", "Arabic": "\u0628\u062d\u0631",
}  # fmt: skip


def made(kind: str, level: int, *, n: int = 20, secret: bytes = b"s", run: str = "1") -> tuple[SuiteCase, ...]:
    return instances([Generated(family=kind, n=n, level=level)], secret, run)


def right(case: SuiteCase) -> Seen:
    """The right answer, made from the oracle alone."""
    oracle: Any = case.oracles[0]
    if isinstance(oracle, Exact):
        return Seen(text=oracle.value if isinstance(oracle.value, str) else oracle.value[0])
    if isinstance(oracle, Contains):
        return Seen(text=f"It is {oracle.all[0]}.")
    if isinstance(oracle, Numeric):
        return Seen(text=f"{oracle.value:.0f}")
    if isinstance(oracle, JsonSchema):
        said = {key: one["const"] for key, one in oracle.schema["properties"].items()}
        return Seen(text=orjson.dumps(said).decode())
    if isinstance(oracle, ToolCalls):
        call = oracle.calls[0]
        said = {key: some[0] for key, some in (call.arguments or {}).items()}
        return Seen(calls=(ToolCall(id=None, name=call.name, arguments=orjson.dumps(said).decode()),))
    asked = re.search(r"sentence in (\w+)", str(case.messages[-1]["content"]))
    assert asked
    return Seen(text=SENTENCES[asked[1]])


@pytest.mark.parametrize(("kind", "level"), EVERY)
def test_the_right_answer_passes_and_others_do_not(kind: str, level: int) -> None:
    cases = made(kind, level)
    for case in cases:
        assert all(one.problem is None for one in case.oracles)
        assert joined([one.grade(right(case)) for one in case.oracles]).passed
        for text in ("", "I cannot help with that.", "the answer is what it was, and you are with it"):
            assert not joined([one.grade(Seen(text=text)) for one in case.oracles]).passed
    suite = named("s", cases)
    assert read_suite(write_suite(suite), "a.jsonl", name="s").sha256 == suite.sha256


@pytest.mark.parametrize(("kind", "level"), EVERY)
def test_the_answer_to_one_instance_is_not_the_answer_to_another(kind: str, level: int) -> None:
    """An endpoint that has learnt the answers of one run fails in the next (languages have few answers)."""
    if kind == "language":
        return
    first, second = made(kind, level, run="1"), made(kind, level, run="2")
    learnt = [right(case) for case in first]
    passed = sum(
        joined([one.grade(answer) for one in case.oracles]).passed is True
        for case, answer in zip(second, learnt, strict=True)
    )
    assert passed <= 6


def test_instances_follow_from_the_secret_and_the_run_alone() -> None:
    assert made("copying", 2) == made("copying", 2)
    texts = [case.messages[-1]["content"] for run, secret in (("1", b"s"), ("2", b"s"), ("1", b"t"))
             for case in made("copying", 2, run=run, secret=secret)]  # fmt: skip
    assert len(set(texts)) == len(texts)


def test_tools_of_routing_carry_names_that_cannot_be_known() -> None:
    names = {tool["function"]["name"] for case in made("routing", 1) for tool in case.tools}
    assert len(names) >= 19
    assert all(len(case.tools) == 8 for case in made("routing", 4))


def test_families_make_nothing_at_random_but_by_their_rng() -> None:
    for kind, level in EVERY:
        first, second = (families()[kind].make(random.Random(5), level) for _ in range(2))
        assert first == second


def test_a_level_fits_where_golden_passes_60_to_95_percent_and_cases_are_dealt_evenly() -> None:
    assert [Level(family="a", level=1, k=k, n=20).fits for k in (11, 12, 19, 20)] == [False, True, True, False]
    suite = suite_of([Level(family=name, level=2, k=15, n=20) for name in ("copying", "tables", "needle")], 10, 2)
    assert [one["n"] for one in suite["generated"]] == [4, 3, 3]
    assert {one["repeats"] for one in suite["generated"]} == {2}
