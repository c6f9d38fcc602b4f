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
LENGTH = re.compile("[0-9]{1,18}")
"""A ``Content-Length`` that can be one."""

_BODILESS = frozenset({204, 304})


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
    """Parse what was read from the socket. Interim 1xx responses are skipped. Status None: no head came through."""
    raw = b"".join(read.data for read in reads)
    start = 0
    while True:
        head = read_head(raw, start)
        start += head.size
        if head.status is None or not 100 <= head.status < 200:
            break
    if head.status is None:
        return Response(status=None, headers=(), reads=(), end="unclean")
    spans, complete = _spans(raw, start, head)
    return Response(
        status=head.status,
        headers=head.headers,
        reads=tuple(_cut(raw, reads, spans)),
        end="complete" if complete else "unclean",
    )


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
    fields = {name.lower(): value for name, value in head.headers}
    if head.status in _BODILESS:
        return [], True
    if "chunked" in fields.get("transfer-encoding", "").lower():
        return _chunks(raw, start)
    length = fields.get("content-length", "")
    if not LENGTH.fullmatch(length):
        return [(start, len(raw))], True
    return [(start, min(start + int(length), len(raw)))], len(raw) - start >= int(length)


def _chunks(raw: bytes, at: int) -> tuple[list[tuple[int, int]], bool]:
    spans: list[tuple[int, int]] = []
    while True:
        end = raw.find(b"\n", at)
        size = _size(raw[at:end]) if end >= 0 else None
        if size is None or size == 0:
            return spans, size == 0
        start = end + 1
        spans.append((start, min(start + size, len(raw))))
        at = start + size
        if at >= len(raw):
            return spans, False
        at += 2 if raw[at : at + 2] == b"\r\n" else 1


def _size(line: bytes) -> int | None:
    digits = line.partition(b";")[0].strip()
    try:
        return int(digits, 16) if digits.isalnum() else None
    except ValueError:
        return None


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
