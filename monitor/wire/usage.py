"""What an endpoint's ``usage`` object means: vendors fold reasoning and cached tokens in, or leave them out."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any, Literal

from monitor.wire.bounds import MAX_TOKENS, NAME_CHARS
from monitor.wire.usage_shapes import chat_shaped

_BREADTH, _SIZE = 64, 512
"""Keys of one object, and values in all, of the largest usage that is read."""

SLACK = 2
"""Vendors' own sums are off by one or two tokens."""

Shape = Literal["plain", "folded", "unfolded", "ambiguous"]


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageReading:
    """Token counts after normalisation; None where not reported or not usable, never negative.

    ``generated`` is everything the model produced, reasoning included; ``visible`` the part outside reasoning.
    ``input_total`` is the whole prompt, ``uncached`` the part that no prefix cache served. ``shape`` says whether
    ``completion_tokens`` includes reasoning.
    """

    prompt: float | None
    completion: float | None
    reasoning: float | None
    cached: float | None
    generated: float | None
    visible: float | None
    input_total: float | None
    uncached: float | None
    shape: Shape
    flags: tuple[str, ...]


def read_usage(usage: Mapping[str, Any]) -> UsageReading:
    """Return the normalised counts of a usage object, of any protocol. Odd types are read leniently and flagged."""
    usage = chat_shaped(usage)
    flags: dict[str, None] = {}
    prompt = _count(usage.get("prompt_tokens"), flags)
    completion = _count(usage.get("completion_tokens"), flags)
    total = _count(usage.get("total_tokens"), flags)
    reasoning = _count(_detail(usage, "completion_tokens_details", "reasoning_tokens"), flags)
    cached = _count(_detail(usage, "prompt_tokens_details", "cached_tokens"), flags)
    if completion is not None and completion < 0:
        flags["negative_completion_tokens"] = None
        completion = None
    prompt, input_total, uncached = _input(prompt, cached, flags)
    generated, visible, shape = _output(prompt, completion, total, reasoning)
    if shape == "ambiguous":
        flags["usage_ambiguous"] = None
    return UsageReading(
        prompt=prompt, completion=completion, reasoning=reasoning, cached=cached, generated=generated,
        visible=visible, input_total=input_total, uncached=uncached, shape=shape, flags=tuple(flags),
    )  # fmt: skip


def completion_count(usage: Mapping[str, Any]) -> float | None:
    """``completion_tokens`` (or what the protocol calls it) as a usable number, else None."""
    count = usage.get("completion_tokens")
    if type(count) is not int:  # it nearly always is
        count = _count(chat_shaped(usage).get("completion_tokens"), {})
    return count if count is not None and count >= 0 else None


def adds_up(usage: Mapping[str, Any]) -> bool | None:
    """Whether the total is the sum of its parts, with reasoning or without; None where one of them is not counted."""
    total, read = usage.get("total_tokens"), read_usage(usage)
    if type(total) is not int or not read.prompt or read.completion is None:
        return None
    sums = {read.prompt + read.completion, (read.input_total or 0) + (read.generated or 0)}
    return any(abs(total - one) <= SLACK for one in sums)


def is_shallow(value: Any) -> bool:
    """Whether `value` is no deeper or larger than any real usage object, so that it can be written again."""
    if type(value) is dict and len(value) <= _BREADTH:
        for key, item in value.items():
            if type(item) is not int or len(key) > NAME_CHARS:
                break
        else:
            return True  # nearly all
    return _size(value, 8) <= _SIZE


def _size(value: Any, levels: int) -> int:
    """The number of values in `value`; more than `_SIZE` when it is too deep, too broad, or holds too long a text."""
    if not isinstance(value, dict | list):
        return 1 if not isinstance(value, str) or len(value) <= NAME_CHARS else _SIZE + 1
    if levels == 0 or len(value) > _BREADTH:
        return _SIZE + 1
    if isinstance(value, dict) and max(map(len, value), default=0) > NAME_CHARS:
        return _SIZE + 1
    size = len(value)
    for item in value.values() if isinstance(value, dict) else value:
        if type(item) is not int:  # nearly all are integers
            size += _size(item, levels - 1)
            if size > _SIZE:
                break
    return size


def _detail(usage: Mapping[str, Any], group: str, name: str) -> Any:
    details = usage.get(group)
    return details.get(name) if isinstance(details, Mapping) else usage.get(name)


def _count(value: Any, flags: dict[str, None]) -> float | None:
    if type(value) is int and -MAX_TOKENS <= value <= MAX_TOKENS:
        return value  # nearly all
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
        flags["usage_string"] = None
    if isinstance(value, bool) or not isinstance(value, int | float) or (type(value) is float and not isfinite(value)):
        return None
    if abs(value) > MAX_TOKENS:  # no answer has so many
        flags["usage_implausible"] = None
        return None
    if value != int(value):
        flags["usage_fractional"] = None
        return value
    return int(value)


def _input(
    prompt: float | None, cached: float | None, flags: dict[str, None]
) -> tuple[float | None, float | None, float | None]:
    """Return prompt, whole input and uncached part. A cached count above the prompt was left out of it."""
    if prompt is not None and prompt < 0:
        flags["negative_prompt_tokens"] = None
        return None, cached, None if cached is None else 0
    if prompt is None or cached is None or cached < 0:
        return prompt, prompt, None
    if cached > prompt:
        flags["cached_exceeds_prompt"] = None
        return prompt, prompt + cached, prompt
    return prompt, prompt, prompt - cached


def _output(
    prompt: float | None, completion: float | None, total: float | None, reasoning: float | None
) -> tuple[float | None, float | None, Shape]:
    """Return generated tokens, visible tokens and whether reasoning is inside ``completion_tokens``."""
    if completion is None or reasoning is None or reasoning < 0:
        return completion, completion, "plain"
    if reasoning <= completion + SLACK and _near(total, prompt, completion):
        return completion, max(completion - reasoning, 0), "folded"
    if total is not None and prompt is not None and _near(total, prompt, completion + reasoning):
        return completion + reasoning, completion, "unfolded"
    return None, None, "ambiguous"


def _near(total: float | None, prompt: float | None, output: float) -> bool:
    """Whether the sum holds, as far as it was reported."""
    return total is None or prompt is None or abs(total - prompt - output) <= SLACK
