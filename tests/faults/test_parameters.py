"""The probe and the detector `parameters`. Oracle: what the played endpoint was told to ignore or to refuse."""

import asyncio
from typing import Any

import numpy as np
import pytest

from monitor.capabilities import FEATURES, OF_ALL, capabilities
from monitor.detectors.parameters import _LAYERS, CORE, ParametersKept
from monitor.results import Evidence, Verdict
from monitor.types import Exchange
from probes.parameters import Parameters, observe
from tests.detectors.made import AT
from tests.faults.honest import Honest, evidence_of, measured

ALL = [*FEATURES, *OF_ALL]


async def standings(ignores: frozenset[str] = frozenset()) -> dict[str, str]:
    record = await measured(Honest(ignores=ignores))
    return {name: one.standing for name, one in capabilities(record.exchanges).items()}


def judge(evidence: Evidence) -> Verdict:
    return ParametersKept().run(evidence, at=AT, rng=np.random.default_rng(0))


async def test_an_honest_endpoint_keeps_all() -> None:
    assert await standings() == dict.fromkeys(ALL, "kept")
    assert set(_LAYERS) == set(ALL)


@pytest.mark.parametrize("feature", [name for name in ALL if name != "temperature"])
async def test_exactly_what_is_ignored_is_told(feature: str) -> None:
    assert await standings(ignores=frozenset({feature})) == {**dict.fromkeys(ALL, "kept"), feature: "ignored"}


async def test_a_temperature_that_is_always_0_or_never() -> None:
    """Without draws nothing can be said of the seed and the nucleus; without greed both fail too."""
    always = await standings(ignores=frozenset({"temperature"}))
    assert (always["temperature"], always["seed"], always["top_p"]) == ("ignored", "unknown", "unknown")
    never = await standings(ignores=frozenset({"temperature_0", "seed"}))
    assert never["temperature"] == "ignored"
    assert {name for name, standing in always.items() if standing != "kept"} == {"temperature", "seed", "top_p"}


@pytest.mark.parametrize(
    ("field", "features"),
    [
        ("n", {"n"}),
        ("logprobs", {"logprobs"}),
        ("response_format", {"json_object", "json_schema"}),
        ("reasoning_effort", {"reasoning_effort"}),
        ("parallel_tool_calls", {"parallel_tool_calls"}),
        ("tool_choice", {"tool_choice_none", "tool_choice_required", "tool_choice_named"}),
    ],
)
async def test_refusing_is_a_capability_and_no_failure(field: str, features: set[str]) -> None:
    record = await measured(Honest(refuses=frozenset({field})))
    told = capabilities(record.exchanges)
    assert {name for name, one in told.items() if one.standing == "refused"} == features
    assert judge(evidence_of(record)).status == "pass"


async def test_the_verdict_holds_the_matrix() -> None:
    one = judge(evidence_of(await measured(Honest(ignores=frozenset({"n"})))))
    assert (one.status, one.cause) == ("pass", None)
    assert one.details["capabilities"] == {**dict.fromkeys(ALL, "kept"), "n": "ignored"}
    assert one.details["why"]["n"] == "1 choices, 2 asked for"
    assert (one.n, one.details["k"]) == (17, 16)
    assert "ignored: n" in one.reason


@pytest.mark.parametrize("feature", sorted(CORE))
async def test_ignoring_what_programs_rely_on_fails(feature: str) -> None:
    one = judge(evidence_of(await measured(Honest(ignores=frozenset({feature})))))
    assert (one.status, one.cause) == ("fail", _LAYERS[feature])
    assert f"{feature} is ignored" in one.reason


@pytest.mark.parametrize("given", [Honest(ignores=frozenset({"n"})), Honest(refuses=frozenset({"n"}))])
async def test_what_worked_before_and_does_not_now_fails(given: Honest) -> None:
    history = [await measured(Honest(), seed=seed) for seed in range(3)]
    one = judge(evidence_of(await measured(given), *history))
    assert (one.status, one.cause, one.details["lost"]) == ("fail", "engine", ["n"])
    never = [await measured(given, seed=seed) for seed in range(3)]
    assert judge(evidence_of(await measured(given), *never)).status == "pass"


