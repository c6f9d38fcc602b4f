"""Text cut at a pair of markers."""

from collections.abc import Iterator
from typing import NamedTuple


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
