"""Golden's own decisions, drawn and read. Oracle: what the fake golden says, character by character."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from jobs.drawing import draw_new
from jobs.judging import evidence_of, golden_side
from jobs.tool_draws import tool_draws
from monitor.detectors.tool_calls import ToolCalls
from monitor.detectors.two_sample import TwoSample
from monitor.errors import GoldenError, TaskRefusedError
from monitor.results import RunRecord
from monitor.types import Request
from tests.detectors.made import endpoint
from tests.fakes.golden import FakeScorer, FakeTokenizer
from tests.tools.made_evidence import RUN, known_cases, tools_evidence

CALL = '<tool_call>{"name": "read_thermometer", "arguments": {"station": "Harbour-4"}}</tool_call>'
SAID = (CALL, "It is warm.", CALL.replace("station", "place"), '<tool_call>{"name": ', "x" * 256)
CASES = [one for one in known_cases() if one.case_id in {"tools/single-01", "tools/choice-none-01"}]


class Drawing(FakeScorer):
    """Says the same five things to every prompt."""

    def __init__(self, *, refuses: bool = False) -> None:
        super().__init__()
        self.asked: list[tuple[int, int]] = []
        self.refuses = refuses

    def draw(self, prompts: Sequence[Sequence[int]], *, n: int, max_tokens: int, seed: int) -> list[list[list[int]]]:
        if self.refuses:
            raise GoldenError("cannot")
        self.asked.append((len(prompts), n))
        return [[self.tokenizer.encode(text) for text in SAID] for _ in prompts]


def record(reference: str | None = "SmolLM2", temperature: float = 1.0) -> RunRecord:
    found = tools_evidence(cases=CASES).exchanges
    asked = tuple(
        replace(one, request=replace(one.request, temperature=temperature)) for one in found if one.request is not None
    )
    return RunRecord(run=replace(RUN, reference=reference), exchanges=asked, observations=())


def test_each_case_is_drawn_once_and_read_by_the_family_of_the_model() -> None:
    golden = Drawing()
    (found,) = tool_draws([record()], golden, [ToolCalls(tool_draws=5)]).items()
    name, draws = found
    assert name == "tools/single-01"
    assert golden.asked == [(1, 5)]
    # the last answer was cut before it decided, and says nothing
    assert draws.calls == (1, 0, 1, 1)
    assert draws.sound == (True, False, False, False)
    assert (draws.k, draws.n, draws.unsound, draws.n_cut) == (3, 4, 2, 1)


def test_nothing_is_drawn_that_nobody_wants_or_that_cannot_be_read() -> None:
    golden = Drawing()
    assert tool_draws([record()], golden, []) == {}
    assert tool_draws([record()], golden, [ToolCalls(tool_draws=0)]) == {}
    assert tool_draws([record(reference="unheard-of")], golden, [ToolCalls()]) == {}
    assert tool_draws([record(temperature=0.0)], golden, [ToolCalls()]) == {}
    assert tool_draws([record()], FakeScorer(), [ToolCalls()]) == {}
    assert golden.asked == []
    assert tool_draws([record()], Drawing(refuses=True), [ToolCalls()]) == {}


def test_what_was_drawn_is_not_drawn_again_and_another_prompt_is(caplog: pytest.LogCaptureFixture) -> None:
    golden, drawn = Drawing(), dict[Any, Any]()
    first = tool_draws([record()], golden, [ToolCalls(tool_draws=5)], drawn)
    assert tool_draws([record()], golden, [ToolCalls(tool_draws=5)], drawn) == first
    assert golden.asked == [(1, 5)]
    other = record()
    longer = tuple(
        replace(one, request=replace(one.request, messages=({"role": "user", "content": "Else?"},)))
        for one in other.exchanges if one.request is not None
    )  # fmt: skip
    assert tool_draws([replace(other, exchanges=longer)], golden, [ToolCalls(tool_draws=5)], drawn)
    assert golden.asked == [(1, 5), (1, 5)]
    assert not caplog.messages


def test_golden_answers_that_do_not_come_are_told_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    assert tool_draws([record()], Drawing(refuses=True), [ToolCalls(tool_draws=5)]) == {}
    assert caplog.messages == ["no golden answers to 1 prompt: cannot"]


def test_a_prompt_that_the_golden_template_refuses_costs_the_others_nothing(caplog: pytest.LogCaptureFixture) -> None:
    class Picky(FakeTokenizer):
        def prompt_ids(self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Any] = ()) -> list[int]:
            if any(one["content"] is None for one in messages):
                raise TaskRefusedError("no content")
            return super().prompt_ids(messages, tools)

    golden = Drawing()
    golden.tokenizer = Picky()
    said: dict[str, str | None] = {"later": None, "plain": "Hi."}
    asked = {
        name: Request(prompt_id=name, messages=({"role": "user", "content": text},), max_tokens=4)
        for name, text in said.items()
    }
    assert draw_new(asked, golden, 5, {}, seed=1).keys() == {"plain"}
    assert golden.asked == [(1, 5)]
    assert caplog.messages == ["no golden answers to later: no content"]


def test_detectors_of_samples_draw_nothing_for_cases() -> None:
    golden = Drawing()
    sample = RunRecord(run=replace(RUN, probe="sample", run_id="r2"), exchanges=(), observations=())
    side = golden_side([sample, record()], golden, [TwoSample(), ToolCalls(tool_draws=5)])
    assert side.samples == {}
    assert golden.asked == [(1, 5)]


def test_only_runs_of_the_probe_are_drawn_for() -> None:
    golden, other = Drawing(), record()
    assert tool_draws([replace(other, run=replace(other.run, probe="parameters"))], golden, [ToolCalls()]) == {}
    assert golden.asked == []


def test_the_judge_hands_them_to_the_detector() -> None:
    golden = golden_side([record()], Drawing(), [ToolCalls(tool_draws=5)])
    evidence = evidence_of(endpoint(), [record()], golden)
    assert evidence.tool_draws["tools/single-01"].n == 4