async def test_the_verdict_says_of_how_many_earlier_runs_it_made_use() -> None:
    """A service without other detectors that look back gives it as many runs as it asks for itself."""
    history = [await measured(Honest(), seed=seed) for seed in range(2)]
    now = await measured(Honest(), seed=7)
    assert judge(evidence_of(now, *history)).details["n_before"] == 2
    assert judge(evidence_of(now)).details["n_before"] == 0
    assert ParametersKept.looks_back >= 2


async def test_a_model_that_does_not_do_as_told_is_unknown() -> None:
    """Controls: what the model would not have done anyway says nothing of the parameter."""

    class Mute(Honest):
        def _text(self, request: object) -> str:
            return "Well."

        def _calls(self, request: object) -> list[dict[str, object]]:
            return []

    record = await measured(Mute())
    told = {name: one.standing for name, one in capabilities(record.exchanges).items()}
    calling = {"parallel_tool_calls", "tool_choice_none"}
    unknown = {"max_tokens", "stop", "temperature", "top_p", "seed", "context", *calling}
    assert {name for name, standing in told.items() if standing == "unknown"} == unknown


def cut_answer(words: int, counted: int | None) -> dict[str, Any]:
    usage = None if counted is None else {"prompt_tokens": 9, "completion_tokens": counted}
    made = {"message": {"content": " ".join(["sea"] * words)}, "finish_reason": "length"}
    return {"model": "model", "choices": [{"index": 0, **made}], "usage": usage}


@pytest.mark.parametrize(
    ("words", "counted", "standing"),
    [(200, 16, "ignored"), (200, None, "ignored"), (2, 2, "ignored"), (12, 16, "kept"), (12, None, "kept"),
     (24, None, "unknown"), (1, None, "unknown")],
)  # fmt: skip
async def test_a_cap_is_kept_when_the_answer_is_as_long(words: int, counted: int | None, standing: str) -> None:
    class Cutting(Honest):
        def _answer(self, request: Any) -> dict[str, Any]:
            return cut_answer(words, counted) if request.prompt_id.startswith("max_tok") else super()._answer(request)

    record = await measured(Cutting())
    assert capabilities(record.exchanges)["max_tokens"].standing == standing


@pytest.mark.parametrize("words", ["", "Hello.", "1, 2"])
async def test_an_answer_that_never_reaches_the_stop_text_shows_nothing(words: str) -> None:
    class Short(Honest):
        def _text(self, request: Any) -> str:
            return words if "stop" in request.extra else super()._text(request)

    record = await measured(Short())
    assert capabilities(record.exchanges)["stop"].standing == "unknown"


async def test_a_call_in_the_text_is_one_where_none_is_allowed() -> None:
    class Leaking(Honest):
        def _text(self, request: Any) -> str:
            call = '<tool_call>{"name": "current_weather", "arguments": {}}</tool_call>'
            return call if request.extra.get("tool_choice") == "none" else super()._text(request)

    record = await measured(Leaking())
    assert capabilities(record.exchanges)["tool_choice_none"].standing == "ignored"


async def test_fewer_alternatives_than_asked_for_are_not_what_was_asked_for() -> None:
    class Few(Honest):
        def _choice(self, request: Any) -> dict[str, Any]:
            made = super()._choice(request)
            for entry in made.get("logprobs", {}).get("content", ()):
                entry["top_logprobs"] = entry["top_logprobs"][:1]
            return made

    record = await measured(Few())
    told = capabilities(record.exchanges)["logprobs"]
    assert (told.standing, told.why) == ("ignored", "1 alternatives, 5 asked for")


