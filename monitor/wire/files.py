"""Capture files: what `weighmaster decode` and `replay` read, and the self-contained form that tests and reports keep.

Formats: ``sse`` body bytes; ``http`` status line, headers, body; ``reads`` JSON lines ``{"b64"}``, one per socket
read; ``timed`` JSON lines ``{"at_ms", "send"|"b64"}`` with an optional last ``{"at_ms", "close": "fin"|"rst"}``, times
from t0; ``capture`` what `dump` writes; ``har`` an entry of an HTTP archive; ``curl`` what ``curl -i`` prints. A body
of the first, third and fourth kind that begins with ``HTTP/1.`` is taken as a whole response.
"""

import base64
import binascii
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import orjson

from monitor.errors import UsageError
from monitor.types import Capture, End, Read
from monitor.wire.capture_file import dump, load_capture
from monitor.wire.curl_file import load_curl
from monitor.wire.har_file import load_har
from monitor.wire.http1 import PREFIX, parse

__all__ = ["FORMATS", "RECORDINGS", "Recording", "dump", "load", "recording"]

_NS_PER_MS = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """What a socket yielded. Stamps are ns from t0 if ``timed``; ``eof_ns`` None: no close was recorded."""

    reads: tuple[Read, ...]
    timed: bool = False
    end: End = "complete"
    eof_ns: int | None = None

    @property
    def is_response(self) -> bool:
        """Whether the reads are a whole HTTP response, not a body."""
        start = b""
        for read in self.reads:
            start += read.data[: len(PREFIX)]
            if len(start) >= len(PREFIX):
                break
        return start.startswith(PREFIX)

    @property
    def assumed_type(self) -> str:
        """Content type that a body without a head is taken to have."""
        start = next((text for read in self.reads if (text := read.data.lstrip())), b"")
        return "application/json" if start.startswith(b"{") else "text/event-stream"


def load(data: bytes, format: str, *, index: int | None = None) -> Capture:  # noqa: A002  # the command line's word
    """Return the capture that `data` holds in the named `format`; `index` is the number of an entry of a ``har``.

    Raises
    ------
    UsageError
        When the format is unknown or the data is not in it; names the line and the remedy.
    """
    if index is not None and format != "har":
        raise UsageError(f"only a har holds several entries: leave out the index, or name another format than {format}")
    if format == "har":
        return load_har(data, index)
    whole = _WHOLE.get(format)
    return _capture(recording(data, format)) if whole is None else whole(data)


def recording(data: bytes, format: str) -> Recording:  # noqa: A002
    """Return the raw reads that `data` holds in one of `RECORDINGS`. Raises like `load`."""
    if format not in _READERS:
        raise UsageError(f"unknown capture format {format!r}: use one of {', '.join(FORMATS)}")
    return _READERS[format](data)


def _sse(data: bytes) -> Recording:
    return Recording(reads=(Read(0, data),) if data else ())


def _http(data: bytes) -> Recording:
    data = data.lstrip(b"\r\n")
    if not data.startswith(PREFIX):
        raise UsageError("line 1: an http capture begins with a status line, as in 'HTTP/1.1 200 OK'; try --format sse")
    return _sse(data)


def _reads(data: bytes) -> Recording:
    return Recording(reads=tuple(Read(0, _payload(item, number)) for number, item in _items(data)))


def _timed(data: bytes) -> Recording:
    reads: list[Read] = []
    end: End = "complete"
    eof_ns: int | None = None
    last = 0
    for number, item in _items(data):
        if eof_ns is not None:
            raise UsageError(f"line {number}: nothing can follow a close: make it the last line")
        last = _stamp(item, number, last)
        if "close" in item:
            eof_ns, end = last, _closing(item["close"], number)
        elif "accept" not in item:
            reads.append(Read(last, _payload(item, number)))
    return Recording(reads=tuple(reads), timed=True, end=end, eof_ns=eof_ns)


_READERS: dict[str, Callable[[bytes], Recording]] = {"sse": _sse, "http": _http, "reads": _reads, "timed": _timed}

_WHOLE: dict[str, Callable[[bytes], Capture]] = {"capture": load_capture, "curl": load_curl}

RECORDINGS = tuple(_READERS)
"""Formats that hold what a socket yielded."""

FORMATS = (*_READERS, *_WHOLE, "har")
"""All format names."""


def _capture(raw: Recording) -> Capture:
    """The capture of a recording: a response taken apart, or a body under an assumed head."""
    t0_ns = 0 if raw.timed else None
    first_byte_ns = next((read.at_ns for read in raw.reads if read.data), None)
    if not raw.is_response:
        return Capture(
            status=200, headers=(("content-type", raw.assumed_type),), reads=raw.reads, end=raw.end, t0_ns=t0_ns,
            eof_ns=raw.eof_ns, first_byte_ns=first_byte_ns,
        )  # fmt: skip
    response = parse(raw.reads)
    return Capture(
        status=response.status, headers=response.headers, reads=response.reads, t0_ns=t0_ns, eof_ns=raw.eof_ns,
        end=raw.end if raw.end != "complete" else response.end, first_byte_ns=first_byte_ns,
    )  # fmt: skip


def _items(data: bytes) -> Iterator[tuple[int, dict[str, Any]]]:
    """The JSON objects of `data`, one a line, with their line numbers."""
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            item = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            raise UsageError(f"line {number}: not JSON ({error}): write one object per line") from None
        if not isinstance(item, dict):
            raise UsageError(f'line {number}: not an object: write {{"at_ms": 0, "send": "..."}} or {{"b64": "..."}}')
        yield number, item


def _payload(item: dict[str, Any], number: int) -> bytes:
    """The bytes of a line, from ``send`` (text) or ``b64``."""
    text, encoded = item.get("send"), item.get("b64")
    if isinstance(text, str):
        return text.encode()
    if not isinstance(encoded, str):
        raise UsageError(f'line {number}: nothing to send: give "send" (text) or "b64" (base64)')
    try:
        return base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        raise UsageError(f'line {number}: "b64" is not base64: encode the bytes of the read') from None


def _stamp(item: dict[str, Any], number: int, last: int) -> int:
    """The time of a line in ns from t0; times may not go back."""
    at_ms = item.get("at_ms")
    if isinstance(at_ms, bool) or not isinstance(at_ms, int | float) or not 0 <= at_ms < 1e12:
        raise UsageError(f'line {number}: "at_ms" must be a number of milliseconds from t0, 0 or more')
    at_ns = round(at_ms * _NS_PER_MS)
    if at_ns < last:
        raise UsageError(f'line {number}: "at_ms" goes back: sort the lines by time')
    return at_ns


def _closing(how: Any, number: int) -> End:
    if how == "fin":
        return "complete"
    if how == "rst":
        return "reset"
    raise UsageError(f'line {number}: "close" must be "fin" or "rst"')
