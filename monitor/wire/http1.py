"""A recorded HTTP/1.x response taken apart: status, headers, body. Tolerates a cut anywhere (RFC 9112)."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

from monitor.types import End, Read

PREFIX = b"HTTP/1."

_STATUS = re.compile("[0-9]{3}")
_STATUS_LINE = re.compile(r"HTTP/1\.[01] [0-9]{3}(?: .*)?", re.DOTALL)
_FIELD = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[\t\x20-\x7e\x80-\xff]*")
_CHUNK_SIZE = re.compile(rb"([0-9a-fA-F]{1,16})[ \t]*(?:;[^\r\n]*)?\r\n")
_LONGEST = 2**64
LENGTH = re.compile("[0-9]{1,18}")
"""A ``Content-Length`` that can be one."""

_BODILESS = frozenset({204, 304})
_SWITCHING = 101


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """One response. ``reads`` are its body without framing, with the stamps of the raw reads.

    ``end`` is ``unclean`` when the framing promised more than came.
    """

    status: int | None
    headers: tuple[tuple[str, str], ...]
    reads: tuple[Read, ...]
    end: End


class Head(NamedTuple):
    """A status line and its headers; ``size`` is how many bytes they took. Status None: it was no whole head."""

    status: int | None
    headers: tuple[tuple[str, str], ...]
    size: int


def parse(reads: Sequence[Read]) -> Response:
    """Parse what was read from the socket, as strictly as the live transport does (llhttp).

    Interim 1xx responses are skipped. Status None: no head came through that is one.
    """
    raw = b"".join(read.data for read in reads)
    start = 0
    while True:
        head = read_head(raw, start)
        if head.status is None or not _is_sound(raw, start, head):
            return Response(status=None, headers=(), reads=(), end="unclean")
        start += head.size
        if head.status >= 200 or head.status == _SWITCHING:
            break
    spans, complete = _spans(raw, start, head)
    return Response(
        status=head.status,
        headers=head.headers,
        reads=tuple(_cut(raw, reads, spans)),
        end="complete" if complete else "unclean",
    )


def _is_sound(raw: bytes, start: int, head: Head) -> bool:
    """Whether every line is what it should be, and the length of the body is told at most once."""
    text = raw[start : start + head.size].decode("latin-1")
    first, *lines = [line.removesuffix("\r") for line in text.split("\n")[:-2]]
    lengths, codings = _values(head, "content-length"), _values(head, "transfer-encoding")
    return (
        _STATUS_LINE.fullmatch(first) is not None
        and all(_FIELD.fullmatch(line) for line in lines)
        and len(lengths) + bool(codings) <= 1
        and all(length.isascii() and length.isdecimal() and int(length[:30]) < _LONGEST for length in lengths)
    )


def _values(head: Head, name: str) -> list[str]:
    return [value for key, value in head.headers if key.lower() == name]


def read_head(raw: bytes, start: int) -> Head:
    """Return status and headers from the byte `start` on; lines may end in CR LF or LF."""
    lines: list[str] = []
    at = start
    while True:
        end = raw.find(b"\n", at)
        if end < 0:
            return Head(None, (), len(raw) - start)
        line = raw[at:end].rstrip(b"\r").decode("latin-1")
        at = end + 1
        if not line:
            break
        lines.append(line)
    words = lines[0].split(None, 2) if lines else []
    status = int(words[1]) if len(words) > 1 and _STATUS.fullmatch(words[1]) else None
    fields = (line.partition(":") for line in lines[1:])
    return Head(status, tuple((name.strip(), value.strip()) for name, colon, value in fields if colon), at - start)


def _spans(raw: bytes, start: int, head: Head) -> tuple[list[tuple[int, int]], bool]:
    """Where the body's bytes lie in `raw`, and whether the framing was completed."""
    if head.status in _BODILESS:
        return [], True
    if head.status == _SWITCHING:
        return [], False
    codings, lengths = _values(head, "transfer-encoding"), _values(head, "content-length")
    if codings and codings[-1].rpartition(",")[2].strip().lower() == "chunked":
        return _chunks(raw, start)
    if not lengths:
        return [(start, len(raw))], True
    end = start + int(lengths[0])
    return [(start, min(end, len(raw)))], len(raw) >= end


def _chunks(raw: bytes, at: int) -> tuple[list[tuple[int, int]], bool]:
    spans: list[tuple[int, int]] = []
    while True:
        line = _CHUNK_SIZE.match(raw, at)
        if line is None:
            return spans, False
        start, size = line.end(), int(line[1], 16)
        if size == 0:
            return spans, _is_trailer(raw, start)
        at = start + size
        spans.append((start, min(at, len(raw))))
        if raw[at : at + 2] != b"\r\n":
            return spans, False
        at += 2


def _is_trailer(raw: bytes, at: int) -> bool:
    """Whether the lines up to a blank one are all there, and are fields."""
    while (end := raw.find(b"\n", at)) >= 0:
        line = raw[at:end].removesuffix(b"\r").decode("latin-1")
        if not line:
            return True
        if not _FIELD.fullmatch(line):
            return False
        at = end + 1
    return False


def _cut(raw: bytes, reads: Sequence[Read], spans: Sequence[tuple[int, int]]) -> Iterator[Read]:
    """The spans as reads, cut where the raw reads were cut and stamped like them."""
    ends = list(accumulate(len(read.data) for read in reads))
    for start, end in spans:
        at = start
        while at < end:
            read = bisect_right(ends, at)
            stop = min(end, ends[read])
            yield Read(reads[read].at_ns, raw[at:stop])
            at = stop
