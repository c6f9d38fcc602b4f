"""Behavioural kinds in the service. Oracles: what each series was made to have; what the golden engine was asked."""

import asyncio
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from jobs.golden_answers import MOST_KEPT, GoldenAnswers
from jobs.judging import evidence_of, golden_side
from jobs.tool_draws import tool_draws
from monitor.detectors.faults import Faults
from monitor.detectors.tool_calls import ToolCalls
from monitor.errors import GoldenError
from monitor.faults.behaviour import smallest_rate
from monitor.faults.catalogue import BY_NAME, CATALOGUE
from monitor.faults.paired import KINDS
from monitor.results import Evidence, RunRecord, Verdict
from monitor.types import Capture, Exchange, Read, Request
from tests.detectors.made import AT, endpoint, run_of
from tests.fakes.golden import FakeEndpoint, FakeScorer
from tests.faults.honest import Honest, Trusted, measured
from tests.faults.made import HELLO, WEATHER, said
from tests.faults.series import SERIES, N, Series

TOOLS = (WEATHER,)
RUN = replace(run_of(), probe="tools", reference="golden")


def numbered(some: tuple[Exchange, ...]) -> tuple[Exchange, ...]:
    return tuple(replace(one, exchange_id=f"r1-{at}", run_id="r1") for at, one in enumerate(some))


def judged(series: Series, *, golden: bool = True, **fields: Any) -> Verdict:
    own = numbered(series.endpoint)
    answers = {one.exchange_id: theirs for one, theirs in zip(own, series.reference, strict=True)}
    made = Evidence(endpoint=endpoint(), runs=(RUN,), exchanges=own, answers=answers if golden else {})
    return Faults(**fields).run(made, at=AT, rng=np.random.default_rng(0))


def test_all_behavioural_kinds_are_compared_here_or_by_a_calibrated_detector() -> None:
    others = {one.name: one.told_by for one in CATALOGUE if one.behavioural and one.name not in KINDS}
    assert others == {"other_model": "fidelity", "quantised": "fidelity", "cache_changes": "long_context"}


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_is_found_beside_golden_with_alpha_and_power(kind: str) -> None:
    """Each of 32 prompts shows it at the endpoint and none at golden: p = 2 ** -32."""
    one = judged(SERIES[kind])
    assert (one.status, one.cause) == ("fail", BY_NAME[kind].layer)
    told = one.details["behaviour"][kind]
    assert (told["k"], told["k_golden"], told["n"]) == (N, 0, N)
    assert told["p_value"] == pytest.approx(2.0**-N)
    assert told["mde"] == smallest_rate(N)
    assert (one.details["alpha"], one.details["power"]) == (0.001, 0.9)
    assert f"{kind} on 32 of 32 prompts, golden on 0" in one.reason


@pytest.mark.parametrize("kind", KINDS)
def test_what_golden_does_too_is_no_fault_and_without_golden_nothing_is_said(kind: str) -> None:
    both = SERIES[kind].endpoint
    same = judged(Series(both, both))
    assert same.details["behaviour"][kind]["p_value"] > 0.1
    assert same.status != "fail"
    assert "behaviour" not in judged(SERIES[kind], golden=False).details


def test_false_alarms_over_many_endpoints_that_are_golden() -> None:
    """120 runs in which a third of the answers on either side loop, at alpha 0.05: 0.05 and three standard errors."""
    loops, plain = SERIES["repetition_loop"].endpoint, SERIES["repetition_loop"].reference
    rng, alarms = np.random.default_rng(3), 0
    for _ in range(120):
        sides = [tuple(loops[at] if rng.random() < 1 / 3 else plain[at] for at in range(N)) for _ in range(2)]
        alarms += judged(Series(*sides), alpha=0.05).status == "fail"
    assert alarms / 120 <= 0.05 + 3 * (0.05 * 0.95 / 120) ** 0.5


