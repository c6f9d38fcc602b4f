"""The answer calls the right tools with the right arguments, judged as the Berkeley function-calling leaderboard does.

Each argument has a list of values, any of which is right. Texts are compared without case, blanks and signs such as
comma, point, dash and slash; numbers as JSON numbers (5 is 5.0); lists in order; objects key by key, each key with a
list of right values again. An argument that is not listed is wrong to give; `optional` ones may be left out.
Source: S. Patil et al., BFCL, the checks of its AST evaluation, worded anew.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from monitor.suites import json_check
from monitor.suites.grade import RIGHT, Grade, Seen, wrong
from monitor.suites.values import value_fault
from monitor.tools.strict_json import read_object
from monitor.types import ToolCall


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedCall:
    """A call that a right answer makes. ``arguments`` None: any that the tool's schema accepts."""

    name: str
    arguments: Mapping[str, tuple[Any, ...]] | None = None
    """Right values of each argument."""
    optional: tuple[str, ...] = ()
    """Arguments that may be left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCalls:
    """Calls are matched in any order."""

    kind: ClassVar[str] = "tool_call"

    expect: Literal["these", "some", "none"] = "these"
    """These calls and no others; some call, whichever; no call at all."""
    calls: tuple[WantedCall, ...] = field(default_factory=tuple)
    """The calls of `these`."""

    @property
    def problem(self) -> str | None:
        """Why this cannot be used."""
        if (self.expect == "these") != bool(self.calls):
            return "list `calls` with `expect: these`, and none with `some` or `none`"
        for one in self.calls:
            if not all((one.arguments or {}).values()):
                return f"call {one.name!r}: every argument needs a list of right values"
        return None

    def grade(self, seen: Seen) -> Grade:
        """Match calls; the word of a wrong answer says what is wrong with the call that comes nearest."""
        if self.expect == "none":
            return wrong("unwanted_call") if seen.calls else RIGHT
        if not seen.calls:
            return wrong("no_call")
        if self.expect == "some":
            return _first(_runnable(one, seen.tools) for one in seen.calls)
        if len(seen.calls) != len(self.calls):
            return wrong("wrong_count")
        return _matched(list(seen.calls), self.calls, seen.tools)


def _matched(left: list[ToolCall], wanted: Sequence[WantedCall], tools: Mapping[str, Any]) -> Grade:
    """Give each wanted call the made one that serves it; those that only one serves are not taken by others first."""
    faults = {id(one): [_call_fault(made, one, tools) for made in left] for one in wanted}
    taken: set[int] = set()
    for one in sorted(wanted, key=lambda call: faults[id(call)].count(None)):
        free = [at for at, fault in enumerate(faults[id(one)]) if fault is None and at not in taken]
        if not free:
            rest = [fault for at, fault in enumerate(faults[id(one)]) if at not in taken and fault is not None]
            return wrong(max(rest, key=_NEARNESS.index, default="wrong_count"))
        taken.add(free[0])
    return RIGHT


_NEARNESS = (
    "wrong_count", "wrong_name", "bad_arguments", "unexpected_argument", "missing_argument", "wrong_type",
    "wrong_value", "schema",
)  # fmt: skip
"""Faults of a call, the worst first: of several calls, the one that comes nearest is what the answer is told of."""


def _first(faults: Any) -> Grade:
    found = next((fault for fault in faults if fault is not None), None)
    return RIGHT if found is None else wrong(found)


def _runnable(call: ToolCall, tools: Mapping[str, Any]) -> str | None:
    if call.name is None or call.name not in tools:
        return "wrong_name"
    read = read_object(call.arguments or "{}")
    if read.fault is not None:
        return "bad_arguments"
    return None if json_check.violated(tools[call.name], read.value) is None else "schema"


def _call_fault(made: ToolCall, wanted: WantedCall, tools: Mapping[str, Any]) -> str | None:
    if made.name != wanted.name:
        return "wrong_name"
    if wanted.arguments is None:
        return _runnable(made, tools)
    read = read_object(made.arguments or "{}")
    if read.fault is not None:
        return "bad_arguments"
    given: Mapping[str, Any] = read.value
    if given.keys() - wanted.arguments.keys():
        return "unexpected_argument"
    if wanted.arguments.keys() - given.keys() - set(wanted.optional):
        return "missing_argument"
    faults = [value_fault(value, wanted.arguments[key]) for key, value in given.items()]
    return next((fault for fault in ("wrong_type", "wrong_value") if fault in faults), None)


ORACLE = ToolCalls
