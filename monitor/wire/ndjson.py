"""JSON objects one per line, framed as events: how Ollama streams."""

from collections.abc import Sequence
from itertools import accumulate

from monitor.types import Read
from monitor.wire.lenient import NotJsonError, loads
from monitor.wire.sse import Event, Framing

_BOM = b"\xef\xbb\xbf"


def is_lines(data: bytes, *, streamed: bool) -> bool:
    """Whether a body that begins with an object is a stream of lines, not one answer.

    One object is one answer when no stream was asked for, when it is the last of its stream (``"done": true``), or
    when it is an error; anything else is a stream, however soon it was cut.
    """
    try:
        value, _ = loads(data.removeprefix(_BOM))
    except NotJsonError:
        return True
    whole = isinstance(value, dict) and (value.get("done") is True or "error" in value)
    return streamed and not whole


def frame_lines(reads: Sequence[Read]) -> Framing:
    """Frame the body that `reads` make up: an event is a line that is not blank, stamped by the read that ended it.

    A last line without its line end is still an event, and marked as unterminated.
    """
    raw = b"".join([read.data for read in reads])
    ends = list(accumulate([len(read.data) for read in reads]))
    *lines, rest = raw.split(b"\n")
    events: list[Event] = []
    at, read = 0, 0
    for line in [*lines, rest]:
        if text := line.removeprefix(_BOM if at == 0 else b"").strip():
            last_byte = min(at + len(line), len(raw) - 1)
            while ends[read] <= last_byte:
                read += 1
            events.append(Event(reads[read].at_ns, None, text))
        at += len(line) + 1
    unterminated = bool(rest.strip())
    return Framing(events=tuple(events), comments=0, unknown_lines=0, unknown=(), unterminated=unterminated)