class Answering(FakeScorer):
    """Golden weights that answer, and refuse one conversation."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = FakeEndpoint()

    async def send(self, request: Request) -> Capture:
        if request.prompt_id.startswith("p3|"):
            raise GoldenError("too long")
        return await self.inner.send(request)


def record(*, probe: str = "tools") -> RunRecord:
    """Four cases, both forms of each with one seed."""
    asked = [
        replace(HELLO, prompt_id=f"p{at}|any|{form}", seed=at, stream=form == "stream", max_tokens=8,
                messages=({"role": "user", "content": f"Weigh thing {at}."},))
        for at in range(4) for form in ("stream", "whole")
    ]  # fmt: skip
    exchanges = numbered(tuple(said("One kilo.", request=request) for request in asked))
    return RunRecord(run=replace(RUN, probe=probe), exchanges=exchanges, observations=())


async def test_golden_answers_each_case_once_and_what_it_refuses_is_told(caplog: pytest.LogCaptureFixture) -> None:
    golden, answers = Answering(), GoldenAnswers()
    found = await answers.of(record(), [Faults()], golden, {})
    assert sorted(found) == ["r1-0", "r1-2", "r1-4"], "one of both forms, and not the one that it refuses"
    assert [one.prompt_id for one in golden.inner.asked] == [f"p{at}|any|stream" for at in range(3)]
    assert not any(one.stream for one in golden.inner.asked)
    assert all(one.answered and one.choice.content for one in found.values())
    assert caplog.messages == ["golden does not answer 1 of 4 requests; first p3|any|stream: too long"]
    assert await answers.of(record(), [Faults()], golden, {}) == found
    assert len(golden.inner.asked) == 3, "what it answered once it is not asked again"


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b'{"error": {"message": "full"}}', b'{"choices": []}', b'{"choices": 3}']
)
@pytest.mark.parametrize("status", [200, 503])
async def test_a_golden_server_that_answers_nonsense_is_left_out(status: int, body: bytes) -> None:
    class Odd(FakeScorer):
        async def send(self, request: Request) -> Capture:
            return Capture(request=request, status=status, reads=(Read(1, body),), t0_ns=0, eof_ns=2)

    made = record()
    run = replace(made.run, model="Qwen/Qwen3-8B")
    tools = tuple(replace(one, request=replace(one.request, tools=(WEATHER,))) for one in made.exchanges if one.request)
    found = await GoldenAnswers().of(replace(made, run=run, exchanges=tools), [Faults()], Odd(), {})
    assert not any(one.answered for one in found.values())
    side = replace(golden_side([made], None, ()), answers=found)
    one = Faults().run(evidence_of(endpoint(), [made], side), at=AT, rng=np.random.default_rng(0))
    assert "behaviour" not in one.details


class Drawing(Answering):
    """Golden weights that draw too: three answers to each prompt, the first of which calls."""

    def draw(self, prompts: Any, *, n: int, max_tokens: int, seed: int) -> list[list[list[int]]]:
        call = '<tool_call>{"name": "get_weather", "arguments": {"city": "Oslo"}}</tool_call>'
        return [[self.tokenizer.encode(text) for text in (call, "No.", "Hm.")[:n]] for _ in prompts]


async def test_what_golden_draws_for_decisions_is_its_answer_and_forced_calls_are_left_out() -> None:
    made = record()
    plan = [{}, {"tool_choice": "auto"}, {"tool_choice": "required"}, {}]
    asked = tuple(
        replace(one, request=replace(one.request, tools=TOOLS, temperature=1.0, max_tokens=99, extra=plan[at // 2]))
        for at, one in enumerate(made.exchanges) if one.request
    )
    golden, drawn = Drawing(), dict[Any, Any]()
    run = replace(made.run, model="Qwen/Qwen3-8B")
    of = replace(made, run=run, exchanges=asked)
    found = await GoldenAnswers().of(of, [Faults(), ToolCalls(tool_draws=3)], golden, drawn)
    assert sorted(found) == ["r1-0", "r1-2", "r1-6"]
    assert [call.name for call in found["r1-0"].choice.tool_calls] == ["get_weather"]
    assert (found["r1-0"].outcome, golden.inner.asked) == ("ok", [])
    before = dict(drawn)
    assert tool_draws([of], golden, [ToolCalls(tool_draws=3)], drawn)
    assert drawn == before, "drawn once for both detectors"


PARAMETERS = {
    "stop": "stop_ignored", "temperature": "sampling_ignored", "reasoning_effort": "effort_ignored",
    "max_tokens": "cap_ignored",
}  # fmt: skip


async def beside_golden(client: Honest, dialect: str | None = None) -> Verdict:
    made = await measured(client)
    found = await GoldenAnswers().of(made, [Faults()], Trusted(), {})
    side = replace(golden_side([made], None, ()), answers=found)
    at = replace(endpoint(), dialect=dialect)
    return Faults().run(evidence_of(at, [made], side), at=AT, rng=np.random.default_rng(0))


@pytest.mark.parametrize(("feature", "kind"), PARAMETERS.items())
async def test_parameters_that_are_ignored_are_found_beside_golden(feature: str, kind: str) -> None:
    """From the probe itself: its series are long enough for alpha 0.001, and the verdict states alpha and power."""
    one = await beside_golden(Honest(ignores=frozenset({feature})))
    assert (one.status, one.cause) == ("fail", BY_NAME[kind].layer)
    told = one.details["behaviour"][kind]
    assert told["k_golden"] == 0
    assert told["k"] >= 10
    assert told["p_value"] <= one.details["alpha"] == 0.001
    assert told["mde"] == pytest.approx(smallest_rate(told["n"]))
    found = {name for name, each in one.details["behaviour"].items() if each["p_value"] <= 0.001}
    assert found == {kind}


async def test_an_endpoint_that_keeps_its_parameters_is_clean_beside_golden() -> None:
    one = await beside_golden(Honest())
    assert one.status == "pass"
    told = {name: (each["k"], each["n"]) for name, each in one.details["behaviour"].items()}
    assert (told["stop_ignored"], told["effort_ignored"]) == ((0, 13), (0, 14))


async def test_a_policy_makes_a_note_of_a_behavioural_kind() -> None:
    """DeepSeek documents that thinking takes no temperature."""
    one = await beside_golden(Honest(ignores=frozenset({"temperature"})), "deepseek")
    assert one.details["profile"] == "deepseek"
    assert one.details["notes"]["sampling_ignored"] >= 10
    assert "sampling_ignored" not in one.reason


async def test_golden_is_not_asked_for_what_nobody_compares() -> None:
    golden = Answering()
    for detectors, kind, scorer in (
        ([], "tools", golden), ([Faults(paired=())], "tools", golden), ([Faults()], "speed", golden),
        ([Faults()], "tools", FakeScorer()), ([Faults()], "tools", None),
    ):  # fmt: skip
        assert await GoldenAnswers().of(record(probe=kind), detectors, scorer, {}) == {}
    assert golden.inner.asked == []


async def test_only_so_many_answers_are_kept() -> None:
    answers, one = GoldenAnswers(), said("x")
    for at in range(MOST_KEPT + 5):
        answers._keep(str(at), one)
    assert len(answers._known) == MOST_KEPT
    assert "4" not in answers._known


def test_the_evidence_brings_golden_and_endpoint_together() -> None:
    made = record()
    found = asyncio.run(GoldenAnswers().of(made, [Faults()], Answering(), {}))
    side = replace(golden_side([made], None, ()), answers=found)
    one = Faults().run(evidence_of(endpoint(), [made], side), at=AT, rng=np.random.default_rng(0))
    assert one.details["behaviour"]["cap_ignored"]["n"] == 3
    assert one.status == "pass"
