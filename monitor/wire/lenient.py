"""JSON as endpoints really send it: strict first, then with NaN, Infinity, broken UTF-8 and lone surrogates.

Everything that comes out can be written again as strict JSON.
"""

import json
from typing import Any

import orjson

_INT64_DIGITS = 18


class NotJsonError(ValueError):
    """The bytes are not JSON, even leniently."""


def loads(data: bytes) -> tuple[Any, tuple[str, ...]]:
    """Return the value and the flags for what had to be forgiven.

    Flags: ``invalid_utf8`` (replaced by U+FFFD), ``nonstandard_json`` (NaN, Infinity, lone surrogates).

    Raises
    ------
    NotJsonError
        When no leniency helps.
    """
    try:
        return orjson.loads(data), ()
    except orjson.JSONDecodeError:
        pass
    text = data.decode("utf-8", "replace")
    try:
        value = _writable(json.loads(text, parse_int=_number, strict=False))
    except (ValueError, RecursionError) as error:
        raise NotJsonError(str(error)) from None
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return value, ("invalid_utf8",)
    return value, ("nonstandard_json",)


def _number(digits: str) -> int | float:
    """An integer, or a float where it would not fit into 64 bits."""
    return int(digits) if len(digits) <= _INT64_DIGITS else float(digits)


def _writable(value: Any) -> Any:
    """The same value without lone surrogates, which UTF-8 cannot hold."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_writable(item) for item in value]
    if isinstance(value, dict):
        return {_writable(key): _writable(item) for key, item in value.items()}
    return value
