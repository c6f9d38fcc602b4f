"""Whatever an endpoint sends, grading it raises nothing. Oracle: none but that, and that counts stay counts."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.codec import decode as from_json
from monitor.codec import encode
from monitor.detectors.tool_calls import ToolCalls
from monitor.results import Evidence, Verdict
from monitor.tools.case import Case
from monitor.tools.graded import grade
from monitor.tools.summary import summary
from monitor.wire.dispatch import decode
from tests.detectors.made import AT, endpoint
from tests.tools.made import call, called, captured, case, frame, function, graded, names, streamed
from tests.tools.made_evidence import RUN

ODD: list[Any] = [None, 5, True, [], {}, "", "x" * 3000, {"a": {"b": []}}, "\ufffd", "[" * 400]
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=8) | st.sampled_from(ODD),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["id", "name", "function", "index",
        "arguments", "tool_calls", "content", "delta", "finish_reason"]), inner, max_size=4), max_leaves=10,
)  # fmt: skip


@settings(max_examples=80, deadline=None)
@given(calls=st.lists(json_values, max_size=4), finish=st.sampled_from(["stop", "tool_calls", "length", "", "odd"]))
def test_any_calls(calls: list[Any], finish: str) -> None:
    made = graded([*(frame({"tool_calls": [one]}) for one in calls), frame({}, finish)])
    document = summary([made], model="m")
    assert all(row["k"] is None or 0 <= row["k"] <= row["n"] for row in document["metrics"])


@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_any_damage_to_the_bytes(data: st.DataObject) -> None:
    body = bytearray(streamed(called(call(), call(id="b"))))
    for at in data.draw(st.lists(st.integers(0, len(body) - 1), max_size=6)):
        body[at] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(body)))
    assert grade(decode(captured(bytes(body[:cut]), case()))) is not None


@settings(max_examples=60, deadline=None)
@given(parameters=json_values, arguments=st.text(alphabet='{}[]",:1ax ', max_size=20))
def test_any_schema_and_any_arguments(parameters: Any, arguments: str) -> None:
    made = graded(called(call(arguments=arguments)), case(function("get_weather", parameters)))
    assert isinstance(names(made), list)


@pytest.mark.parametrize("tools", [({},), ({"function": 5},), ({"function": {"name": 5}},), ({"type": "web_search"},)])
def test_odd_tools_of_the_suite(tools: tuple[dict[str, Any], ...]) -> None:
    asked = Case(case_id="c", messages=({"role": "user"},), tools=tools)
    assert names(graded(called(call()), asked)) == ["decision:undeclared_tool"]


def test_a_verdict_on_nonsense_is_a_verdict() -> None:
    requests = [case(case_id=f"c{at}").request("stream", max_tokens=9, temperature=None) for at in range(12)]
    bodies = [streamed([frame({"tool_calls": [odd]}), frame({}, "stop")]) for odd in (*ODD, *ODD[:2])]
    exchanges = tuple(
        decode(captured(body, case(case_id=request.prompt_id))) for body, request in zip(bodies, requests, strict=True)
    )
    runs = tuple(replace(one, run_id="r1", exchange_id=str(at)) for at, one in enumerate(exchanges))
    found = ToolCalls(min_cases=1).run(
        Evidence(endpoint=endpoint(), runs=(RUN,), exchanges=runs), at=AT, rng=np.random.default_rng(0)
    )
    assert from_json(Verdict, encode(found)) == found
