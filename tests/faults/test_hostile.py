"""Finders on answers of every kind, broken ones included. Oracle: nothing is raised, and names are of the catalogue."""

from dataclasses import replace
from typing import Any

import orjson
import pytest

from monitor.codec import decode as decoded
from monitor.codec import encode
from monitor.faults.catalogue import BY_NAME
from monitor.faults.find import find
from monitor.faults.profiles import PROFILES
from monitor.shape import event_of
from monitor.shape_traffic import bare
from monitor.types import Exchange
from monitor.wire.dispatch import decode
from monitor.wire.files import load
from tests.faults.inputs import HISTORY
from tests.faults.made import HELLO, TOOLS, asked, whole
from tests.wire.golden import cases

CASES: list[Any] = [case.values[0] for case in cases()]
EXCHANGES = [decode(load(case.data, case.format)) for case in CASES]
REQUESTS = [None, HELLO, TOOLS, HISTORY, asked(TOOLS, tool_choice="required", stop=["a"], parallel_tool_calls=False)]


@pytest.mark.parametrize("request_", REQUESTS, ids=range(len(REQUESTS)))
@pytest.mark.parametrize("profile", PROFILES)
def test_the_whole_corpus(profile: str, request_: Any) -> None:
    for exchange in EXCHANGES:
        seen = replace(exchange, request=request_)
        found = find(seen, PROFILES[profile], golden_prompt=7)
        assert {one.name for one in found} <= set(BY_NAME)
        assert len({one.name for one in found}) == len(found)


def test_shapes_of_the_whole_corpus_and_without_the_text() -> None:
    for exchange in EXCHANGES:
        assert event_of(bare(exchange)) == replace(event_of(exchange), prompt=None)
        assert find(bare(exchange), PROFILES["openai"]) == ()
        assert decoded(Exchange, encode(bare(exchange))) == bare(exchange)


@pytest.mark.parametrize(
    "extra",
    [{"tool_choice": 3}, {"tool_choice": {"function": 1}}, {"tool_choice": {"function": {"name": 2}}}, {"n": None}],
)
def test_odd_requests(extra: dict[str, Any]) -> None:
    messages: tuple[Any, ...] = ({"role": "assistant", "tool_calls": 3}, {"role": "user", "content": None}, {})
    tools: tuple[Any, ...] = ({}, {"function": 3}, {"function": {"name": 4}}, {"type": "function"})
    odd = replace(asked(TOOLS, **extra), messages=messages, tools=tools)
    answer = {"tool_calls": [{"id": 1, "function": {"name": 2, "arguments": 3}}, 4, {"function": None}]}
    find(whole(answer, request=odd), PROFILES["kimi"])
    find(whole(body=orjson.dumps([1])), PROFILES["kimi"])
