"""Parameters of requests as strangers write them."""

from collections.abc import Callable, Mapping
from typing import Any

from monitor.suites.importers.texts import UnfitError


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_stop(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, list) and all(isinstance(one, str) for one in value))


_TYPES: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    **dict.fromkeys(("max_tokens", "max_completion_tokens", "top_k"), (_is_whole, "whole number")),
    **dict.fromkeys(
        ("temperature", "top_p", "min_p", "presence_penalty", "frequency_penalty", "repetition_penalty"),
        (_is_number, "number"),
    ),
    "stop": (_is_stop, "text and no list of texts"),
    **dict.fromkeys(("parallel_tool_calls", "expected_tool_call", "should_call_tool"),
                    (lambda value: isinstance(value, bool), "true or false")),
    **dict.fromkeys(("official_finish_reason", "expect"), (lambda value: isinstance(value, str), "text")),
    **dict.fromkeys(("response_format", "logit_bias"), (lambda value: isinstance(value, dict), "object")),
}  # fmt: skip


def require_types(given: Mapping[str, Any]) -> None:
    """Raise UnfitError for the first known parameter that has a value of another type; null says nothing."""
    for key, (fits, kind) in _TYPES.items():
        if given.get(key) is not None and not fits(given[key]):
            raise UnfitError(f"{key} that is no {kind}")
