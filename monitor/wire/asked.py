"""What the request asked for, as far as a capture knows: its exact body first, else the `Request` behind it."""

from dataclasses import dataclass
from typing import Any, TypeVar

import orjson

from monitor.types import Capture

T = TypeVar("T")

_CAPS = ("max_tokens", "max_completion_tokens", "max_output_tokens", "num_predict")
"""What the protocols call the cap; Ollama has it among its options."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The asked parameters that an answer can be checked against. None where unknown.

    ``cap_known`` tells "no cap was sent" (``max_tokens`` None) from "not known".
    """

    stream: bool | None = None
    model: str | None = None
    cap_known: bool = False
    max_tokens: int | None = None
    top_logprobs: int | None = None
    stop: tuple[str, ...] = ()


def asked_for(capture: Capture) -> Asked:
    """Return what `capture` knows about its request."""
    body = _sent(capture)
    if body is not None:
        options = body.get("options")
        inner = options if isinstance(options, dict) else {}
        stop = body.get("stop")
        cap = next((cap for name in _CAPS if (cap := body.get(name, inner.get(name))) is not None), None)
        return Asked(
            stream=body.get("stream") is True,
            model=_typed(body.get("model"), str),
            cap_known=True,
            max_tokens=_typed(cap, int),
            top_logprobs=_typed(body.get("top_logprobs", body.get("logprobs")), int),
            stop=(stop,) if isinstance(stop, str) else _texts(stop),
        )
    request = capture.request
    if request is None:
        return Asked()
    return Asked(
        stream=request.stream, cap_known=True, max_tokens=request.max_tokens, top_logprobs=request.top_logprobs
    )


def _sent(capture: Capture) -> dict[str, Any] | None:
    try:
        body = orjson.loads(capture.sent)
    except orjson.JSONDecodeError:
        return None
    return body if isinstance(body, dict) else None


def _typed(value: Any, kind: type[T]) -> T | None:
    return value if isinstance(value, kind) and not isinstance(value, bool) else None


def _texts(values: Any) -> tuple[str, ...]:
    return tuple(text for text in values if isinstance(text, str)) if isinstance(values, list) else ()
