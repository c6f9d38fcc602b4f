"""Arguments of a call, read as strictly as RFC 8259 and I-JSON (RFC 7493) are written.

Lenient readers hide what breaks agents: the last of two equal keys wins, NaN becomes a number, what follows the
object is dropped.
"""

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NoReturn

MAX_CHARS = 1_000_000
MAX_DEPTH = 64
MAX_DIGITS = 300
"""More digits than this fit into no double."""

JsonFault = Literal[
    "empty", "too_large", "too_deep", "not_json", "trailing_bytes", "nonstandard_number", "duplicate_key", "not_object",
    "lone_surrogate",
]  # fmt: skip
"""Why a text is no strict JSON object."""

_BLANKS = " \t\n\r"
_HALF = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)', re.DOTALL)
"""A string, or one without an end. It matches from every quote and never goes back, so that reading stays linear."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StrictJson:
    """What a text holds. ``at`` is the character at which the fault shows, None where it has no place."""

    value: Any = None
    fault: JsonFault | None = None
    at: int | None = None


class _FaultError(ValueError):
    """Carries a fault out of the decoder."""

    def __init__(self, fault: JsonFault) -> None:
        self.fault: JsonFault = fault
        super().__init__(fault)


def read_strict(text: str, *, max_chars: int = MAX_CHARS, max_depth: int = MAX_DEPTH) -> StrictJson:
    """Return the JSON value of `text`, or the first fault. Whatever the text is, nothing is raised."""
    body = text.strip(_BLANKS) if len(text) <= max_chars else ""
    begin = text.index(body[0]) if body else 0
    if len(text) > max_chars:
        found = StrictJson(fault="too_large", at=max_chars)
    elif not body:
        found = StrictJson(fault="empty", at=0)
    elif _depth(body) > max_depth:
        found = StrictJson(fault="too_deep", at=begin)
    else:
        found = _decoded(body, begin)
    return found


def read_object(text: str, *, max_chars: int = MAX_CHARS, max_depth: int = MAX_DEPTH) -> StrictJson:
    """Return the JSON object in `text`; any other value is the fault ``not_object``."""
    found = read_strict(text, max_chars=max_chars, max_depth=max_depth)
    if found.fault is None and not isinstance(found.value, dict):
        return StrictJson(fault="not_object", at=0)
    return found


def _decoded(body: str, begin: int) -> StrictJson:
    """Decode `body`, which begins at the character `begin` of the text."""
    try:
        value, end = _DECODER.raw_decode(body)
    except _FaultError as error:
        return StrictJson(fault=error.fault)
    except json.JSONDecodeError as error:
        return StrictJson(fault="not_json", at=begin + error.pos)
    except (ValueError, RecursionError):
        return StrictJson(fault="not_json", at=begin)
    if end < len(body):
        return StrictJson(fault="trailing_bytes", at=begin + end)
    return StrictJson(fault="lone_surrogate") if _has_half_a_character(body, value) else StrictJson(value=value)


def _has_half_a_character(body: str, value: Any) -> bool:
    """Whether a text in `value`, which `body` says, is no Unicode: a half of a pair stands alone."""
    if _HALF.search(body) is None:
        return False
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    return False


def _depth(text: str) -> int:
    """How deeply brackets nest outside of strings."""
    depth = deepest = 0
    for sign in re.findall(r"[\[\]{}]", _STRING.sub("", text)):
        depth += 1 if sign in "[{" else -1
        deepest = max(deepest, depth)
    return deepest


def _object(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _FaultError("duplicate_key")
    return found


def _no_constant(_name: str) -> NoReturn:
    raise _FaultError("nonstandard_number")


def _integer(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise _FaultError("nonstandard_number")
    return int(digits)


def _fraction(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise _FaultError("nonstandard_number")
    return number


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object, parse_constant=_no_constant, parse_int=_integer, parse_float=_fraction
)
