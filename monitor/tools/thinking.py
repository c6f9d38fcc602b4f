"""Thinking that a server left in the content, told apart from talk about the tags.

The decoder takes the tags for what they look like and says so in flags; here the words on both sides decide.
"""

import re
from collections.abc import Collection

from monitor.types import Choice

_TAGS = frozenset({"reasoning_field:think_tags", "think_unclosed", "think_orphan_close"})


def is_in_tags(flags: Collection[str]) -> bool:
    """Whether what counts as reasoning stood between tags in the content, or may have."""
    return not _TAGS.isdisjoint(flags)


def is_leak(flags: Collection[str], choice: Choice) -> bool:
    """Whether thinking of the model stood in the content of `choice`.

    It did not where the words go on over the tag as in a sentence, a list, a table or code about it.
    """
    before, after = choice.reasoning, choice.content
    if not is_in_tags(flags) or _goes_on(after.lstrip()):
        return False
    if "think_orphan_close" in flags:
        return _is_border(before, after)
    return not _goes_on(before.removeprefix(" ")) or not before.startswith(" ")


def _is_border(before: str, after: str) -> bool:
    """Whether the closing tag stood where thinking ends."""
    line = before.rpartition("\n")[2]
    if _in_code(before) or before.endswith(("`", '"', "'")) or line.startswith(("    ", "\t")):
        return False
    if re.fullmatch(r"\s*(?:[-*+|>]|\d+[.)])\s*", line):
        return False
    return before.endswith("\n") or after.startswith("\n") or bool(re.match(r"\w", after) and before.endswith("."))


def _goes_on(text: str) -> bool:
    """Whether `text` continues a sentence: it begins with a small letter or a sign that ends a clause."""
    return text[:1].islower() or text[:1] in {",", ";", ")"}


def _in_code(text: str) -> bool:
    """Whether what follows `text` stands in a code fence. A fence ends with one that is as long."""
    opened = ""
    for mark in re.findall(r"^[ \t]*(`{3,}|~{3,})", text, re.MULTILINE):
        if not opened:
            opened = mark
        elif mark.startswith(opened):
            opened = ""
    return bool(opened)
