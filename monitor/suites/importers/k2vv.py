"""Requests of K2-Vendor-Verifier and MiniMax-Provider-Verifier: one chat request a line, with what a call should be.

Keys that are no part of the request are taken as expectations, or listed. Their result files are no cases: they are
listed as recorded runs.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from monitor.codec import plain
from monitor.suites.importers.imported import Rows, require_alone
from monitor.suites.importers.parameters import require_types
from monitor.suites.importers.texts import UnfitError, first_object, id_of, objects
from monitor.tools.case import Case
from monitor.tools.rows import row_case

_EXPECTED = ("expected_tool_call", "should_call_tool", "official_finish_reason", "check_type", "expected_calls")
_RESULTS = ("tool_calls_valid", "response")
_DONE_HERE = frozenset({"tool_call", "tool_calls", "single_tool_call"})
_OF_THE_RUN = frozenset({"model", "stream", "stream_options", "seed", "n", "logprobs", "top_logprobs"})
_NAMES = frozenset({"id", "hash", "data_index", "tags", "expect"})
_BODY = frozenset({
    "messages", "tools", "tool_choice", "parallel_tool_calls", "temperature", "max_tokens", "max_completion_tokens",
    "top_p", "top_k", "min_p", "stop", "presence_penalty", "frequency_penalty", "repetition_penalty", "logit_bias",
    "response_format", "reasoning", "reasoning_effort", "reasoning_split", "thinking", "enable_thinking",
    "chat_template_kwargs",
})  # fmt: skip


class K2vv:
    """Whole requests with expectations of tool calls."""

    kind: ClassVar[str] = "k2vv"

    def recognises(self, text: str) -> bool:
        """Whether the first object is a request with tools or an expectation, or a result."""
        first = first_object(text)
        return any(key in first for key in _RESULTS) or (
            "messages" in first and any(key in first for key in (*_EXPECTED, "tools"))
        )

    def read(self, text: str, beside: str | None) -> Rows:
        """Read requests."""
        require_alone(self.kind, beside)
        found = Rows(notes=["model, stream, seed, n and logprobs are not taken over: the run says them"])

        def take(where: str, row: dict[str, Any]) -> None:
            if any(key in row for key in _RESULTS) and "messages" not in row:
                raise UnfitError("result of a recorded run: not a case")
            require_types(row)
            for check in _checks(row.get("check_type")):
                if check not in _DONE_HERE:
                    found.leave(where, f"check_type {check}")
            found.add(where, _row(where, row, found))

        found.each(objects(text, found.leave), take)
        return found


def _checks(given: Any) -> list[str]:
    listed = given if isinstance(given, list) else [] if given is None else [given]
    if not all(isinstance(one, str) for one in listed):
        raise UnfitError("check_type that is no list of words")
    return listed


def _row(where: str, row: Mapping[str, Any], found: Rows) -> dict[str, Any]:
    """The row of ours. A key that is neither part of a request nor an expectation is listed, and not sent."""
    try:
        case = row_case({key: value for key, value in row.items() if key != "id"}, where, prefix="")
    except ValueError as error:
        raise UnfitError(f"row that is no request: {error}") from None
    oracles = _oracles(case)
    if not oracles:
        raise UnfitError(f"request that does not say what a right answer is ({', '.join(_EXPECTED[:3])})")
    for key in sorted(row.keys() - _BODY - _OF_THE_RUN - _NAMES - set(_EXPECTED)):
        found.leave(where, f"key that is no part of a request, not sent: {key}")
    said = {
        "max_tokens": case.max_tokens, "temperature": case.temperature, "tool_choice": case.tool_choice,
        "parallel_tool_calls": case.parallel,
    }  # fmt: skip
    body = {key: value for key, value in case.body.items() if key in _BODY}
    return {
        "id": case.case_id, **id_of(row, "id", "hash"), "messages": plain(list(case.messages)),
        "tools": plain(list(case.tools)), "tags": list(case.tags), "oracles": oracles,
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
