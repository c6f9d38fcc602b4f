"""A real engine: llama.cpp with SmolLM2-135M, with a template that knows tools and with its own, which does not.

The small model calls tools only after earlier turns in which it did. Oracles: the template (tools_hermes.jinja renders
tools, the model's own drops them in silence), and the same weights in another number of bits.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from jobs.clients import http_client
from jobs.clock import SystemClock
from jobs.golden import ensure_gguf, write_variant
from monitor.detectors.tool_calls import ToolCalls
from monitor.results import Evidence, Verdict
from monitor.tools.draws import ToolDraws
from monitor.tools.graded import Graded, grade
from monitor.tools.layers import was_cut
from monitor.types import Endpoint, Exchange
from probes.heartbeat import Heartbeat
from probes.limits import Limits
from probes.run import run_probe
from probes.tool_suite import built_in
from probes.tools import Tools
from reference.template import ChatTemplate
from tests.lab.server import llama_server
from tests.tools.made import function

pytestmark = [pytest.mark.lab, pytest.mark.golden]

TEMPLATE = Path(__file__).parents[1] / "golden" / "tools" / "tools_hermes.jinja"
THERMOMETER = function(
    "read_thermometer", {"type": "object", "properties": {"station": {"type": "string"}}, "required": ["station"]}
)
TIME = function("current_time")


def turn(station: str, celsius: int) -> list[dict[str, Any]]:
    arguments = json.dumps({"station": station})
    call = {"id": f"call_{celsius}", "type": "function",
            "function": {"name": "read_thermometer", "arguments": arguments}}  # fmt: skip
    return [
        {"role": "user", "content": f"How warm is it at station {station}?"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"call_{celsius}", "content": json.dumps({"celsius": celsius})},
        {"role": "assistant", "content": f"{celsius} degrees."},
    ]


def later(station: str) -> dict[str, Any]:
    """A fourth turn, which the small model answers with a call."""
    history = [*turn("Alder", 8), *turn("Birch", 9), *turn("Cedar", 10)]
    return {"messages": [*history, {"role": "user", "content": f"How warm is it at station {station}?"}],
            "tools": [THERMOMETER], "expect": "call"}  # fmt: skip


LATER = [later(station) for station in ("Dogwood", "Hazel", "Maple", "Rowan", "Willow")]
CALLS = json.loads((TEMPLATE.parent / "q2_k_calls.json").read_text("utf-8"))


def fourth(city: str) -> dict[str, Any]:
    """After three calls that nobody answered; the broken weights begin a call here, and often write no JSON."""
    messages: list[dict[str, Any]] = []
    for at, earlier in enumerate(CALLS["earlier"]):
        called = {"name": "get_weather", "arguments": json.dumps({"city": earlier})}
        messages += [
            {"role": "user", "content": f"What is the weather in {earlier}?"},
            {"role": "assistant", "content": "",
             "tool_calls": [{"id": f"call_{at}", "type": "function", "function": called}]},
        ]  # fmt: skip
    return {"messages": [*messages, {"role": "user", "content": f"What is the weather in {city}?"}],
            "tools": [CALLS["tool"]], "max_tokens": 64, "expect": "call"}  # fmt: skip


CITIES = [fourth(city) for city in CALLS["cities"]]
CONTROL = [
    {"messages": [{"role": "user", "content": "Hello."}], "tools": tools, "max_tokens": 4}
    for tools in ([THERMOMETER], [TIME], [THERMOMETER, TIME])
]


async def asked(address: str, rows: list[dict[str, Any]], folder: Path) -> tuple[Evidence, list[Graded]]:
    suite = folder / "suite.jsonl"
    suite.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    clock = SystemClock()
    served = Endpoint(name="lab/tools", provider="lab", base_url=f"{address}/v1", model="SmolLM2-135M-Instruct")
    async with Heartbeat(clock).beating() as heartbeat:
        client = http_client(served, None, clock, heartbeat, Limits())
        record, _ = await run_probe(
            Tools(suite=str(suite), n=None, tokens=44, temperature=0.0), served, client, clock=clock, seed=1,
            vantage="test", prober_version="0", concurrency=1,
        )  # fmt: skip
        await client.aclose()
    graded = [made for one in record.exchanges if (made := grade(one)) is not None]
    return Evidence(endpoint=served, runs=(record.run,), exchanges=record.exchanges), graded


def judge(evidence: Evidence, **draws: Any) -> Verdict:
    made = Evidence(endpoint=evidence.endpoint, runs=evidence.runs, exchanges=evidence.exchanges, **draws)
    return ToolCalls(min_cases=3).run(made, at=evidence.runs[0].started_at, rng=np.random.default_rng(0))


@pytest.fixture(scope="module")
def with_tools(golden_home: Path) -> Iterator[str]:
    gguf = ensure_gguf(golden_home, "F16", print)
    with llama_server(gguf, "--template", str(TEMPLATE), "--parallel", "1") as address:
        yield address


def at_zero(graded: list[Graded]) -> dict[str, ToolDraws]:
    """Golden's draws: at temperature 0 every one is the same."""
    return {one.case.case_id: ToolDraws(calls=(len(one.calls),) * 8, sound=(True,) * 8) for one in graded}


