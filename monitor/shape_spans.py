"""Exchanges out of OpenTelemetry spans of GenAI calls (OTLP/HTTP, JSON), in numbers only.

Names: OpenTelemetry semantic conventions for generative AI, "GenAI spans" (``gen_ai.*``). Messages are optional
there and looked at once; without them only counts, endings and times are known.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import orjson

from monitor.shape_traffic import EARLIEST, LATEST, bare
from monitor.types import Choice, Exchange, Outcome, Request, ToolCall
from monitor.wire.finish import normalised

_OPERATIONS = frozenset({"chat", "text_completion", "generate_content"})
_ERRORS: tuple[tuple[str, Outcome], ...] = (
    ("timeout", "stalled"), ("ratelimit", "rate_limited"), ("rate_limit", "rate_limited"), ("429", "rate_limited"),
    ("connect", "connect_error"), ("auth", "auth_error"), ("401", "auth_error"), ("403", "auth_error"),
    ("badrequest", "http_4xx"), ("internalserver", "http_5xx"), ("unavailable", "http_5xx"),
    ("overloaded", "http_5xx"), ("remoteprotocol", "truncated"), ("incompleteread", "truncated"),
    ("chunkedencoding", "truncated"),
)  # fmt: skip
"""What names of errors say. One that says nothing here is not held against the endpoint: it may be the caller's own."""

_STATUS = re.compile(r"(?<!\d)([45])\d\d(?!\d)")

_PLAIN: Mapping[str, tuple[type, ...]] = {"stringValue": (str,), "doubleValue": (int, float), "boolValue": (bool,)}
_LONGEST_S = 1e6


def from_spans(document: Any, *, keep: bool = False) -> Iterator[Exchange]:
    """Yield the exchanges that an ``ExportTraceServiceRequest`` tells of, without text unless `keep`.

    Spans of anything else than a model's answer are passed over; so is what has another shape.
    """
    for span in _spans(document):
        told = _attributes(span.get("attributes"))
        started = _nanoseconds(span.get("startTimeUnixNano"))
        if str(told.get("gen_ai.operation.name", "chat")) not in _OPERATIONS or started is None or not _is_genai(told):
            continue
        said = _messages(told.get("gen_ai.output.messages"))
        exchange = _exchange(span, told, said, started)
        yield exchange if keep and said is not None else bare(exchange, worded=said is not None)


def _spans(document: Any) -> Iterator[Mapping[str, Any]]:
    for resource in _list(document, "resourceSpans"):
        for scope in _list(resource, "scopeSpans"):
            yield from _list(scope, "spans")


def _list(value: Any, name: str) -> list[Mapping[str, Any]]:
    listed = value.get(name) if isinstance(value, dict) else None
    return [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []


def _is_genai(told: Mapping[str, Any]) -> bool:
    return any(name.startswith("gen_ai.") for name in told)


def _exchange(span: Mapping[str, Any], told: Mapping[str, Any], said: list[Any] | None, started: int) -> Exchange:
    ended, first = _nanoseconds(span.get("endTimeUnixNano")), _seconds(told.get("gen_ai.response.time_to_first_chunk"))
    choice = _choice(said, told.get("gen_ai.response.finish_reasons"))
    usage = {
        "prompt_tokens": told.get("gen_ai.usage.input_tokens"),
        "completion_tokens": told.get("gen_ai.usage.output_tokens"),
    }
    counted = {name: count for name, count in usage.items() if type(count) is int}
    cap = told.get("gen_ai.request.max_tokens")
    return Exchange(
        outcome=_outcome(span, told, choice, counted), choices=(choice,), usage=counted or None,
        models=tuple(name for name in (told.get("gen_ai.response.model"),) if isinstance(name, str)),
        started_at=datetime.fromtimestamp(started / 1e9, UTC),
        eof_ms=None if ended is None or ended < started else (ended - started) / 1e6,
        first_event_ms=None if first is None else first * 1e3,
        request=Request(
            prompt_id="", messages=tuple({"content": text} for text in _texts(told.get("gen_ai.input.messages"))),
            max_tokens=cap if type(cap) is int else 1,
        ),
    )  # fmt: skip


def _outcome(
    span: Mapping[str, Any], told: Mapping[str, Any], choice: Choice, counted: Mapping[str, int]
) -> Outcome:
    status, kind = span.get("status"), str(told.get("error.type", "")).lower().replace("error", "")
    if kind or (isinstance(status, dict) and status.get("code") in {2, "STATUS_CODE_ERROR"}):
        by_sign = next((outcome for sign, outcome in _ERRORS if sign in kind), None)
        status = _STATUS.search(kind)
        return by_sign or ("not_run" if status is None else "http_4xx" if status[1] == "4" else "http_5xx")
    if choice.finish == "content_filter":
        return "filtered"
    if counted.get("completion_tokens") == 0:
        return "empty"
    return "ok_length" if choice.finish == "length" else "ok"


def _choice(said: list[Any] | None, reasons: Any) -> Choice:
    """The first answer: its words, where they were recorded, and how it ended."""
    message = next((one for one in said or () if isinstance(one, dict)), {})
    raw = reasons[0] if isinstance(reasons, list) and reasons else message.get("finish_reason")
    parts = [one for one in message.get("parts") or () if isinstance(one, dict)]
    texts = {kind: "".join(str(one.get("content", "")) for one in parts if one.get("type") == kind)
             for kind in ("text", "reasoning")}  # fmt: skip
    calls = [ToolCall(id=None, name=None, arguments="") for one in parts if one.get("type") == "tool_call"]
    return Choice(
        content=texts["text"], reasoning=texts["reasoning"], tool_calls=tuple(calls),
        finish=normalised(raw) if isinstance(raw, str) else None,
    )  # fmt: skip


def _messages(value: Any) -> list[Any] | None:
    """Messages as an attribute holds them: JSON text, or the list itself."""
    if isinstance(value, str):
        try:
            value = orjson.loads(value)
        except orjson.JSONDecodeError:
            return None
    return value if isinstance(value, list) else None


def _texts(value: Any) -> Iterator[str]:
    for message in _messages(value) or ():
        for part in message.get("parts") or () if isinstance(message, dict) else ():
            if isinstance(part, dict) and isinstance(part.get("content"), str):
                yield part["content"]


def _nanoseconds(value: Any) -> int | None:
    """A time since 1970 as OTLP writes it: text or number."""
    try:
        found = int(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return found if EARLIEST * 10**9 <= found < LATEST * 10**9 else None


def _seconds(value: Any) -> float | None:
    """A duration as a span has it; a whole number of seconds comes as an integer in JSON."""
    return float(value) if type(value) in {int, float} and 0 <= value < _LONGEST_S else None


def _attributes(listed: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for one in listed if isinstance(listed, list) else ():
        if isinstance(one, dict) and isinstance(one.get("key"), str):
            found[one["key"]] = _value(one.get("value"))
    return found


def _value(value: Any) -> Any:
    """A value out of its OTLP wrapping; None for what has none."""
    if not isinstance(value, dict) or len(value) != 1:
        return None
    kind, inner = next(iter(value.items()))
    if kind == "intValue":
        return _whole(inner)
    if kind == "arrayValue":
        return [_value(one) for one in _list(inner, "values")]
    wanted = _PLAIN.get(kind)
    return inner if wanted is not None and isinstance(inner, wanted) else None


def _whole(value: Any) -> int | None:
    """An integer of 64 bits, as OTLP has it: text or number."""
    try:
        found = int(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return found if abs(found) < 2**63 else None
