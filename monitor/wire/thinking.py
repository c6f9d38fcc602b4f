"""Reasoning that a server left in the content, between ``<think>`` tags."""

from typing import NamedTuple

OPEN, CLOSE = "<think>", "</think>"


class Split(NamedTuple):
    """Content and reasoning apart. ``visible_from`` is where the visible text starts in the text as received."""

    content: str
    reasoning: str
    visible_from: int
    flag: str | None


def split(text: str, *, orphan: bool) -> Split:
    """Split a leading thinking block off `text`.

    ``orphan`` allows a closing tag without an opening one (some templates write the opening tag into the prompt):
    then everything before it is reasoning. Flags: ``think_unclosed``, ``think_orphan_close``.
    """
    opening = text.lstrip()
    if opening.startswith(OPEN):
        start = len(text) - len(opening) + len(OPEN)
        end = text.find(CLOSE, start)
        if end < 0:
            return Split("", text[start:], len(text), "think_unclosed")
        return Split(text[end + len(CLOSE) :], text[start:end], end + len(CLOSE), None)
    end = text.find(CLOSE) if orphan else -1
    if end < 0 or OPEN in text[:end]:
        return Split(text, "", 0, None)
    return Split(text[end + len(CLOSE) :], text[:end], end + len(CLOSE), "think_orphan_close")
