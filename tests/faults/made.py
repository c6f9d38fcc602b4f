"""Answers written by hand: frames of a stream, or one object, and what was asked for."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import orjson

from monitor.types import Capture, Exchange, Read, Request
from monitor.wire.dispatch import decode
from monitor.wire.openai_chat import PROTOCOL

MODEL = "scale-1"
WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
            "required": ["city"],
            "additionalProperties": False,
        },
    },
}
SNAPSHOT = {"type": "function", "function": {"name": "snapshot", "parameters": {"type": "object", "properties": {}}}}
HELLO = Request(
    prompt_id="hello", messages=({"role": "user", "content": "How heavy is a kilo?"},), max_tokens=64, temperature=0.0
)
TOOLS = replace(HELLO, tools=(WEATHER, SNAPSHOT), messages=({"role": "user", "content": "Weather in Oslo?"},))
USAGE = {"prompt_tokens": 12, "completion_tokens": 6, "total_tokens": 18}
DONE = b"data: [DONE]\n\n"


def asked(request: Request, **extra: Any) -> Request:
    return replace(request, extra=extra)


def call(
    arguments: Any = '{"city": "Oslo"}', name: str | None = "get_weather", call_id: str | None = "call_1", **more: Any
) -> dict[str, Any]:
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    return {**({"id": call_id} if call_id else {}), "type": "function", "function": function, **more}


def event(value: Any) -> bytes:
    return b"data: " + orjson.dumps(value) + b"\n\n"


def chunk(
    delta: Mapping[str, Any] | None = None, finish: str | None = None, *, model: str = MODEL, **more: Any
) -> bytes:
    choice = {"index": 0, "delta": delta or {}, "finish_reason": finish}
    return event({"id": "c1", "object": "chat.completion.chunk", "model": model, "choices": [choice], **more})


def counts(usage: Mapping[str, Any] | None = None) -> bytes:
    return event({"id": "c1", "model": MODEL, "choices": [], "usage": usage or USAGE})


def streamed(
    *frames: bytes, request: Request = HELLO, tail: bytes | None = None, headers: Mapping[str, str] | None = None,
    **fields: Any,
) -> Exchange:  # fmt: skip
    """Frames, then usage and the end marker, unless another `tail` is given."""
    body = b"".join(frames) + (counts() + DONE if tail is None else tail)
    return exchange_of(body, replace(request, stream=True), {"content-type": "text/event-stream", **(headers or {})},
                       **fields)  # fmt: skip


def whole(
    message: Mapping[str, Any] | None = None, finish: str | None = "stop", *, request: Request = HELLO,
    body: Any = None, **more: Any,
) -> Exchange:  # fmt: skip
    """One object; `body` replaces all of it (bytes as they are), `more` adds to it."""
    choice = {"index": 0, "message": {"role": "assistant", **(message or {})}, "finish_reason": finish}
    value = {"id": "c1", "object": "chat.completion", "model": MODEL, "choices": [choice], "usage": USAGE, **more}
    data = body if isinstance(body, bytes) else orjson.dumps(value if body is None else body)
    return exchange_of(data, replace(request, stream=False), {"content-type": "application/json"})


def exchange_of(body: bytes, request: Request, headers: Mapping[str, str], **fields: Any) -> Exchange:
    given: dict[str, Any] = {"status": 200, "reads": (Read(0, body),), **fields}
    return decode(Capture(request=request, sent=PROTOCOL.body(request, MODEL), headers=tuple(headers.items()), **given))


def said(*texts: str, finish: str = "stop", request: Request = HELLO) -> Exchange:
    """A plain streamed answer."""
    return streamed(*(chunk({"content": text}) for text in texts), chunk(finish=finish), request=request)


def calls_in(
    entries: Sequence[Mapping[str, Any]], finish: str = "tool_calls", *, request: Request = TOOLS,
    text: str | None = None, **more: Any,
) -> tuple[Exchange, Exchange]:  # fmt: skip
    """The same calls streamed (one delta each, indexed) and in one object."""
    frames = [chunk({"content": text})] if text else []
    frames += [chunk({"tool_calls": [{"index": number, **entry}]}) for number, entry in enumerate(entries)]
    return (
        streamed(*frames, chunk(finish=finish), request=request),
        whole({"content": text, "tool_calls": list(entries)}, finish, request=request, **more),
    )
