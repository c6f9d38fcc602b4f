"""Pictures of a comparison as inline SVG: intervals of a measure side by side, and the ladder. No script, no fonts."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape

from markupsafe import Markup

from monitor.comparison import Measure, ModelComparison
from monitor.comparison_figures import bare, one_line
from monitor.comparison_marks import KL, Line, Mark, limits, of_measure, on_ladder
from monitor.comparison_weights import FLOOR_NATS
from monitor.plurals import plural

_UNDER_WORDS, _UNDER_NOTHING = 44, 10
_APART = 14
"""Between words, and between the scale and the numbers beside it."""
_CHARACTER = 6.6
"""Width of a character, at most of them, for a font of 12 units."""

_WIDE = {"%": 11.8, "≤": 10.3, **dict.fromkeys("0123456789", 7.8)}
"""Those that are wider in fonts as wide as DejaVu Sans, and stand at the ends of an axis."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Where the parts of a picture stand, in units of 12 to the font: the scale from `left` on, `width` wide.

    ``stacked`` puts name and value above the scale and not beside it, as a narrow screen needs it.
    """

    left: int
    width: int
    right: int
    row: int
    label: int
    most_ticks: int
    stacked: bool


WIDE = Layout(left=210, width=400, right=190, row=24, label=30, most_ticks=14, stacked=False)
NARROW = Layout(left=8, width=334, right=8, row=40, label=26, most_ticks=7, stacked=True)
"""As wide as a phone, so that letters come out as large as those of the text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scale:
    place: Callable[[float], float]
    ticks: Sequence[float]
    unit: str
    title: str
    holds: float | None = None
    """The tick at which all that is less stands too."""


def forest(model: ModelComparison, measure: Measure, layout: Layout = WIDE) -> Markup:
    """The interval of every endpoint in one measure; empty where nobody has a value."""
    if measure.name == KL:
        return ladder(model, layout)
    marks = of_measure(model, measure)
    if not marks:
        return Markup()
    picture = _Picture(scale=_linear(marks, measure), layout=_roomy(layout, marks))
    return picture.svg(marks, [], f"{measure.title} of {plural(len(marks), 'endpoint')}")


def ladder(model: ModelComparison, layout: Layout = WIDE) -> Markup:
    """Divergences of the endpoints between those of the calibrated variants, on a logarithmic scale."""
    marks, lines = on_ladder(model), limits(model)
    if not marks:
        return Markup()
    n = sum(mark.kind == "endpoint" for mark in marks)
    beside = f" beside {plural(len(marks) - n, 'calibrated variant')}" if n < len(marks) else ""
    picture = _Picture(scale=_logarithmic(marks, lines), layout=_roomy(layout, marks))
    return picture.svg(marks, lines, f"KL to golden of {plural(n, 'endpoint')}{beside}")


def _roomy(layout: Layout, marks: Sequence[Mark]) -> Layout:
    """The layout with room for the longest number beside the scale; above it there is."""
    longest = max(len(mark.text) for mark in marks) * _CHARACTER + 2 * _APART
    return layout if layout.stacked else replace(layout, right=max(layout.right, math.ceil(longest)))


def _linear(marks: Sequence[Mark], measure: Measure) -> _Scale:
    ends = [end for mark in marks for end in (mark.value, mark.low, mark.high) if end is not None]
    high = 1.0 if measure.unit == "share" else max(ends) * 1.05 or 1.0
    step = _step(high)
    ticks = [index * step for index in range(int(high / step + 1e-9) + 1)]
    return _Scale(place=lambda value: value / high, ticks=ticks, unit=measure.unit,
                  title=f"{measure.title}{'' if measure.unit == 'share' else f', {measure.unit}'}")  # fmt: skip


def _step(high: float) -> float:
    """A round step that gives four to ten ticks."""
    power: float = 10 ** math.floor(math.log10(high))
    return next(step * power for step in (0.2, 0.25, 0.5, 1.0, 2.0) if high / (step * power) <= 8)


