"""A capture as one self-contained JSON document, exact to the nanosecond."""

import base64
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import orjson

from monitor.codec import decode, encode, plain
from monitor.errors import UsageError
from monitor.types import Capture, Read

_NS_PER_MS = 1e6
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
    try:
        document = orjson.loads(data)
        base_ns = int(document.pop("base_ns"))
        document.pop("weighmaster")
        reads = tuple(_read(item, base_ns) for item in document.pop("reads"))
        sent = base64.b64decode(document.pop("sent_b64")) if "sent_b64" in document else document.pop("sent").encode()
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise UsageError(f"not a capture file ({error}): use one that weighmaster wrote, or name its format") from None
    try:
        rest = decode(Capture, encode(document))
        _check(rest, reads)
    except (ValueError, TypeError) as error:
        raise UsageError(f"damaged capture file: {error}: use one that weighmaster wrote") from None
    values = {field.name: getattr(rest, field.name) for field in fields(Capture)}
    if unknown := sorted(document.keys() - values.keys()):
        raise UsageError(f"capture file with unknown fields {', '.join(unknown)}: remove them, or use a newer version")
    return Capture(**(values | {"reads": reads, "sent": sent}))


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


def _read(item: dict[str, Any], base_ns: int) -> Read:
    return Read(base_ns + round(item["at_ms"] * _NS_PER_MS), base64.b64decode(item["b64"]))
