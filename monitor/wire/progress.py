"""How far an answer has come, told from the bytes while they arrive: its last token, and its end marker.

A connection is alive while anything comes; a generation only while tokens do. Comments, empty deltas, role chunks,
``message_start``, pings and blank lines are no tokens, whatever they were cut into (case TR-10). What counts is decided
by the reader of the protocol, on the last events only, and when somebody looks, not with every read.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice

from monitor.types import Read
from monitor.wire.body import SSE_STARTS, sniff
from monitor.wire.chat_state import Answer, Reader
from monitor.wire.ndjson import frame_lines
from monitor.wire.sse import Event, Framing, frame

_WINDOWS = (4 * 1024, 64 * 1024, 1024 * 1024)
"""So many of the last bytes are looked at, more only where the fewer hold no token. That bounds one look."""

_EVENTS = 256
"""So many of the last events are parsed in one look. Behind the last token of a live stream stand a few."""

_KEPT = 64 * 1024
"""Bytes of an unfinished event that are looked at again. One that is longer is no keep-alive."""

_ENDS = (b"\n\n", b"\r\n\r\n", b"\r\r")


@dataclass(slots=True)
class Progress:
    """Follows one body. ``token_ns`` and ``done_ns`` are stamps of reads; None while there was no token or end marker.

    ``reader`` knows the events of the protocol; ``ndjson`` says that it streams one JSON object per line. Of a body
    that is no stream (one JSON object, a page, packed bytes) every read that is not blank is progress.
    """

    reader: Reader = Answer
    ndjson: bool = False
    token_ns: int | None = None
    done_ns: int | None = None
    _n_seen: int = 0
    _rest: list[Read] = field(default_factory=list)
    _streams: bool | None = None

    def look(self, stamps: Sequence[int], bodies: Sequence[bytes]) -> None:
        """Take in the reads that came since the last look; both sequences hold all reads so far and only grow."""
        start, self._n_seen = self._n_seen, len(stamps)
        if start == self._n_seen:
            return
        if self._streams is None:
            self._rest += [Read(*read) for read in zip(stamps[start:], bodies[start:], strict=True)]
            start = self._n_seen
            self._streams = self._sniffed()
            if self._streams is None:
                return
        if self._streams:
            self._follow(start, stamps, bodies)
            return
        fresh = [*self._rest, *map(Read, stamps[start:], bodies[start:])]
        self._rest = []
        self.token_ns = next((read.at_ns for read in reversed(fresh) if read.data.strip()), self.token_ns)

    def _sniffed(self) -> bool | None:
        """Whether the body is a stream; None while that cannot be told."""
        start = b"".join([read.data for read in self._rest]).lstrip()
        kind = sniff(start, "")
        if not start:
            self._rest = []
        if kind == "empty" or (kind == "other" and any(opening.startswith(start) for opening in SSE_STARTS)):
            return None
        return kind == "sse" or (kind == "json" and self.ndjson)

    def _follow(self, start: int, stamps: Sequence[int], bodies: Sequence[bytes]) -> None:
        """Look through the last bytes, and keep the unfinished event at their end."""
        reads: list[Read] = []
        for window in _WINDOWS:
            reads, size, at = [], 0, len(stamps)
            while at > start and size < window:
                at -= 1
                reads.append(Read(stamps[at], bodies[at]))
                size += len(bodies[at])
            reads = [*(self._rest if at == start else ()), *reversed(reads)]
            if self._found(frame_lines(reads) if self.ndjson else frame(reads)) or at == start:
                break
        joined = b"".join([read.data for read in reads])
        marks = (b"\n",) if self.ndjson else _ENDS
        end = max([joined.rfind(mark) + len(mark) for mark in marks if mark in joined], default=0)
        if len(joined) - end > _KEPT:
            self.token_ns, end = reads[-1].at_ns, len(joined)
        self._rest = [Read(reads[-1].at_ns, joined[end:])] if joined[end:].strip() else []

    def _found(self, framing: Framing) -> bool:
        """Look at the events from the last one back to the last token; return whether there was one."""
        unfinished = framing.unterminated
        for event in islice(reversed(framing.events), _EVENTS):
            answer = None if len(event.data) > _KEPT else self._answer(event)
            if answer is not None and answer.done and self.done_ns is None:
                self.done_ns = event.at_ns
            if not unfinished and (answer is None or answer.token_events):
                self.token_ns = event.at_ns
                return True
            unfinished = False
        return False

    def _answer(self, event: Event) -> Answer:
        """What the event says on its own."""
        answer = self.reader(streamed=True)
        answer.read_stream(Framing(events=(event,), comments=0, unknown_lines=0, unknown=(), unterminated=False))
        return answer
