"""How far an answer has come, told from the bytes while they arrive: its last token, and its end marker.

A connection is alive while anything comes; a generation only while tokens do. Comments, empty deltas, role chunks,
``message_start``, pings and blank lines are no tokens, whatever they were cut into (case TR-10). What counts is decided
by the reader of the protocol, on the last events only, and when somebody looks, not with every read.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from monitor.types import Read
from monitor.wire.body import sniff
from monitor.wire.chat_state import Answer, Reader
from monitor.wire.ndjson import frame_lines
from monitor.wire.sse import Event, Framing, frame

_KEPT = 64 * 1024
"""Bytes of an unfinished event that are looked at again. One that is longer is no keep-alive."""

_READABLE = 256 * 1024
"""An event that is longer is not parsed: it says something, and parsing it would hold up the loop."""

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
        at, self._n_seen = self._n_seen, len(stamps)
        fresh = [Read(stamp, data) for stamp, data in zip(stamps[at:], bodies[at:], strict=True)]
        if not fresh:
            return
        if self._streams is None:
            self._streams = self._sniffed(b"".join([read.data for read in (*self._rest, *fresh)]))
        if self._streams is None:
            self._keep([*self._rest, *fresh])
        elif self._streams:
            self._follow([*self._rest, *fresh])
        else:
            self.token_ns = next((read.at_ns for read in reversed(fresh) if read.data.strip()), self.token_ns)

    def _sniffed(self, start: bytes) -> bool | None:
        """Whether the body is a stream; None while it is blank."""
        kind = sniff(start, "")
        return None if kind == "empty" else kind == "sse" or (kind == "json" and self.ndjson)

    def _follow(self, reads: list[Read]) -> None:
        framing = frame_lines(reads) if self.ndjson else frame(reads)
        self._read(framing)
        joined = b"".join([read.data for read in reads])
        marks = (b"\n",) if self.ndjson else _ENDS
        whole = max([joined.rfind(mark) + len(mark) for mark in marks if mark in joined], default=0)
        if len(joined) - whole > _KEPT:
            self.token_ns, whole = reads[-1].at_ns, len(joined)
        self._keep([Read(reads[-1].at_ns, joined[whole:])])

    def _keep(self, reads: list[Read]) -> None:
        self._rest = [read for read in reads if read.data.strip()]

    def _read(self, framing: Framing) -> None:
        """Look at the events from the last one back to the last token. An end marker comes after it."""
        for event in reversed(framing.events):
            if len(event.data) > _READABLE:
                self.token_ns = event.at_ns
                return
            answer = self._answer(event)
            if answer.done and self.done_ns is None:
                self.done_ns = event.at_ns
            if answer.token_events:
                self.token_ns = event.at_ns
                return

    def _answer(self, event: Event) -> Answer:
        """What the event says on its own."""
        answer = self.reader(streamed=True)
        answer.read_stream(Framing(events=(event,), comments=0, unknown_lines=0, unknown=(), unterminated=False))
        return answer
