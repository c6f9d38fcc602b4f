"""A chat answer on its way through the proxy: parsed, so that injectors can change it, and written again."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from monitor.types import Read
from monitor.wire.sse import frame

DONE = b"[DONE]"


@dataclass(slots=True)
class Answer:
    """One answer, changed in place.

    ``frames`` are the events of a stream (JSON, or bytes that are none), ``value`` the one object of an answer that was
    not streamed. ``asked`` is the body of the request. ``cut`` ends the body in the middle.
    """

    asked: Mapping[str, Any]
    status: int
    headers: dict[str, str]
    streamed: bool
    frames: list[Any] = field(default_factory=list)
    value: dict[str, Any] = field(default_factory=dict)
    cut: bool = False

    @classmethod
    def parsed(cls, asked: Mapping[str, Any], status: int, headers: Mapping[str, str], body: bytes) -> "Answer | None":
        """Return the answer in `body`; None when it is none that an injector could change."""
        if "event-stream" in headers.get("content-type", ""):
            events = [event.data for event in frame((Read(0, body),)).events]
            return cls(asked, status, dict(headers), streamed=True, frames=[_json(data) for data in events])
        value = _json(body)
        if status != 200 or not isinstance(value, dict):
            return None
        return cls(asked, status, dict(headers), streamed=False, value=value)

    @property
    def body(self) -> bytes:
        """The bytes to send."""
        if not self.streamed:
            data = orjson.dumps(self.value)
            return data[: len(data) // 2] if self.cut else data
        kept = self.frames[: max(1, len(self.frames) // 2)] if self.cut else self.frames
        events = (one if isinstance(one, bytes) else orjson.dumps(one) for one in kept)
        return b"".join(b"data: %b\n\n" % data for data in events)

    def objects(self) -> Iterator[dict[str, Any]]:
        """All JSON objects of the answer."""
        yield from (one for one in self.frames if isinstance(one, dict)) if self.streamed else (self.value,)

    def choices(self) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
        """Every choice with its delta or message, the first one first."""
        for value in self.objects():
            for choice in value.get("choices") or ():
                part = choice.get("delta" if self.streamed else "message")
                if isinstance(part, dict):
                    yield choice, part

    @property
    def content(self) -> str:
        """All visible text."""
        return "".join(part["content"] for _, part in self.choices() if isinstance(part.get("content"), str))

    @property
    def calls(self) -> bool:
        """Whether it holds a tool call."""
        return any(part.get("tool_calls") for _, part in self.choices())

    def say(self, text: str) -> None:
        """Replace the visible text; of a stream it all comes in the first delta."""
        for _, part in self.choices():
            part.pop("content", None)
        self.first["content"] = text

    def drop(self, *names: str) -> None:
        """Take fields out of all deltas or messages."""
        for _, part in self.choices():
            for name in names:
                part.pop(name, None)

    @property
    def first(self) -> dict[str, Any]:
        """The first delta or the message; an empty one that leads nowhere when there is none."""
        return next((part for _, part in self.choices()), {})

    def end(self, reason: str | None) -> None:
        """Set the finish reason where there is one."""
        for choice, _ in self.choices():
            if choice.get("finish_reason"):
                choice["finish_reason"] = reason

    def call(self, calls: list[dict[str, Any]]) -> None:
        """Replace all calls: one delta each, with its index, or the list of the message."""
        self.drop("tool_calls")
        if not self.streamed:
            self.first["tool_calls"] = calls
        else:
            deltas = [{"tool_calls": [{"index": number, **one}]} for number, one in enumerate(calls)]
            self.insert(*deltas)
        self.end("tool_calls")

    def insert(self, *deltas: dict[str, Any]) -> None:
        """Put deltas of choice 0 before the event that holds the finish reason."""
        at, template = self._finish()
        made = [
            {**template, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas
        ]
        self.frames[at:at] = made

    def _finish(self) -> tuple[int, dict[str, Any]]:
        for at, one in enumerate(self.frames):
            if isinstance(one, dict) and any(choice.get("finish_reason") for choice in one.get("choices") or ()):
                return at, {key: value for key, value in one.items() if key not in {"choices", "usage"}}
        return len(self.frames), {}

    def usage(self) -> Iterator[dict[str, Any]]:
        """Every usage object."""
        yield from (value["usage"] for value in self.objects() if isinstance(value.get("usage"), dict))


def _json(data: bytes) -> Any:
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        return data
