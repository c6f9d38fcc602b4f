"""Nouns to JSON and back. Non-finite numbers become null; fields that a noun does not have are dropped."""

import math
from collections.abc import Sequence
from functools import cache
from typing import Any, TypeVar

import orjson
from pydantic import TypeAdapter, ValidationError

T = TypeVar("T")


def _json(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if isinstance(value, Sequence):
        return tuple(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")


def encode(value: object) -> bytes:
    """Return compact JSON of a frozen dataclass (or of JSON-able containers of them)."""
    return orjson.dumps(value, default=_json, option=orjson.OPT_UTC_Z | orjson.OPT_NON_STR_KEYS)


@cache
def _adapter(kind: type) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def decode(kind: type[T], data: bytes) -> T:
    """Return the noun that `data` encodes.

    Raises
    ------
    ValueError
        When the JSON is not that noun; the message names the field.
    """
    try:
        noun: T = _adapter(kind).validate_json(data)  # type: ignore[arg-type]  # every class is hashable
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "document"
        raise ValueError(f"not a {kind.__name__}: {place}: {first['msg']}") from None
    return noun


def plain(value: object) -> Any:
    """Return `value` as dicts, lists, strings and numbers (through JSON)."""
    return orjson.loads(encode(value))


def finite(value: float | None) -> float | None:
    """Return the number, or None when it is missing, infinite or not a number."""
    return value if value is not None and math.isfinite(value) else None