async def test_what_the_cap_cuts_is_unknown() -> None:
    class Brief(Honest):
        def _choice(self, request: Any) -> dict[str, Any]:
            made = super()._choice(request)
            text = made["message"].get("content")
            cut = {"message": {"content": text[:20] if text and not request.tools else "{"}, "finish_reason": "length"}
            return cut if request.tools or "response_format" in request.extra else made

    record = await measured(Brief())
    told = {name: one for name, one in capabilities(record.exchanges).items() if one.why == "cut by the cap"}
    assert set(told) == {"json_object", "json_schema", "tool_choice_required", "tool_choice_named"}
    assert {one.standing for one in told.values()} == {"unknown"}


async def test_missing_answers_are_unknown_and_nothing_is_claimed() -> None:
    record = await measured(Honest())
    cut = [one for one in record.exchanges if one.request and not one.request.prompt_id.startswith("stop/")]
    assert capabilities(cut)["stop"].why == "not asked"
    assert judge(evidence_of(record)).status == "pass"
    nothing = Evidence(endpoint=evidence_of(record).endpoint, runs=(), exchanges=())
    assert judge(nothing).status == "inconclusive"


def test_settings_are_checked() -> None:
    with pytest.raises(ValueError, match="hot"):
        Parameters(hot=0.5)
    with pytest.raises(ValueError, match="tokens"):
        Parameters(tokens=4)


def test_the_probe_can_be_run_by_the_agent() -> None:
    """Its requests are those that it announces."""
    client = Honest()
    asyncio.run(measured(client))
    assert {one.prompt_id for one in client.asked} == {one.prompt_id for one in Parameters().requests(1)}


@pytest.mark.parametrize(
    ("refuses", "reject", "accept"),
    [({"temperature": {0.5}, "top_p": {0.475}, "n": {2}}, (3, 3), (3, 3)), ({"n": {1, 2}}, (1, 3), (2, 3)),
     ({}, (0, 3), (3, 3))],
)  # fmt: skip
async def test_fixed_parameters(refuses: dict[str, set[float]], reject: Any, accept: Any) -> None:
    """Oracle: the values that the played endpoint refuses. Each request says one parameter and no other."""
    probe = Parameters(fixed={"temperature": 1.0, "top_p": 0.95, "n": 1}, series=0)
    asked = [one for one in probe.requests(1) if one.prompt_id.startswith("fixed/")]
    said = [{"temperature": one.temperature, "top_p": one.top_p, **one.extra} for one in asked]
    assert [{name: value for name, value in one.items() if value is not None} for one in said] == [
        {"temperature": 1.0}, {"temperature": 0.5}, {"top_p": 0.95}, {"top_p": 0.475}, {"n": 1}, {"n": 2}]  # fmt: skip
    refused = [any(one.get(name) in values for name, values in refuses.items()) for one in said]
    answers = tuple(
        Exchange(exchange_id=str(at), run_id="r", request=one, outcome="http_4xx" if refused[at] else "ok")
        for at, one in enumerate(asked)
    )
    found = {one.metric: (one.k, one.n) for one in observe(answers)}
    assert (found["fixed_reject_rate"], found["fixed_accept_rate"]) == (reject, accept)
    assert found["fixed_error_rate"] == (0, 6)


def test_a_busy_endpoint_holds_and_breaks_no_fixed_parameter() -> None:
    asked = [one for one in Parameters(fixed={"n": 1}).requests(1) if one.prompt_id.startswith("fixed/")]
    busy = tuple(
        Exchange(exchange_id=str(at), run_id="r", request=one, outcome="http_5xx") for at, one in enumerate(asked)
    )
    found = {one.metric: (one.k, one.n, one.value) for one in observe(busy)}
    assert found["fixed_error_rate"] == (2, 2, 1.0)
    assert found["fixed_reject_rate"] == found["fixed_accept_rate"] == (None, 0, None)


@pytest.mark.parametrize("fixed", [{"max_tokens": 5}, {"temperature": float("nan")}])
def test_fixed_values_that_make_no_sense_are_refused(fixed: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="`fixed` takes numbers"):
        Parameters(fixed=fixed)
