"""Text cut at a pair of markers."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from reference.tool_parsers.parsed import Reading

Markers = tuple[str, str]


class Piece(NamedTuple):
    """A piece of text; ``inside`` the markers or outside, ``closed`` unless its end marker is missing."""

    text: str
    inside: bool
    closed: bool = True


def cut(text: str, begin: str, end: str) -> Iterator[Piece]:
    """Yield the pieces of `text` outside and inside of ``begin ... end``, in order; empty outside pieces are left out.

    A block that is not closed reaches to the next `begin`, or to the end of the text.
    """
    at = 0
    while (start := text.find(begin, at)) >= 0:
        if start > at:
            yield Piece(text[at:start], inside=False)
        inner = start + len(begin)
        stop, following = text.find(end, inner), text.find(begin, inner)
        if stop >= 0 and (following < 0 or stop < following):
            yield Piece(text[inner:stop], inside=True)
            at = stop + len(end)
        else:
            at = following if following >= 0 else len(text)
            yield Piece(text[inner:at], inside=True, closed=False)
    if at < len(text):
        yield Piece(text[at:], inside=False)


def read_blocks(text: str, markers: Markers, reading: Reading, read: Callable[[str], bool]) -> None:
    """Give the inside of every block to `read`; a block of which it makes nothing stays text, and so does the rest."""
    begin, end = markers
    for piece in cut(text, begin, end):
        if not piece.inside:
            reading.say(piece.text)
            continue
        if not piece.closed:
            reading.blame("unclosed")
        if not read(piece.text):
            reading.say(begin + piece.text + (end if piece.closed else ""))


def read_sections(text: str, section: Markers, call: Markers, reading: Reading, read: Callable[[str], None]) -> None:
    """Give the inside of every call in every section to `read`; calls outside of a section are text."""
    for piece in cut(text, *section):
        if not piece.inside:
            reading.say(piece.text)
            continue
        if not piece.closed:
            reading.blame("unclosed")
        for part in cut(piece.text, *call):
            if part.inside:
                if not part.closed:
                    reading.blame("unclosed")
                read(part.text)
            elif part.text.strip():
                reading.blame("malformed")
                reading.say(part.text)
