"""A capture as one self-contained JSON document, exact to the nanosecond."""

import base64
from collections.abc import Sequence
from dataclasses import fields
from typing import Any, TypeGuard

import orjson

from monitor.codec import decode, encode, plain
from monitor.errors import UsageError
from monitor.types import Capture, Read

_NS_PER_MS = 1e6
_REMEDY = "use one that weighmaster wrote, or name its format"
_LARGEST = 2**62
"""Of a clock in ns: the difference of two is still a 64-bit integer."""


def dump(capture: Capture) -> bytes:
    """Return `capture` as JSON that `monitor.wire.files.load` reads back identically.

    Reads carry ``at_ms`` from ``base_ns`` (t0, else the first read) and their bytes in base64; ``sent`` is text when
    it is UTF-8.
    """
    base_ns = capture.t0_ns if capture.t0_ns is not None else capture.reads[0].at_ns if capture.reads else 0
    document: dict[str, Any] = {"weighmaster": "capture", "base_ns": base_ns}
    for field in fields(Capture):
        if field.name not in {"reads", "sent"}:
            document[field.name] = plain(getattr(capture, field.name))
    try:
        document["sent"] = capture.sent.decode()
    except UnicodeDecodeError:
        document["sent_b64"] = base64.b64encode(capture.sent).decode()
    document["reads"] = [
        {"at_ms": (read.at_ns - base_ns) / _NS_PER_MS, "b64": base64.b64encode(read.data).decode()}
        for read in capture.reads
    ]
    return orjson.dumps(document, option=orjson.OPT_INDENT_2) + b"\n"


def load_capture(data: bytes) -> Capture:
    """Return the capture that `dump` wrote.

    Raises
    ------
    UsageError
        When `data` is no such document; names the field.
    """
    document = _document(data)
    try:
        reads, sent = _reads(document), _sent(document)
        rest = decode(Capture, encode(document))
        _check(rest, reads)
    except (ValueError, TypeError) as error:
        raise UsageError(f"damaged capture file: {error}: use one that weighmaster wrote") from None
    values = {field.name: getattr(rest, field.name) for field in fields(Capture)}
    if unknown := sorted(document.keys() - values.keys()):
        raise UsageError(f"capture file with unknown fields {', '.join(unknown)}: remove them, or use a newer version")
    return Capture(**(values | {"reads": reads, "sent": sent}))


def _document(data: bytes) -> dict[str, Any]:
    try:
        document = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise UsageError(f"not a capture file (not JSON: {error}): {_REMEDY}") from None
    if not isinstance(document, dict) or document.pop("weighmaster", None) != "capture":
        raise UsageError(f'not a capture file (no object with "weighmaster": "capture"): {_REMEDY}')
    return document


def _reads(document: dict[str, Any]) -> tuple[Read, ...]:
    """Take the reads out of `document`. Raises `ValueError` or `TypeError` that names the field."""
    base_ns, items = document.pop("base_ns", None), document.pop("reads", None)
    if not _is_number(base_ns):
        raise ValueError("base_ns: no number")
    if not isinstance(items, list):
        raise TypeError("reads: no list")
    return tuple(_read(item, base_ns, f"reads.{at}") for at, item in enumerate(items))


def _read(item: Any, base_ns: float, place: str) -> Read:
    if not isinstance(item, dict) or not _is_number(at_ms := item.get("at_ms")):
        raise ValueError(f'{place}: no object with the number "at_ms"')
    return Read(int(base_ns) + round(at_ms * _NS_PER_MS), _unpacked(item.get("b64"), f"{place}.b64"))


def _sent(document: dict[str, Any]) -> bytes:
    """Take the request's body out of `document`: base64 where it is no text."""
    if "sent_b64" in document:
        return _unpacked(document.pop("sent_b64"), "sent_b64")
    text = document.pop("sent", None)
    if not isinstance(text, str):
        raise TypeError("sent: no text")
    return text.encode()


def _unpacked(text: Any, place: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (ValueError, TypeError):
        raise ValueError(f"{place}: not base64") from None


def _is_number(value: Any) -> TypeGuard[float]:
    """Whether `value` is a number that a clock could show; booleans are none."""
    return type(value) in {int, float} and abs(value) <= _LARGEST


def _check(capture: Capture, reads: Sequence[Read]) -> None:
    """Raise `ValueError` for a number that is none of its kind."""
    for field in fields(Capture):
        value = getattr(capture, field.name)
        if type(value) is int and not -_LARGEST <= value <= _LARGEST:
            raise ValueError(f"{field.name}: {value} is no such number")
    if capture.status is not None and not 100 <= capture.status <= 999:
        raise ValueError(f"status: {capture.status} is no HTTP status")
    if not all(-_LARGEST <= read.at_ns <= _LARGEST for read in reads):
        raise ValueError("reads: a time that is no clock's")
