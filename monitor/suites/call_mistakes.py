"""Mistakes of an oracle `tool_call` that its own fields do not show: unknown keys, functions that nobody declared."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from monitor.errors import Problem
from monitor.suites.grade import Oracle
from monitor.suites.oracle_mistakes import unknown
from monitor.suites.oracles.tool_call import ToolCalls, WantedCall
from monitor.tools.case import parameters_of

_KEYS = tuple(one.name for one in dataclasses.fields(WantedCall))


def unknown_in_calls(row: Mapping[str, Any], place: str) -> Iterator[Problem]:
    """Yield a mistake for each unknown key of the wanted calls in `row`, an oracle of whatever kind."""
    calls = row.get("calls") if row.get("kind") == ToolCalls.kind else None
    for at, call in enumerate(calls if isinstance(calls, list) else ()):
        if isinstance(call, Mapping):
            yield from unknown(call, _KEYS, f"{place}.calls[{at}]")


def calls_without_tools(
    oracles: Sequence[Oracle], tools: tuple[Mapping[str, Any], ...], place: str
) -> Iterator[Problem]:
    """Yield a mistake for each call that is wanted and that `tools` of the case do not have: no answer can make it.

    That no call is made (`expect: none`) may be asked of a case without tools too.
    """
    declared = [*parameters_of(tools)]
    for at, one in enumerate(oracles):
        if not isinstance(one, ToolCalls) or one.expect == "none":
            continue
        where = f"{place}.oracles[{at}]"
        if not declared:
            yield Problem(where, "wants a call, and the case has no tools", "declare functions in `tools` of the case")
            continue
        for number, call in enumerate(one.calls):
            if call.name not in declared:
                near = get_close_matches(call.name, declared, 1) or declared[:8]
                yield Problem(
                    f"{where}.calls[{number}].name", f"{call.name!r} is not declared in `tools` of the case",
                    f"declared: {', '.join(near)}",
                )  # fmt: skip
