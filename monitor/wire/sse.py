"""Server-sent events framed from raw bytes: only LF, CR LF and CR end a line, whatever the text holds.

Definition: WHATWG HTML, "Server-sent events", section "Interpreting an event stream". Two departures, both flagged
by the caller: a last event without its blank line is still returned, and unknown fields are kept as evidence.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import NamedTuple

from monitor.types import Read

EVIDENCE_CHARS = 200
"""How much of an unknown line is kept."""

_EVIDENCE_LINES = 5
_BOM = b"\xef\xbb\xbf"
_LINE_END = re.compile(rb"\r\n|\n|\r")


class Event(NamedTuple):
    """One event: the stamp of the read that completed it, its name (None if unnamed) and its data lines joined."""

    at_ns: int
    name: str | None
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Framing:
    """All that a stream holds. ``unknown`` are the first lines (200 characters each) with a field no one defined.

    ``unterminated`` says that the last event was not closed by a blank line.
    """

    events: tuple[Event, ...]
    comments: int
    unknown_lines: int
    unknown: tuple[str, ...]
    unterminated: bool


@dataclass(slots=True)
class _Framer:
    """The open event and the counts so far. ``ends`` are the offsets at which the reads end."""

    reads: Sequence[Read]
    ends: list[int]
    read: int = 0
    events: list[Event] = field(default_factory=list)
    data: list[bytes] = field(default_factory=list)
    name: str | None = None
    comments: int = 0
    unknown_lines: int = 0
    unknown: list[str] = field(default_factory=list)

    def line(self, line: bytes) -> None:
        """Take a line that is not blank."""
        name, colon, value = line.partition(b":")
        if colon and not name:
            self.comments += 1
            return
        value = value.removeprefix(b" ")
        if name == b"data":
            self.data.append(value)
        elif name == b"event":
            self.name = value.decode("utf-8", "replace")
        elif name not in {b"id", b"retry"}:
            self.unknown_lines += 1
            if len(self.unknown) < _EVIDENCE_LINES:
                self.unknown.append(line[: 4 * EVIDENCE_CHARS].decode("utf-8", "replace")[:EVIDENCE_CHARS])

    def close(self, offset: int) -> None:
        """End the open event at the byte `offset`; offsets only grow."""
        if self.data:
            while self.ends[self.read] <= offset:
                self.read += 1
            data = self.data[0] if len(self.data) == 1 else b"\n".join(self.data)
            self.events.append(Event(self.reads[self.read].at_ns, self.name, data))
            self.data.clear()
        self.name = None


def _lines(body: bytes) -> Iterator[tuple[bytes, int]]:
    """Yield each line with the offset of its line end (of the body's end for the last one)."""
    crs, lfs, pairs = body.count(b"\r"), body.count(b"\n"), body.count(b"\r\n")
    if crs == 0 or crs == lfs == pairs:
        mark = b"\r\n" if crs else b"\n"
        offset = -len(mark)
        for line in body.split(mark):
            offset += len(line) + len(mark)
            yield line, offset
        return
    start = 0
    for end in _LINE_END.finditer(body):
        yield body[start : end.start()], end.start()
        start = end.end()
    yield body[start:], len(body)


def frame(reads: Sequence[Read]) -> Framing:
    """Frame the body that `reads` make up. Linear in its size, however finely it is cut.

    All events that complete in one read carry the stamp of that read.
    """
    raw = b"".join([read.data for read in reads])
    body = raw.removeprefix(_BOM)
    skipped = len(raw) - len(body)
    framer = _Framer(reads, list(accumulate([len(read.data) for read in reads])))
    for line, end in _lines(body):
        if line.startswith(b"data: "):
            framer.data.append(line[6:])
        elif line:
            framer.line(line)
        elif end < len(body):
            framer.close(end + skipped)
    unterminated = bool(framer.data)
    framer.close(len(raw) - 1)
    return Framing(
        events=tuple(framer.events),
        comments=framer.comments,
        unknown_lines=framer.unknown_lines,
        unknown=tuple(framer.unknown),
        unterminated=unterminated,
    )