async def test_faithful_weights_pass_and_degraded_ones_fail_against_them(
    with_tools: str, golden_home: Path, tmp_path: Path
) -> None:
    """F16 makes valid calls in both forms. The Q2_K mix never ends its answers, which F16 always does.

    Where it does begin calls, those are no calls that could be run: `schema`, with a p-value.
    """
    good, graded = await asked(with_tools, LATER, tmp_path)
    verdict = judge(good)
    assert (verdict.status, verdict.details["symptoms"]) == ("pass", {})
    assert all(one.calls and one.calls[0].valid for one in graded)
    fine, calling = await asked(with_tools, CITIES, tmp_path)
    assert judge(fine).status == "pass"
    assert all(one.calls and one.calls[0].valid for one in calling)
    golden = at_zero(graded)
    gguf = tmp_path / "q2.gguf"
    write_variant(golden_home, "Q2_K", gguf, print)
    with llama_server(gguf, "--template", str(TEMPLATE), "--parallel", "1") as address:
        bad, other = await asked(address, LATER, tmp_path)
        broken = judge((await asked(address, CITIES, tmp_path))[0], tool_draws=at_zero(calling))
    assert (broken.status, broken.cause) == ("fail", "schema")
    assert broken.p_value is not None
    assert broken.p_value <= 0.001
    assert sum(was_cut(one.exchange) for one in other) >= 8
    alone, against = judge(bad), judge(bad, tool_draws=golden)
    assert (alone.status, alone.cause) == ("inconclusive", "cut_by_limit")
    assert (against.status, against.cause) == ("fail", "content")
    assert against.p_value is not None
    assert against.p_value <= 0.001


async def test_a_template_that_drops_tools_is_caught_by_prompt_tokens(
    with_tools: str, f16_stock: str, tmp_path: Path
) -> None:
    good, _ = await asked(with_tools, CONTROL, tmp_path)
    bad, _ = await asked(f16_stock, CONTROL, tmp_path)
    assert len({prompt(one) for one in good.exchanges}) == 3
    assert len({prompt(one) for one in bad.exchanges}) == 1
    verdict = judge(bad)
    assert (verdict.status, verdict.cause) == ("fail", "template")
    assert "tools_not_in_prompt" in verdict.reason
    assert "template" not in judge(good).details["layers"]


def test_every_prompt_of_the_suite_is_rendered_as_golden_does(with_tools: str) -> None:
    """Two template engines, the same 153 prompts: what `prompt_differs` relies on."""
    golden = ChatTemplate.of(TEMPLATE.read_text("utf-8"))
    with httpx.Client(base_url=with_tools, timeout=60) as client:
        for case in built_in():
            said = {"tool_choice": case.tool_choice} if case.tool_choice else {}
            body = {"messages": case.messages, "tools": case.tools, **said}
            rendered = client.post("/apply-template", json=body).json()["prompt"]
            assert rendered == golden.render(case.messages, case.tools), case.case_id


@pytest.fixture(scope="module")
def f16_stock(golden_home: Path) -> Iterator[str]:
    with llama_server(ensure_gguf(golden_home, "F16", print), "--parallel", "1") as address:
        yield address


def prompt(exchange: Exchange) -> int:
    return int((exchange.usage or {})["prompt_tokens"])
