"""Finders of faults in tool calls."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from monitor.faults.kinds import Found
from monitor.faults.seen import Seen
from monitor.tools.calls import CallVerdict, judged
from monitor.tools.markup import call_in_text
from monitor.types import Choice, ToolCall


def find_in_calls(seen: Seen) -> Iterator[Found]:
    """Yield what is wrong with the calls of all choices, or with their absence."""
    for choice in seen.exchange.choices:
        if choice.tool_calls:
            yield from _with_calls(seen, choice)
        else:
            yield from _without_calls(seen, choice)


def _without_calls(seen: Seen, choice: Choice) -> Iterator[Found]:
    tools = bool(seen.tools) and seen.mode != "none"
    textual = call_in_text(choice.content, seen.tools) if tools else None
    if textual is not None:
        yield seen.found("call_as_text", "content", f"a call in the form {textual.form} at character {textual.at}")
    elif choice.finish == "tool_calls":
        yield seen.found("finish_without_calls", "finish_reason", "tool_calls, and no call")
    elif tools and _must_call(seen) and choice.finish == "stop" and choice.content:
        yield seen.found("choice_ignored", "tool_calls", f"tool_choice {seen.mode}, and no call")


def _must_call(seen: Seen) -> bool:
    return seen.mode == "required" or (seen.mode == "named" and seen.profile.named_choice)


def _with_calls(seen: Seen, choice: Choice) -> Iterator[Found]:
    if choice.finish == "stop" and seen.mode != "named":
        yield seen.found("stop_with_calls", "finish_reason", "stop, and calls came")
    yield from _choice_kept(seen, choice)
    yield from _ids(seen, choice)
    for number, call in enumerate(choice.tool_calls):
        where = f"tool_calls[{number}]"
        verdict = judged(call, seen.tools)
        if verdict.stuck_to is not None:
            yield seen.found("glued_token", f"{where}.{verdict.stuck_to}", "a special token of the template")
            continue
        if seen.tools and seen.mode != "none" and call.name not in seen.tools:
            yield seen.found("undeclared_tool", f"{where}.name", "none of the declared tools")
        elif not (cut := choice.finish in {None, "length"}) or number + 1 < len(choice.tool_calls):
            yield from _arguments(seen, call, verdict, where, cut=cut)


def _choice_kept(seen: Seen, choice: Choice) -> Iterator[Found]:
    if seen.mode == "none":
        yield seen.found("choice_ignored", "tool_calls", "tool_choice none, and a call")
    elif seen.mode == "named" and seen.profile.named_choice:
        others = [call for call in choice.tool_calls if call.name in seen.tools and call.name != seen.named]
        if others:
            yield seen.found("choice_ignored", "tool_calls", "another function than the named one")
    if seen.request.extra.get("parallel_tool_calls") is False and len(choice.tool_calls) > 1:
        yield seen.found("parallel_ignored", "tool_calls", f"{len(choice.tool_calls)} calls, one was allowed")


def _ids(seen: Seen, choice: Choice) -> Iterator[Found]:
    ids = [call.id for call in choice.tool_calls]
    before = {one for message in seen.request.messages for one in _ids_of(message)}
    if any(count > 1 for one, count in Counter(ids).items() if one):
        yield seen.found("duplicate_ids", "tool_calls", "one id for two calls")
    if any(one in before for one in ids):
        yield seen.found("restarted_ids", "tool_calls", "an id of an earlier turn")
    if not all(call.id and seen.profile.fits_id(call.id, call.name) for call in choice.tool_calls):
        missing = sum(not one for one in ids)
        sign = f"{missing} of {len(ids)} without id" if missing else f"not the format of {seen.profile.name}"
        yield seen.found("id_format", "tool_calls", sign)


def _ids_of(message: Any) -> Iterator[str]:
    calls = message.get("tool_calls") if isinstance(message, Mapping) else None
    for call in calls if isinstance(calls, list | tuple) else ():
        if isinstance(call, dict) and isinstance(call.get("id"), str):
            yield call["id"]


def _arguments(seen: Seen, call: ToolCall, verdict: CallVerdict, where: str, *, cut: bool) -> Iterator[Found]:
    if seen.has("arguments_empty") and call.arguments == "{}":
        return  # told as arguments_missing
    schema = verdict.schema
    if verdict.json_fault is not None:
        if not cut:
            yield seen.found("malformed_arguments", f"{where}.arguments", verdict.json_fault)
    elif schema is not None and schema.status == "invalid" and not schema.dialect_sensitive:
        yield seen.found("schema_violation", f"{where}.arguments", f"{schema.keyword} (draft {schema.draft})")


_SIGNS = (
    ("missing_index", ("missing_index",), "pieces without index, more than one call"),
    ("index_reused", ("index_reused",), "two calls under one index"),
    ("name_repeated", ("name_repeated", "name_in_parts", "name_changed"), "more than one name for a call"),
    ("arguments_object", ("arguments_object",), "JSON in place of a string"),
    ("arguments_missing", ("arguments_empty",), "absent, null or blank"),
)


def find_in_pieces(seen: Seen) -> Iterator[Found]:
    """Yield what the decoder saw while it joined the pieces of calls."""
    calls = [call for choice in seen.exchange.choices for call in choice.tool_calls]
    for name, flags, sign in _SIGNS:
        harmless = name == "missing_index" and len(calls) < 2
        if calls and seen.has(*flags) and not harmless:
            yield seen.found(name, "tool_calls", sign)
