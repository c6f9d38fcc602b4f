"""Requests of K2-Vendor-Verifier and MiniMax-Provider-Verifier: one chat request a line, with what a call should be.

Keys that are no part of the request are taken as expectations, or listed. Their result files are no cases: they are
listed as recorded runs.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from monitor.codec import plain
from monitor.suites.importers.imported import Rows, require_alone
from monitor.suites.importers.texts import first_object, objects
from monitor.tools.case import Case
from monitor.tools.rows import row_case

_EXPECTED = ("expected_tool_call", "should_call_tool", "official_finish_reason", "check_type", "expected_calls")
_RESULTS = ("tool_calls_valid", "response")
_DONE_HERE = frozenset({"tool_call", "tool_calls", "single_tool_call"})


class K2vv:
    """Whole requests with expectations of tool calls."""

    kind: ClassVar[str] = "k2vv"

    def recognises(self, text: str) -> bool:
        """Whether the first object is a request with an expectation, or a result."""
        first = first_object(text)
        return any(key in first for key in _RESULTS) or (
            isinstance(first.get("messages"), list) and any(key in first for key in _EXPECTED)
        )

    def read(self, text: str, beside: str | None) -> Rows:
        """Read requests."""
        require_alone(self.kind, beside)
        found = Rows()
        for where, row in objects(text):
            if any(key in row for key in _RESULTS) and "messages" not in row:
                found.leave(where, "result of a recorded run: not a case")
                continue
            for check in row.get("check_type") or ():
                if check not in _DONE_HERE:
                    found.leave(where, f"check_type {check}")
            try:
                case = row_case(row, where, prefix="")
            except ValueError as error:
                found.leave(where, f"row that is no request: {error}")
                continue
            found.add(where, _row(case, row))
        return found


def _row(case: Case, row: Mapping[str, Any]) -> dict[str, Any]:
    said = {
        "max_tokens": case.max_tokens, "temperature": case.temperature, "tool_choice": case.tool_choice,
        "parallel_tool_calls": case.parallel,
    }  # fmt: skip
    body = {key: value for key, value in case.body.items() if key not in {"seed", "n", "logprobs"}}
    return {
        "id": str(row.get("id", row.get("hash", case.case_id))), "messages": plain(list(case.messages)),
        "tools": plain(list(case.tools)), "tags": list(case.tags), "oracles": _oracles(case),
        "parameters": {**body, **{key: value for key, value in said.items() if value is not None}},
    }  # fmt: skip


def _oracles(case: Case) -> list[dict[str, Any]]:
    if case.calls:
        calls = [
            {"name": one.name, "arguments": None if one.arguments is None
             else {key: [value] for key, value in one.arguments.items()}}
            for one in case.calls
        ]  # fmt: skip
        return [{"kind": "tool_call", "calls": calls}]
    if case.expect == "any":
        return []
    return [{"kind": "tool_call", "expect": "some" if case.expect == "call" else "none"}]


IMPORTER = K2vv
