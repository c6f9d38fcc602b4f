"""What may stay of an answer whose content is dropped: counts under known names, and names that are short tokens."""

import re
from collections.abc import Mapping
from typing import Any

_GROUPS = frozenset({
    "prompt_tokens_details", "completion_tokens_details", "input_tokens_details", "output_tokens_details",
})  # fmt: skip
_COUNTS = frozenset({
    "prompt_tokens", "completion_tokens", "total_tokens", "input_tokens", "output_tokens", "reasoning_tokens",
    "cached_tokens", "audio_tokens", "accepted_prediction_tokens", "rejected_prediction_tokens",
    "prompt_cache_hit_tokens", "prompt_cache_miss_tokens", "cache_read_input_tokens", "cache_creation_input_tokens",
    "eval_count", "prompt_eval_count",
})  # fmt: skip
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@+\-]{0,79}(?: [A-Za-z0-9.\-]{1,16}){0,2}", re.ASCII)
_WORD = re.compile(r"[A-Za-z0-9_\-]{1,32}")
_FLAG = re.compile(r"[a-z0-9_]{1,48}(?::[A-Za-z0-9_.\-]{1,32})?")
_DIGITS = re.compile(r"-?[0-9]{1,15}")


def counts_alone(usage: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return the counts in `usage` under the names that are read, and nothing else; a number in quotes as a number."""
    if usage is None:
        return None
    kept: dict[str, Any] = {}
    for key, value in usage.items():
        if key in _GROUPS and isinstance(value, Mapping):
            kept[key] = {name: count for name, one in value.items()
                         if name in _COUNTS and (count := _count(one)) is not None}  # fmt: skip
        elif key in _COUNTS and (count := _count(value)) is not None:
            kept[key] = count
    return kept


def _count(value: Any) -> float | None:
    if isinstance(value, str) and _DIGITS.fullmatch(value):
        return int(value)
    return value if type(value) in {int, float} else None


def named_alone(said: str | None) -> str | None:
    """Return `said` when it can be the name of a model, a provider or a build: a token of 80 characters at most.

    Two short words may follow, as in names of providers. Anything longer or stranger is dropped.
    """
    return said if said is not None and _NAME.fullmatch(said) else None


def finish_named(said: str | None) -> str | None:
    """Return a finish reason; of one that nobody knows only the word itself, and no sentence."""
    if said is None or not said.startswith("other:"):
        return said
    return said if _WORD.fullmatch(said.removeprefix("other:")) else "other"


def flag_alone(flag: str) -> bool:
    """Whether what a flag quotes is no more than a short token."""
    return _FLAG.fullmatch(flag) is not None
