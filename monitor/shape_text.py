"""What a text looks like, in numbers from which no word can be had back: loops, repetition, scripts.

Sources: the repeated share of n-grams is seq-rep-n of S. Welleck et al., "Neural text generation with unlikelihood
training", ICLR 2020 (arXiv 1908.04319), section 6; the compression ratio as a sign of loops is used by Whisper
(A. Radford et al., arXiv 2212.04356, section 4.5, threshold 2.4).
"""

import re
import zlib
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

MAX_PIECES = 20_000
"""So many pieces of the end of a text are looked at: a loop is where a text ends."""

MAX_PERIOD = 256
_LEAST_CHARS = 200
_PIECE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]|[^\W_]+|[^\w\s]|_")

_RANGES: tuple[tuple[str, int, int], ...] = (
    ("latin", 0x41, 0x24F), ("latin", 0x1E00, 0x1EFF), ("greek", 0x370, 0x3FF), ("cyrillic", 0x400, 0x52F),
    ("armenian", 0x530, 0x58F), ("hebrew", 0x590, 0x5FF), ("arabic", 0x600, 0x6FF), ("arabic", 0x750, 0x77F),
    ("devanagari", 0x900, 0x97F), ("bengali", 0x980, 0x9FF), ("tamil", 0xB80, 0xBFF), ("thai", 0xE00, 0xE7F),
    ("georgian", 0x10A0, 0x10FF), ("hangul", 0x1100, 0x11FF), ("kana", 0x3040, 0x30FF), ("han", 0x3400, 0x4DBF),
    ("han", 0x4E00, 0x9FFF), ("hangul", 0xAC00, 0xD7A3),
)  # fmt: skip
_EDGES = sorted({edge for _, low, high in _RANGES for edge in (low, high + 1)})


def _names() -> tuple[str, ...]:
    """The script between each edge and the next, "" where there is none."""
    return ("", *(next((name for name, low, high in _RANGES if low <= edge <= high), "") for edge in _EDGES))


_SCRIPT = _names()


@dataclass(frozen=True, slots=True, kw_only=True)
class TextShape:
    """Numbers about one text.

    ``pieces`` are words, signs and CJK characters. The text ends in ``loop_repeats`` repetitions of a cycle of
    ``loop_period`` pieces (period 0: in no cycle). ``rep_4`` is the share of 4-grams that came before, ``compression``
    raw bytes / compressed bytes; both None for short texts.
    """

    pieces: int
    loop_period: int = 0
    loop_repeats: int = 0
    rep_4: float | None = None
    compression: float | None = None


def text_shape(text: str) -> TextShape:
    """Return the numbers of `text`. Linear in its length, times `MAX_PERIOD` for its last `MAX_PIECES`."""
    pieces = _PIECE.findall(text)
    ids = _ids(pieces[-MAX_PIECES:])
    period, repeats = cycle_at_end(ids)
    return TextShape(
        pieces=len(pieces), loop_period=period, loop_repeats=repeats, rep_4=_repeated(ids, 4),
        compression=_compression(text),
    )  # fmt: skip


def cycle_at_end(ids: Sequence[int]) -> tuple[int, int]:
    """Return period and repetitions of the cycle that `ids` end in, the one that covers most; (0, 0) for none.

    Three repetitions make a cycle. Of two that cover the same, the shorter counts.
    """
    values = np.asarray(ids)
    best = (0, 0)
    most = min(MAX_PERIOD, len(values) // 3)
    # A cycle ends as the one before it did: in ordinary text few periods are left to look at.
    for period in (np.flatnonzero(values[-2 : -most - 2 : -1] == values[-1]) + 1).tolist() if most else ():
        differ = np.flatnonzero(values[period:] != values[:-period])
        same = len(values) - period - (int(differ[-1]) + 1 if differ.size else 0)
        repeats = (same + period) // period
        if repeats >= 3 and period * repeats > best[0] * best[1]:
            best = (period, repeats)
    return best


def scripts(text: str) -> Mapping[str, float]:
    """Return the share of each script among the letters of `text`, the most frequent first."""
    letters = {sign: count for sign, count in Counter(text).items() if sign.isalpha()}
    total = sum(letters.values())
    counts: Counter[str] = Counter()
    for sign, count in letters.items():
        counts[_SCRIPT[bisect_right(_EDGES, ord(sign))] or "other"] += count
    return {name: count / total for name, count in counts.most_common()}


def foreign_share(answer: Mapping[str, float], question: Mapping[str, float]) -> float:
    """Return the share of letters of scripts that the question does not use. Latin is at home everywhere."""
    home = set(question) | {"latin", "other"}
    if home & {"han", "kana"}:
        home |= {"han", "kana"}
    return sum(share for name, share in answer.items() if name not in home)


def _ids(pieces: Sequence[str]) -> list[int]:
    numbers: dict[str, int] = {}
    return [numbers.setdefault(piece, len(numbers)) for piece in pieces]


def _repeated(ids: Sequence[int], n: int) -> float | None:
    total = len(ids) - n + 1
    if total < n:
        return None
    return 1 - len({tuple(ids[at : at + n]) for at in range(total)}) / total


def _compression(text: str) -> float | None:
    raw = text[-16 * _LEAST_CHARS :].encode("utf-8", "replace")
    return len(raw) / len(zlib.compress(raw, 6)) if len(raw) >= _LEAST_CHARS else None
