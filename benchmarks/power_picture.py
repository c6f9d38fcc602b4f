"""Draws power against output tokens, one panel per endpoint, as SVG."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from math import log10
from typing import Self

_LEFT, _WIDTH, _HEIGHT, _GAP, _TOP = 60, 330, 200, 40, 60
_LOW, _HIGH = 5.0, 4000.0
_ACROSS = 3  # panels in a row
_DOWN = _HEIGHT + 90
_COLOURS = ("#1b5e9b", "#6b9fd1", "#1b7f5c", "#b3792f", "#8a3b8f", "#777777")
_DASHES = ("", "6 3", "", "", "3 3", "2 4")


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """Share of audits that had failed by each number of output tokens."""

    name: str
    tokens: tuple[float, ...]
    power: tuple[float, ...]

    @classmethod
    def of(cls, name: str, paths: Sequence[Sequence[tuple[int, bool]]]) -> Self:
        """Join the paths of audits, (tokens, failed by then), look by look; the longest that all have."""
        looks = min((len(path) for path in paths), default=0)
        tokens = tuple(sum(path[at][0] for path in paths) / len(paths) for at in range(looks))
        power = tuple(sum(path[at][1] for path in paths) / len(paths) for at in range(looks))
        return cls(name=name, tokens=tokens, power=power)

    def tokens_to(self, power: float) -> int | str:
        """Return the tokens from which on `power` is reached; text when it is not, with the most that was tried."""
        reached = [at for at, share in enumerate(self.power) if share >= power]
        if reached:
            return round(self.tokens[reached[0]])
        return f"not within {round(self.tokens[-1])}" if self.tokens else "not run"


def svg(panels: Mapping[str, Sequence[Curve]]) -> str:
    """Return the picture."""
    width = _LEFT + min(len(panels), _ACROSS) * (_WIDTH + _GAP)
    names = [curve.name for curve in next(iter(panels.values()))]
    below = _TOP + -(-len(panels) // _ACROSS) * _DOWN
    height = below + 22 * len(names)
    parts = [part for at, (name, curves) in enumerate(panels.items()) for part in _panel(at, name, curves)]
    parts += [part for at, name in enumerate(names) for part in _legend(below + 22 * at, at, name)]
    body = "\n".join(parts)
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' width='{width}' height='{height}' viewBox='0 0 {width} {height}' "
        f"role='img' font-family='system-ui, sans-serif' font-size='12'>\n<title>Power against output tokens</title>\n"
        f"<rect width='100%' height='100%' fill='white'/>\n{body}\n</svg>\n"
    )


def _x(at: int, tokens: float) -> float:
    share = log10(min(max(tokens, _LOW), _HIGH) / _LOW) / log10(_HIGH / _LOW)
    return round(_LEFT + at % _ACROSS * (_WIDTH + _GAP) + _WIDTH * share, 1)


def _y(at: int, power: float) -> float:
    return round(_TOP + at // _ACROSS * _DOWN + _HEIGHT * (1 - power), 1)


def _panel(at: int, name: str, curves: Sequence[Curve]) -> Iterator[str]:
    left, right = _x(at, _LOW), _x(at, _HIGH)
    yield f"<text x='{left}' y='{_y(at, 1) - 18}' font-size='14' font-weight='600'>{escape(name)}</text>"
    for power in (0.0, 0.5, 0.8, 1.0):
        yield f"<line x1='{left}' x2='{right}' y1='{_y(at, power)}' y2='{_y(at, power)}' stroke='#ddd'/>"
        if at % _ACROSS == 0:
            yield f"<text x='{left - 8}' y='{_y(at, power) + 4}' text-anchor='end' fill='#555'>{power:.0%}</text>"
    for tokens in (10, 32, 100, 300, 1000, 3000):
        x = _x(at, tokens)
        yield f"<line x1='{x}' x2='{x}' y1='{_y(at, 1)}' y2='{_y(at, 0)}' stroke='#eee'/>"
        yield f"<text x='{x}' y='{_y(at, 0) + 16}' text-anchor='middle' fill='#555'>{tokens}</text>"
    middle = (left + right) / 2
    yield f"<text x='{middle}' y='{_y(at, 0) + 34}' text-anchor='middle' fill='#555'>output tokens (logarithmic)</text>"
    for which, curve in enumerate(curves):
        points = " ".join(f"{_x(at, t)},{_y(at, p)}" for t, p in zip(curve.tokens, curve.power, strict=True))
        dots = "".join(
            f"<circle cx='{_x(at, t)}' cy='{_y(at, p)}' r='2.5' fill='{_COLOURS[which]}'/>"
            for t, p in zip(curve.tokens, curve.power, strict=True)
        )
        yield (f"<polyline points='{points}' fill='none' stroke='{_COLOURS[which]}' stroke-width='2' "
               f"stroke-dasharray='{_DASHES[which]}'/>{dots}")  # fmt: skip


def _legend(y: float, at: int, name: str) -> Iterator[str]:
    yield (f"<line x1='{_LEFT}' x2='{_LEFT + 30}' y1='{y}' y2='{y}' stroke='{_COLOURS[at]}' stroke-width='2' "
           f"stroke-dasharray='{_DASHES[at]}'/>")  # fmt: skip
    yield f"<text x='{_LEFT + 38}' y='{y + 4}'>{escape(name)}</text>"
