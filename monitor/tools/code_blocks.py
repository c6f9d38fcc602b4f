"""What is code in a text: fenced, indented, between backticks, or in HTML's own tags. Linear in the length of the text.

Rules: CommonMark 0.31, sections 4.4, 4.5 and 6.1, but that a fence may also open at the end of a line of text, as
models write it, where one that closes it follows.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

_OPENS = re.compile(r"^[ \t]*(`{3,}|~{3,})[^`]*$")
_OPENS_LATE = re.compile(r"(?<![`~])(`{3,}+|~{3,}+)[\w+.#-]*[ \t]*$")
_CLOSES = re.compile(r"^[ \t]*(`{3,}|~{3,})[ \t]*$")
_RUN = re.compile(r"`+")
_TAGS = ("pre", "code")


def without_code(text: str) -> str:
    """Return `text` with blanks in place of all that is code, so that what is left keeps its place."""
    for tag in _TAGS:
        text = _without_tag(text, tag)
    return "\n".join(_without_blocks(text.split("\n")))


def _without_blocks(lines: Sequence[str]) -> Iterator[str]:
    ends = _last_ends(lines)
    fence = ""
    in_code = after_text = empty = False
    for at, line in enumerate(lines):
        if fence:
            closing = _CLOSES.match(line)
            fence = "" if closing is not None and closing[1].startswith(fence) else fence
            yield " " * len(line)
            continue
        opened = _opened(line, ends[at + 1])
        if opened is not None:
            fence, start = opened
            yield _without_spans(line[:start]) + " " * (len(line) - start)
        elif line.startswith(("    ", "\t")) and line.strip() and (in_code or (after_text and empty)):
            in_code, empty = True, False
            yield " " * len(line)
            continue
        else:
            yield _without_spans(line)
        empty = not line.strip()
        in_code, after_text = in_code and empty, after_text or not empty


def _opened(line: str, ends: Mapping[str, int]) -> tuple[str, int] | None:
    """The mark of a fence that opens in `line`, and where; None without. `ends` are the fences that can close below."""
    if (found := _OPENS.match(line)) is not None:
        return found[1], found.start(1)
    found = _OPENS_LATE.search(line)
    if found is None or ends.get(found[1][0], 0) < len(found[1]):
        return None
    return found[1], found.start(1)


def _last_ends(lines: Sequence[str]) -> list[dict[str, int]]:
    """The longest closing fence of each kind from every line on, and from behind the last one."""
    found: list[dict[str, int]] = [{}]
    longest: dict[str, int] = {}
    for line in reversed(lines):
        if (closing := _CLOSES.match(line)) is not None:
            mark = closing[1]
            longest = {**longest, mark[0]: max(longest.get(mark[0], 0), len(mark))}
        found.append(longest)
    return found[::-1]


def _without_spans(line: str) -> str:
    """Blank out what stands between two runs of as many backticks."""
    runs = list(_RUN.finditer(line))
    later: dict[int, list[int]] = {}
    for number in range(len(runs) - 1, -1, -1):
        later.setdefault(len(runs[number][0]), []).append(number)
    parts: list[str] = []
    done = number = 0
    while number < len(runs):
        same = later[len(runs[number][0])]
        while same and same[-1] <= number:
            same.pop()
        if same:
            start, end = runs[number].start(), runs[same[-1]].end()
            parts += [line[done:start], " " * (end - start)]
            done, number = end, same[-1]
        number += 1
    return "".join([*parts, line[done:]])


def _without_tag(text: str, tag: str) -> str:
    opens, closes = re.compile(rf"<{tag}(?:\s[^<>]*)?>", re.IGNORECASE), re.compile(rf"</{tag}>", re.IGNORECASE)
    parts: list[str] = []
    done = 0
    while (begun := opens.search(text, done)) is not None and (ended := closes.search(text, begun.end())) is not None:
        inside = text[begun.end() : ended.start()]
        parts += [text[done : begun.end()], re.sub(r"[^\n]", " ", inside), ended[0]]
        done = ended.end()
    return "".join([*parts, text[done:]])
