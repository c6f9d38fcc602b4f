"""Chat messages as probes write them, taken apart for protocols that shape conversations otherwise.

What a protocol has no form for makes the whole conversation unsayable: an answer to a shortened one measures nothing.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import orjson

_KNOWN = frozenset({"role", "content", "tool_calls", "tool_call_id"})
_ROLES = frozenset({"system", "developer", "user", "assistant", "tool"})


class UnsayableError(ValueError):
    """A protocol has no form for a part of the request."""


def formless(**parts: tuple[Callable[[Any], object], Any]) -> set[str]:
    """Return the names of the parts, each given as (writer, value), of which the writer finds no form."""
    missing = set()
    for name, (write, value) in parts.items():
        try:
            write(value)
        except UnsayableError:
            missing.add(name)
    return missing


class CallPart(NamedTuple):
    """A call in the history; ``arguments`` is JSON text."""

    id: str
    name: str
    arguments: str


class Turn(NamedTuple):
    """One message: plain text, and calls (of an assistant) or the id of the call that it answers (of a tool)."""

    role: str
    text: str
    calls: tuple[CallPart, ...] = ()
    call_id: str | None = None


def turns(messages: Sequence[Mapping[str, Any]]) -> list[Turn]:
    """Return `messages` taken apart.

    Raises
    ------
    UnsayableError
        When one holds more than text, calls and results: images, names, reasoning, roles of a vendor's own.
    """
    return [_turn(message) for message in messages]


def functions(tools: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return what the chat tools of type ``function`` say. Raises `UnsayableError` for any other type."""
    if any(tool.get("type") != "function" or not isinstance(tool.get("function"), Mapping) for tool in tools):
        raise UnsayableError("a tool that is no function")
    return [tool["function"] for tool in tools]


def argument_object(call: CallPart) -> dict[str, Any]:
    """Return the arguments as an object. Raises `UnsayableError` when they are none, as in a damaged history."""
    try:
        value = orjson.loads(call.arguments)
    except orjson.JSONDecodeError:
        value = None
    if not isinstance(value, dict):
        raise UnsayableError("arguments that are no object")
    return value


def _turn(message: Mapping[str, Any]) -> Turn:
    role, call_id = message.get("role"), message.get("tool_call_id")
    extra = [key for key, value in message.items() if key not in _KNOWN and value is not None]
    if extra or role not in _ROLES or (role == "tool") != isinstance(call_id, str):
        raise UnsayableError(f"a message of role {role} with {extra}")
    return Turn(str(role), _text(message.get("content")), _calls(message.get("tool_calls") or ()), call_id)


def _text(content: Any) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    parts = [part for part in content if isinstance(part, Mapping) and part.get("type") == "text"]
    texts = [part["text"] for part in parts if isinstance(part.get("text"), str)]
    if len(texts) < len(content):
        raise UnsayableError("content that is no text")
    return "".join(texts)


def _calls(calls: Sequence[Mapping[str, Any]]) -> tuple[CallPart, ...]:
    found = functions([{"type": "function", **call} for call in calls])
    parts = [
        CallPart(str(call.get("id")), str(said.get("name")), str(said.get("arguments")))
        for call, said in zip(calls, found, strict=True)
    ]
    return tuple(parts)
