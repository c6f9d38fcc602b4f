"""Server-sent events framed from raw bytes: only LF, CR LF and CR end a line, whatever the text holds.

Definition: WHATWG HTML, "Server-sent events", section "Interpreting an event stream". Two departures, both flagged
by the caller: a last event without its blank line is still returned, and unknown fields are kept as evidence.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import NamedTuple

from monitor.types import Read

EVIDENCE_CHARS = 200
"""How much of an unknown line is kept."""

_EVIDENCE_LINES = 5
_BOM = b"\xef\xbb\xbf"
_DATA = b"data: "
_event = tuple.__new__  # `Event(...)` at half its price
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


def _line_end(body: bytes) -> bytes | None:
    """The line end that `body` uses throughout, or None when it mixes them (a bare CR counts as mixed)."""
    crs = body.count(b"\r")
    if crs == 0:
        return b"\n"
    return b"\r\n" if crs == body.count(b"\n") == body.count(b"\r\n") else None


def _read_uniform(framer: _Framer, body: bytes, skipped: int, mark: bytes) -> None:
    """Take a body with one kind of line end. Cutting where data follow a blank line yields nearly all events whole."""
    blank, add = mark + mark, framer.events.append
    opening, to_blank = blank + _DATA, len(mark)
    first, *pieces = (blank + body).split(opening)
    last = pieces.pop() if pieces else None
    at = skipped - len(blank)
    _read_lines(framer, first if last is None else first + blank, at, mark)
    at += len(first) + len(opening)
    ends, stamps, read = framer.ends, [read.at_ns for read in framer.reads], 0
    for piece in pieces:
        end = at + len(piece) + to_blank
        if mark in piece:
            _read_lines(framer, _DATA + piece + blank, at - len(_DATA), mark)
        else:  # nearly all events
            while ends[read] <= end:
                read += 1
            add(_event(Event, (stamps[read], None, piece)))
        at = end + to_blank + len(_DATA)
    if last is not None:
        _read_lines(framer, _DATA + last, at - len(_DATA), mark)


def _read_lines(framer: _Framer, text: bytes, at: int, mark: bytes) -> None:
    """Take lines from the byte `at` on. What follows the last line end is an unfinished line."""
    *lines, unfinished = text.split(mark)
    for line in lines:
        if line:
            framer.line(line)
        else:
            framer.close(at)
        at += len(line) + len(mark)
    if unfinished:
        framer.line(unfinished)


def _read_mixed(framer: _Framer, body: bytes, skipped: int) -> None:
    """Take a body that mixes line ends."""
    start = 0
    for end in _LINE_END.finditer(body):
        if line := body[start : end.start()]:
            framer.line(line)
        else:
            framer.close(end.start() + skipped)
        start = end.end()
    if line := body[start:]:
        framer.line(line)


def frame(reads: Sequence[Read]) -> Framing:
    """Frame the body that `reads` make up. Linear in its size, however finely it is cut.

    All events that complete in one read carry the stamp of that read.
    """
    raw = b"".join([read.data for read in reads])
    body = raw.removeprefix(_BOM)
    skipped = len(raw) - len(body)
    framer = _Framer(reads, list(accumulate([len(read.data) for read in reads])))
    mark = _line_end(body)
    if mark is None:
        _read_mixed(framer, body, skipped)
    else:
        _read_uniform(framer, body, skipped, mark)
    unterminated = bool(framer.data)
    framer.close(len(raw) - 1)
    return Framing(
        events=tuple(framer.events),
        comments=framer.comments,
        unknown_lines=framer.unknown_lines,
        unknown=tuple(framer.unknown),
        unterminated=unterminated,
    )
