"""A run of the `tools` probe made by hand: the built-in cases, answered rightly unless a test says otherwise."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import orjson

from monitor.results import Evidence
from monitor.tools.case import FORMS, Case, Form
from monitor.tools.draws import ToolDraws
from monitor.types import Exchange
from monitor.wire.dispatch import decode
from probes.tool_suite import built_in
from tests.detectors.made import endpoint, run_of
from tests.tools.made import call, captured, frame, streamed, whole

RUN = replace(run_of(), probe="tools")
USAGE = {"prompt_tokens": 200, "completion_tokens": 20, "total_tokens": 220}

Calls = Sequence[Mapping[str, Any]]
Answer = Callable[[Case, Form, Calls], bytes]
"""The bytes that answer a case in a form; the calls are the right ones."""


def known_cases(n: int | None = None) -> list[Case]:
    """Cases of which the right calls are known to the last argument, or that want none."""
    cases = [
        one for one in built_in()
        if one.expect != "call" or (one.calls and all(each.arguments is not None for each in one.calls))
    ]  # fmt: skip
    return cases[:n]


def right_calls(case: Case) -> list[dict[str, Any]]:
    return [
        call(one.name, orjson.dumps(one.arguments).decode(), id=f"call_{at}", index=at)
        for at, one in enumerate(case.calls)
    ]


def usage_of(case: Case) -> dict[str, int]:
    """Usage of a server whose prompt grows with the tools, as it must."""
    prompt = len(orjson.dumps([case.messages, case.tools])) // 4
    return {"prompt_tokens": prompt, "completion_tokens": 20, "total_tokens": prompt + 20}


def bytes_of(
    case: Case, form: Form, calls: Calls, *, text: str = "Certainly.", finish: str | None = None,
    usage: Mapping[str, int] | None = None,
) -> bytes:  # fmt: skip
    """An answer with `calls`, else with `text`; `finish` None is the right one."""
    end = finish or ("tool_calls" if calls else "stop")
    counted = usage or usage_of(case)
    if form == "whole":
        plain = [{key: value for key, value in one.items() if key != "index"} for one in calls]
        message = {"content": None, "tool_calls": plain} if calls else {"content": text}
        return orjson.dumps(whole(message, end, usage=counted))
    frames = [frame({"tool_calls": [one]}) for one in calls] if calls else [frame({"content": text})]
    return streamed([frame({"role": "assistant"}), *frames, frame({}, end), frame(usage=counted)])


def right(case: Case, form: Form, calls: Calls) -> bytes:
    return bytes_of(case, form, calls)


def exchanges(cases: Sequence[Case], answer: Answer) -> tuple[Exchange, ...]:
    """Both forms of all cases, decoded from the bytes that `answer` gives."""
    made = [
        decode(captured(answer(case, form, right_calls(case)), case, stream=form == "stream"))
        for case in cases for form in FORMS
    ]  # fmt: skip
    return tuple(replace(one, exchange_id=f"r1-{at}", run_id="r1") for at, one in enumerate(made))


def tools_evidence(
    answer: Answer = right, *, cases: Sequence[Case] | None = None, draws: Mapping[str, ToolDraws] | None = None
) -> Evidence:
    """Evidence of one run; the answers are right unless `answer` gives others."""
    return Evidence(
        endpoint=endpoint(), runs=(RUN,), exchanges=exchanges(cases or known_cases(), answer), tool_draws=draws or {}
    )
