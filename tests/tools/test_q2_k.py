"""Weights that begin calls and never end them, on recorded answers of a real engine.

The file is tests/golden/tools/q2_k_calls.json, recorded from llama.cpp.
Oracles: `json` of the standard library on the recorded arguments; the same weights in full precision, which end all of
their calls within the same limit.
"""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from monitor.detectors.tool_calls import ToolCalls
from monitor.results import Evidence, Verdict
from monitor.tools.case import Case
from monitor.tools.draws import ToolDraws
from monitor.tools.graded import Graded, grade
from monitor.tools.layers import was_cut
from monitor.types import Capture, Exchange, Read
from monitor.wire.dispatch import decode
from tests.detectors.made import AT, endpoint
from tests.tools.made_evidence import RUN

RECORDED: dict[str, Any] = json.loads(
    (Path(__file__).parents[1] / "golden" / "tools" / "q2_k_calls.json").read_text("utf-8")
)


def exchanges(engine: str) -> tuple[Exchange, ...]:
    """The recorded bodies as answers to the cases that were asked."""
    made = []
    for at, (city, body) in enumerate(zip(RECORDED["cities"], RECORDED["answers"][engine], strict=True)):
        content = ({"role": "user", "content": f"What is the weather in {city}?"},)
        case = Case(case_id=f"weather/{city}", messages=content, tools=(RECORDED["tool"],), expect="call")
        request = case.request("whole", max_tokens=64, temperature=0.0)
        capture = Capture(
            request=request, status=200, headers=(("content-type", "application/json"),),
            reads=(Read(1, orjson.dumps(body)),), sent=orjson.dumps({"max_tokens": 64}), t0_ns=0, eof_ns=2,
        )  # fmt: skip
        made.append(replace(decode(capture), exchange_id=f"{engine}-{at}", run_id=RUN.run_id))
    return tuple(made)


def graded(engine: str) -> list[Graded]:
    return [one for exchange in exchanges(engine) if (one := grade(exchange)) is not None]


def judged(engine: str, draws: dict[str, ToolDraws] | None = None) -> Verdict:
    made = Evidence(endpoint=endpoint(), runs=(RUN,), exchanges=exchanges(engine), tool_draws=draws or {})
    return ToolCalls().run(made, at=AT, rng=np.random.default_rng(0))


def golden() -> dict[str, ToolDraws]:
    """The full weights' own answers; at temperature 0 every draw is the same one."""
    return {one.case.case_id: ToolDraws(calls=(len(one.calls),) * 8, sound=(True,) * 8) for one in graded("f16")}


def is_json(text: str) -> bool:
    try:
        json.loads(text)
    except json.JSONDecodeError:
        return False
    return True


def test_the_recorded_weights_break_half_of_their_calls_and_the_limit_hides_it() -> None:
    """Every answer ends by length, so that alone nobody is blamed for what lacks in it."""
    bad, good = graded("q2_k"), graded("f16")
    broken = [one for one in bad if not is_json(one.exchange.choice.tool_calls[0].arguments)]
    assert (len(bad), len(broken), sum(was_cut(one.exchange) for one in bad)) == (10, 5, 10)
    assert not any(one.faults for one in bad)
    assert all(is_json(one.exchange.choice.tool_calls[0].arguments) for one in good)
    alone = judged("q2_k")
    assert (alone.status, alone.cause) == ("inconclusive", "cut_by_limit")
    assert judged("f16").status == "pass"


def test_against_golden_calls_that_never_end_fail_as_schema_with_a_p_value() -> None:
    """Under the null one of nine answers to a case is the endpoint's: (1/9)^5 for all five broken ones, two-sided."""
    one = judged("q2_k", golden())
    assert (one.status, one.cause) == ("fail", "schema")
    assert one.p_value is not None
    assert one.p_value <= 0.001
    assert one.details["p_schema"] == one.p_value
    assert one.details["unsound_excess"] == 0.5
    assert "the token limit cut within themselves: +50% against golden's (p 0.0001)" in one.reason
    assert "no fault" not in one.reason
    assert "content" not in one.details["layers"]
    own = judged("f16", golden())
    assert (own.status, own.details["unsound_excess"]) == ("pass", 0.0)


def test_golden_that_breaks_as_many_calls_is_no_worse() -> None:
    half = {name: ToolDraws(calls=(1,) * 8, sound=(True, False) * 4) for name in golden()}
    one = judged("q2_k", half)
    assert (one.status, one.cause) == ("inconclusive", "cut_by_limit")
