"""Strips of an identification: at each position what was predicted for every listed token, and what was observed."""

from collections.abc import Iterator, Sequence
from html import escape
from typing import Any

_COLUMNS, _WIDE, _HIGH, _APART, _HEAD = 4, 190, 72, 26, 40
_OBSERVED, _PREDICTED, _GREY = "#1b5e9c", "#b45309", "#555"


def height(strips: Sequence[Any]) -> int:
    """Return how high `strips` are drawn, 0 without any."""
    return _HEAD + -(-len(strips) // _COLUMNS) * (_HIGH + _APART) if strips else 0


def drawn(strips: Sequence[dict[str, Any]], name: str, *, left: int, top: int) -> Iterator[str]:
    """Yield the strips as SVG: a line through what is predicted for `name`, a dot for what was observed.

    All have the same scale, tokens in the order of what is predicted.
    """
    if not strips:
        return
    most = max(1e-6, *(abs(value) for one in strips for pair in one["tokens"] for value in pair))
    words = f"Position by position: deviation of each listed token for {name}, -{most:.2g} to {most:.2g} nats"
    yield f"<text x='{left}' y='{top + 12}' font-weight='600'>{escape(words)}</text>"
    at, level = left + 620, top + 8
    yield f"<line x1='{at}' y1='{level}' x2='{at + 24}' y2='{level}' stroke='{_PREDICTED}' stroke-width='2'/>"
    yield f"<text x='{at + 30}' y='{level + 4}'>predicted</text>"
    yield f"<circle cx='{at + 112}' cy='{level}' r='3' fill='{_OBSERVED}'/>"
    yield f"<text x='{at + 122}' y='{level + 4}'>observed</text>"
    for number, one in enumerate(strips):
        x, y = left + number % _COLUMNS * (_WIDE + _APART), top + _HEAD + number // _COLUMNS * (_HIGH + _APART)
        yield from _strip(one, x, y, most)


def _strip(one: dict[str, Any], x: int, y: int, most: float) -> Iterator[str]:
    middle, step = y + _HIGH / 2, _WIDE / max(1, len(one["tokens"]))

    def place(at: int, value: float) -> tuple[float, float]:
        return x + step * (at + 0.5), middle - value / most * _HIGH / 2

    yield f"<text x='{x}' y='{y - 5}' font-size='11' fill='{_GREY}'>{escape(str(one['prompt'])[:24])}</text>"
    yield f"<rect x='{x}' y='{y}' width='{_WIDE}' height='{_HIGH}' fill='none' stroke='#e3e3e3'/>"
    yield f"<line x1='{x}' y1='{middle}' x2='{x + _WIDE}' y2='{middle}' stroke='#cfcfcf'/>"
    path = " ".join("{:.1f},{:.1f}".format(*place(at, pair[0])) for at, pair in enumerate(one["tokens"]))
    yield f"<polyline points='{path}' fill='none' stroke='{_PREDICTED}' stroke-width='2'/>"
    for at, pair in enumerate(one["tokens"]):
        across, up = place(at, pair[1])
        yield f"<circle cx='{across:.1f}' cy='{up:.1f}' r='2.6' fill='{_OBSERVED}' class='strip'/>"
