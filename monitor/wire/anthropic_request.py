"""Conversations and tools in the shapes of Anthropic's Messages API."""

from collections.abc import Mapping, Sequence
from typing import Any

from monitor.wire.chat_messages import CallPart, Turn, UnsayableError, argument_object, functions, turns


def conversation(messages: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return ``messages``, and ``system`` if there is any.

    Raises
    ------
    UnsayableError
        For a system message after the first turn, and for what `turns` refuses.
    """
    spoken = turns(messages)
    n_system = next((n for n, turn in enumerate(spoken) if turn.role not in {"system", "developer"}), len(spoken))
    body: dict[str, Any] = {"messages": _merged(spoken[n_system:])}
    if n_system:
        body["system"] = "\n\n".join(turn.text for turn in spoken[:n_system])
    return body


def tools(chat_tools: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the tools. Raises `UnsayableError` for other kinds than functions, and for keys that have no place."""
    return [_tool(function) for function in functions(chat_tools)]


def _tool(function: Mapping[str, Any]) -> dict[str, Any]:
    if extra := function.keys() - {"name", "description", "parameters"}:
        raise UnsayableError(f"a function with {sorted(extra)}")
    described = {"description": function["description"]} if "description" in function else {}
    return {"name": function.get("name"), **described, "input_schema": function.get("parameters", {"type": "object"})}


def _merged(spoken: Sequence[Turn]) -> list[dict[str, Any]]:
    """The turns, with the results of one round of calls in one message, as the API wants them."""
    merged: list[dict[str, Any]] = []
    results: list[dict[str, Any]] | None = None
    for turn in spoken:
        if turn.role != "tool":
            results = None
            merged.append(_message(turn))
            continue
        if results is None:
            results = []
            merged.append({"role": "user", "content": results})
        results.append({"type": "tool_result", "tool_use_id": turn.call_id, "content": turn.text})
    return merged


def _message(turn: Turn) -> dict[str, Any]:
    if turn.role not in {"user", "assistant"} or (turn.calls and turn.role == "user"):
        raise UnsayableError(f"a message of role {turn.role} here")
    if not turn.calls:
        return {"role": turn.role, "content": turn.text}
    text = [{"type": "text", "text": turn.text}] if turn.text else []
    return {"role": turn.role, "content": [*text, *map(_use, turn.calls)]}


def _use(call: CallPart) -> dict[str, Any]:
    return {"type": "tool_use", "id": call.id, "name": call.name, "input": argument_object(call)}
