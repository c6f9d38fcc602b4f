"""Errors in an endpoint's own words: the shapes they come in, and what class of failure they name."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from monitor.types import Outcome
from monitor.wire.bounds import NAME_CHARS

EVIDENCE_CHARS = 200
"""How much of an endpoint's words is kept."""

_BY_WORD: dict[Outcome, set[str]] = {
    "quota_exhausted": {
        "insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "insufficient_credits",
        "insufficient_balance", "quota_exceeded", "insufficient_user_quota",
    },
    "rate_limited": {
        "rate_limit_exceeded", "rate_limit_error", "rate_limited", "too_many_requests", "throttling_error",
    },
    "filtered": {
        "content_filter", "content_policy_violation", "responsibleaipolicyviolation", "data_inspection_failed",
    },
    "auth_error": {"invalid_api_key", "authentication_error", "permission_error", "permission_denied", "unauthorized"},
}  # fmt: skip
_BY_STATUS: dict[int | None, Outcome] = {
    402: "quota_exhausted", 429: "rate_limited", 401: "auth_error", 403: "auth_error",
}  # fmt: skip
_PARAMETER = {"unsupported_parameter", "unsupported_value", "unknown_parameter", "invalid_parameter"}
_TOO_LONG = {"context_length_exceeded", "string_above_max_length"}
_SAMPLING = {
    "max_tokens", "max_completion_tokens", "temperature", "top_p", "top_k", "seed", "stop", "stream", "stream_options",
    "logprobs", "top_logprobs", "n", "tools", "tool_choice", "presence_penalty", "frequency_penalty",
    "response_format",
}  # fmt: skip
_NAMED = re.compile(
    r"\b(top_logprobs|logprobs|stream_options|max_completion_tokens|temperature|top_p|top_k|seed|tool_choice|tools)\b"
)


class ErrorBody(NamedTuple):
    """An error as the endpoint put it. ``words`` are its lower-cased code, type and inner code."""

    message: str
    status: int | None
    words: frozenset[str]
    param: str | None
    provider: str | None


def find_error(value: Any) -> ErrorBody | None:
    """Return the error that a decoded JSON value holds, in any of the common shapes, else None."""
    if not isinstance(value, dict):
        return None
    error = value.get("error")
    if not error:
        named = value.get("object") == "error" or value.get("type") == "error"
        if not named and ("message" not in value or "choices" in value):
            return None
        error = value
    if not isinstance(error, dict):
        return ErrorBody(_words(error), None, frozenset(), None, None)
    metadata = error.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    inner = error.get("innererror")
    words = [error.get("code"), error.get("type"), metadata.get("error_type")]
    words += [inner.get("code")] if isinstance(inner, dict) else []
    return ErrorBody(
        _message(error),
        _status(error.get("code")) or _status(error.get("status")),
        frozenset(word.lower() for word in words if isinstance(word, str)),
        param if isinstance(param := error.get("param"), str) else None,
        name[:NAME_CHARS] if isinstance(name := metadata.get("provider_name"), str) else None,
    )


def plain_error(text: bytes) -> ErrorBody:
    """An error that is no object: its first characters are all that is known."""
    return ErrorBody(evidence(text), None, frozenset(), None, None)


def evidence(data: bytes) -> str:
    """The first 200 characters of `data` as text."""
    return data[: 4 * EVIDENCE_CHARS].decode("utf-8", "replace")[:EVIDENCE_CHARS]


def _message(error: Mapping[str, Any]) -> str:
    for name in ("message", "detail", "msg"):
        if isinstance(text := error.get(name), str) and text:
            return text[:EVIDENCE_CHARS]
    return _words(error.get("code") or error.get("type") or "error without a message")


def _words(value: Any) -> str:
    """Any JSON value as the beginning of its text."""
    try:
        return str(value)[:EVIDENCE_CHARS]
    except RecursionError:
        return "error that is nested too deeply"


def _status(code: Any) -> int | None:
    """`code` as an HTTP status of an error."""
    if isinstance(code, str) and code.isascii() and code.isdigit() and len(code) == 3:
        code = int(code)
    return code if isinstance(code, int) and not isinstance(code, bool) and 400 <= code <= 599 else None


def outcome_of(status: int | None, error: ErrorBody | None) -> Outcome | None:
    """Return what a failed request is, from its HTTP status (or the one its body names) and its words."""
    words = error.words if error else frozenset[str]()
    status = status or (error.status if error else None)
    named = next((outcome for outcome, known in _BY_WORD.items() if words & known), _BY_STATUS.get(status))
    if named is not None:
        return named
    if error is not None and status in {None, 400, 422} and _names_parameter(error):
        return "unsupported_param"
    if status is None:
        return None
    return "http_5xx" if status >= 500 else "http_4xx"


def _names_parameter(error: ErrorBody) -> bool:
    """Whether the endpoint refuses one of our sampling parameters (a prompt that is too long is another matter)."""
    message = error.message.lower()
    if error.words & _PARAMETER:
        return True
    if error.words & _TOO_LONG or "context" in message:
        return False
    return error.param in _SAMPLING or _NAMED.search(message) is not None
