"""Where the names of marks stand in a plot, so that none lies over another or over a mark. Pure geometry."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

NARROWEST = 265
"""Pixels of a plot on a phone. Wider ones only draw marks apart, so names that fit here fit there."""
WIDEST = 120
"""Pixels after which a name is cut: less than half of the narrowest plot, so that each mark has a side for it."""
_CHARACTER, _LINE, _MARK, _AWAY = 6.2, 12, 6, 9
"""Pixels: width of most characters, height of a line, half a mark, and how far from its mark a name stands."""
_LEVELS = (-9, 10, -22, 23, -35, 36)


class Where(NamedTuple):
    """How a name stands beside its mark: aligned to it, moved by pixels to the right and down."""

    align: Literal["left", "right"]
    dx: int
    dy: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Spot:
    """A mark: its name, and its place as shares of the plot's width and height, from the left and from below.

    ``across_ends`` and ``up_ends`` are those of its intervals, None where it has none.
    """

    name: str
    across: float
    up: float
    across_ends: tuple[float, float] | None = None
    up_ends: tuple[float, float] | None = None


class _Box(NamedTuple):
    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: "_Box") -> bool:
        return (
            self.left < other.right and other.left < self.right and self.top < other.bottom and other.top < self.bottom
        )


def placed(names: Sequence[str], spots: Sequence[Spot], *, high: float) -> dict[str, Where]:
    """Return where each of `names` stands, those first that come first; names without a free place are left out.

    A place over an interval is taken only where there is no other.

    Parameters
    ----------
    names
        The marks that have a name.
    spots
        All marks of the plot, also those without a name.
    high
        Height of the plot in pixels.
    """
    known = {spot.name: spot for spot in spots}
    taken = [_mark(spot, high) for spot in spots]
    lines = [line for spot in spots for line in _lines(spot, high)]
    found: dict[str, Where] = {}
    for name in names:
        free = [
            (any(box.meets(line) for line in lines), place, where, box)
            for place, (where, box) in enumerate(_places(known[name], high))
            if not any(box.meets(other) for other in taken)
        ]
        if free:
            _, _, found[name], box = min(free)
            taken.append(box)
    return found


def _middle(spot: Spot, high: float) -> tuple[float, float]:
    return spot.across * NARROWEST, (1 - spot.up) * high


def _mark(spot: Spot, high: float) -> _Box:
    x, y = _middle(spot, high)
    return _Box(x - _MARK, y - _MARK, x + _MARK, y + _MARK)


def _lines(spot: Spot, high: float) -> Iterator[_Box]:
    x, y = _middle(spot, high)
    if spot.across_ends is not None:
        yield _Box(spot.across_ends[0] * NARROWEST, y - 1, spot.across_ends[1] * NARROWEST, y + 1)
    if spot.up_ends is not None:
        yield _Box(x - 1, (1 - spot.up_ends[1]) * high, x + 1, (1 - spot.up_ends[0]) * high)


def _places(spot: Spot, high: float) -> Iterator[tuple[Where, _Box]]:
    """The places that a name can have, the best first: near before far, right before left, and within the plot."""
    x, y = _middle(spot, high)
    wide = min(WIDEST, _CHARACTER * len(spot.name))
    for dy in _LEVELS:
        top, bottom = y + dy - _LINE / 2, y + dy + _LINE / 2
        if top < 0 or bottom > high:
            continue
        if x + _AWAY + wide <= NARROWEST:
            yield Where("left", _AWAY, dy), _Box(x + _AWAY, top, x + _AWAY + wide, bottom)
        if x - _AWAY - wide >= 0:
            yield Where("right", -_AWAY, dy), _Box(x - _AWAY - wide, top, x - _AWAY, bottom)
