"""Log lines and spans of made-up traffic. Every text holds the word SECRET, so that a test can look for it."""

from datetime import UTC, datetime, timedelta
from typing import Any

SECRET = "zanzibar"
START = datetime(2026, 11, 1, 8, tzinfo=UTC)
TEXT = f"A kilo of {SECRET} is one kilo."
LOOP = f"{SECRET} and so on " * 30


def reply(text: str = TEXT, finish: str = "stop", tokens: int = 9, **message: Any) -> dict[str, Any]:
    made = {"role": "assistant", "content": text, **message}
    return {
        "object": "chat.completion",
        "created": int(START.timestamp()),
        "model": "model",
        "choices": [{"index": 0, "message": made, "finish_reason": finish}],
        "usage": {"prompt_tokens": 12, "completion_tokens": tokens, "total_tokens": 12 + tokens},
    }


def line(at: int = 0, body: Any = None, **more: Any) -> dict[str, Any]:
    asked = {"model": "model", "max_tokens": 64, "messages": [{"role": "user", "content": f"Weigh the {SECRET}."}]}
    given = {"time": (START + timedelta(minutes=at)).isoformat(), "request": asked, "status": 200, "latency_ms": 412.5}
    return {**given, "response": reply() if body is None else body, **more}


def attribute(key: str, value: Any) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"key": key, "value": {"boolValue": value}}
    if isinstance(value, int):
        return {"key": key, "value": {"intValue": str(value)}}
    if isinstance(value, float):
        return {"key": key, "value": {"doubleValue": value}}
    if isinstance(value, list):
        return {"key": key, "value": {"arrayValue": {"values": [{"stringValue": one} for one in value]}}}
    return {"key": key, "value": {"stringValue": value}}


def span(at: int = 0, *, status: int = 0, **more: Any) -> dict[str, Any]:
    """A span of a chat call; `more` are further attributes, dots written as double underscores."""
    started = int((START + timedelta(minutes=at)).timestamp() * 1e9)
    told = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "acme",
        "gen_ai.request.model": "model",
        "gen_ai.response.model": "model",
        "gen_ai.request.max_tokens": 64,
        "gen_ai.usage.input_tokens": 12,
        "gen_ai.usage.output_tokens": 9,
        "gen_ai.response.finish_reasons": ["stop"],
        **{key.replace("__", "."): value for key, value in more.items()},
    }
    return {
        "name": "chat model",
        "startTimeUnixNano": str(started),
        "endTimeUnixNano": str(started + 412_500_000),
        "attributes": [attribute(key, value) for key, value in told.items() if value is not None],
        "status": {"code": status},
    }


def document(*spans: dict[str, Any]) -> dict[str, Any]:
    resource = {"attributes": [attribute("service.name", "shop")]}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [{"scope": {}, "spans": list(spans)}]}]}