def _logarithmic(marks: Sequence[Mark], lines: Sequence[Line]) -> _Scale:
    values = [end for mark in marks for end in (mark.value, mark.low, mark.high) if end is not None and end > 0]
    seen = [max(value, FLOOR_NATS) for value in (*values, *(line.value for line in lines))] or [FLOOR_NATS]
    low = math.floor(math.log10(min(seen)))
    high = max(low + 1, math.ceil(math.log10(max(seen))))

    def place(value: float) -> float:
        return (math.log10(max(value, 10.0**low)) - low) / (high - low)

    ticks = [10.0**power for power in range(low, high + 1)]
    return _Scale(place=place, ticks=ticks, unit="", title="nats from golden, logarithmic: left is nearer",
                  holds=ticks[0] if min(values, default=ticks[0]) < ticks[0] else None)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class _Picture:
    scale: _Scale
    layout: Layout

    def svg(self, marks: Sequence[Mark], lines: Sequence[Line], title: str) -> Markup:
        to = self.layout
        top = _UNDER_WORDS if lines else _UNDER_NOTHING
        width, bottom = to.left + to.width + to.right, top + to.row * len(marks)
        body = "".join((*self._axis(top, bottom), *self._lines(lines, top, bottom), *self._rows(marks, top)))
        kind = "chart narrow" if to.stacked else "chart"
        about = f'viewBox="0 0 {width} {bottom + 44}" role="img" aria-label="{_text(title)}"'
        # Every text in it went through `_text`.
        return Markup(f'<svg class="{kind}" {about}>{body}</svg>')  # noqa: S704

    def _x(self, value: float) -> str:
        share = min(1.0, max(0.0, self.scale.place(value)))
        return f"{self.layout.left + self.layout.width * share:.1f}"

    def _axis(self, top: int, bottom: int) -> Iterator[str]:
        every = math.ceil(len(self.scale.ticks) / self.layout.most_ticks)
        for number, tick in enumerate(self.scale.ticks):
            x = self._x(tick)
            yield f'<line class="grid" x1="{x}" x2="{x}" y1="{top - 6}" y2="{bottom}"/>'
            if number % every == 0:
                label = bare(tick, self.scale.unit) if self.scale.unit else f"{tick:g}"
                yield self._words(float(x), bottom + 16, f"≤{label}" if tick == self.scale.holds else label)
        yield self._words(self.layout.left + self.layout.width / 2, bottom + 36, self.scale.title)

    def _words(self, middle: float, y: int, text: str, *, beyond: float = 0.0) -> str:
        """Words around `middle`, moved so far that they run neither out of the picture nor over what ends `beyond`."""
        half = sum(_WIDE.get(letter, _CHARACTER) for letter in text) / 2
        full = self.layout.left + self.layout.width + self.layout.right
        x = max(min(max(middle, half), full - half), beyond + half)
        return f'<text class="tick" x="{x:.1f}" y="{y}" text-anchor="middle">{_text(text)}</text>'

    def _lines(self, lines: Sequence[Line], top: int, bottom: int) -> Iterator[str]:
        ends = {"tolerated": 0.0, "fails": 0.0}
        for line in lines:
            x = self._x(line.value)
            # Each kind on a line of its own, so that the words of two that are near do not run into each other.
            y = top - (31 if line.kind == "tolerated" else 16)
            yield f'<line class="{line.kind}" x1="{x}" x2="{x}" y1="{y + 4}" y2="{bottom}"/>'
            yield self._words(float(x), y, line.text, beyond=ends[line.kind])
            wide = len(line.text) * _CHARACTER
            ends[line.kind] = max(float(x) - wide / 2, ends[line.kind]) + wide + _APART

    def _rows(self, marks: Sequence[Mark], top: int) -> Iterator[str]:
        to = self.layout
        for number, mark in enumerate(marks):
            y = top + to.row * number + (26 if to.stacked else 10)
            yield f'<g class="{mark.kind}{" faint" if mark.hollow else ""}">{self._labels(mark, y)}'
            if mark.low is not None and mark.high is not None:
                yield f'<line class="interval" x1="{self._x(mark.low)}" x2="{self._x(mark.high)}" y1="{y}" y2="{y}"/>'
            yield _dot(mark.kind, float(self._x(mark.value)), y) + "</g>"

    def _labels(self, mark: Mark, y: int) -> str:
        to, value, wide = self.layout, _text(mark.text), len(mark.text) * _CHARACTER + 6
        room = int((to.width - wide) / _CHARACTER) if to.stacked else to.label
        name = _text(_short(mark.name, min(to.label, room)))
        if to.stacked:
            end = to.left + to.width
            return (
                f'<rect class="ground" x="{end - wide:.1f}" y="{y - 24}" width="{wide:.1f}" height="16"/>'
                f'<text x="{to.left}" y="{y - 12}">{name}</text>'
                f'<text class="value" x="{end}" y="{y - 12}" text-anchor="end">{value}</text>'
            )
        return (
            f'<text x="{to.left - 12}" y="{y + 4}" text-anchor="end">{name}</text>'
            f'<text class="value" x="{to.left + to.width + _APART}" y="{y + 4}">{value}</text>'
        )


def _dot(kind: str, x: float, y: int) -> str:
    """A shape for each kind: colour is never the only carrier."""
    if kind == "faithful":
        return f'<circle cx="{x:.1f}" cy="{y}" r="4"/>'
    if kind == "degraded":
        return f'<path d="M{x - 4:.1f} {y - 4}l8 8m0 -8l-8 8"/>'
    return f'<path d="M{x:.1f} {y - 6}l6 6l-6 6l-6 -6z"/>'


def _short(name: str, most: int) -> str:
    return name if len(name) <= most else f"{name[: most - 1]}…"


def _text(text: str) -> str:
    return escape(one_line(text))
