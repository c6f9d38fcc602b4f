"""Answers made by hand, decoded as any endpoint's would be: from their bytes."""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from monitor.tools.case import Case
from monitor.tools.graded import Graded, grade
from monitor.types import Capture, End, Exchange, Read
from monitor.wire.dispatch import decode

WEATHER: Mapping[str, Any] = {
    "type": "function",
    "function": {
        "name": "get_weather", "description": "Weather in a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}  # fmt: skip


def function(name: str, parameters: Any = None) -> dict[str, Any]:
    given = {} if parameters is None else {"parameters": parameters}
    return {"type": "function", "function": {"name": name, **given}}


def case(*tools: Mapping[str, Any], **fields: Any) -> Case:
    made: dict[str, Any] = {
        "case_id": "made", "messages": ({"role": "user", "content": "Weather in Lisbon?"},),
        "tools": tools or (WEATHER,), "expect": "call",
    }  # fmt: skip
    return Case(**(made | fields))


def frame(delta: Mapping[str, Any] | None = None, finish: str | None = None, **fields: Any) -> dict[str, Any]:
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
    return {"id": "c1", "object": "chat.completion.chunk", "model": "m", "choices": choices, **fields}


def call(name: str | None = "get_weather", arguments: Any = '{"city":"Lisbon"}', **fields: Any) -> dict[str, Any]:
    made: dict[str, Any] = {"index": 0, "id": "call_0", "type": "function"}
    return {**made, **fields, "function": {"name": name, "arguments": arguments}}


def whole(message: Mapping[str, Any], finish: str | None = "stop", **fields: Any) -> dict[str, Any]:
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
    return {"id": "c1", "object": "chat.completion", "model": "m", "choices": [choice], **fields}


def streamed(frames: Sequence[Mapping[str, Any]], *, done: bool = True) -> bytes:
    lines = b"".join(b"data: " + orjson.dumps(one) + b"\n\n" for one in frames)
    return lines + (b"data: [DONE]\n\n" if done else b"")


def captured(body: bytes, asked: Case, *, stream: bool = True, end: End = "complete", status: int = 200) -> Capture:
    request = asked.request("stream" if stream else "whole", max_tokens=256, temperature=1.0)
    sent = {"model": "m", "messages": list(request.messages), "stream": stream, "max_tokens": 256, **request.extra}
    kind = "text/event-stream" if stream else "application/json"
    return Capture(
        request=request, sent=orjson.dumps(sent), status=status, headers=(("content-type", kind),),
        reads=(Read(1_000_000, body),), t0_ns=0, sent_ns=0, first_byte_ns=1_000_000, eof_ns=2_000_000, end=end,
    )  # fmt: skip


def exchange_of(
    frames: Sequence[Mapping[str, Any]], asked: Case | None = None, *, done: bool = True, end: End = "complete"
) -> Exchange:
    return decode(captured(streamed(frames, done=done), asked or case(), end=end))


def graded(
    frames: Sequence[Mapping[str, Any]], asked: Case | None = None, *, done: bool = True, end: End = "complete"
) -> Graded:
    """The streamed answer, graded."""
    made = grade(exchange_of(frames, asked, done=done, end=end))
    assert made is not None
    return made


def graded_whole(document: Mapping[str, Any], asked: Case | None = None) -> Graded:
    """The answer in one piece, graded."""
    made = grade(decode(captured(orjson.dumps(document), asked or case(), stream=False)))
    assert made is not None
    return made


def called(*calls: Mapping[str, Any], finish: str = "tool_calls") -> list[dict[str, Any]]:
    """A streamed answer that makes `calls`, one frame each."""
    return [
        frame({"role": "assistant", "content": None}),
        *(frame({"tool_calls": [{**one, "index": at}]}) for at, one in enumerate(calls)),
        frame({}, finish),
    ]


def said(text: str, finish: str = "stop") -> list[dict[str, Any]]:
    """A streamed answer of plain text."""
    return [frame({"role": "assistant", "content": ""}), frame({"content": text}), frame({}, finish)]


def names(one: Graded) -> list[str]:
    """Layer and name of all symptoms."""
    return [f"{symptom.layer}:{symptom.name}" for symptom in one.symptoms]
