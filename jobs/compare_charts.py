"""Pictures of a comparison as inline SVG: intervals of a measure side by side, and the ladder. No script, no fonts."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape

from markupsafe import Markup

from monitor.comparison import Measure, ModelComparison
from monitor.comparison_figures import bare, one_line
from monitor.comparison_marks import KL, Line, Mark, limits, of_measure, on_ladder

_LEFT, _WIDTH, _RIGHT, _ROW = 210, 400, 190, 24
_UNDER_WORDS, _UNDER_NOTHING = 34, 10
_FLOOR_NATS = 1e-6
_LABEL = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scale:
    place: Callable[[float], float]
    ticks: Sequence[float]
    unit: str
    title: str


def forest(model: ModelComparison, measure: Measure) -> Markup:
    """The interval of every endpoint in one measure; empty where nobody has a value."""
    if measure.name == KL:
        return ladder(model)
    marks = of_measure(model, measure)
    if not marks:
        return Markup()
    scale = _linear(marks, measure)
    return _svg(marks, [], scale, f"{measure.title} of {len(marks)} endpoints")


def ladder(model: ModelComparison) -> Markup:
    """Divergences of the endpoints between those of the calibrated variants, on a logarithmic scale."""
    marks, lines = on_ladder(model), limits(model)
    if not marks:
        return Markup()
    n = sum(mark.kind == "endpoint" for mark in marks)
    beside = f" beside {len(marks) - n} calibrated variants" if n < len(marks) else ""
    return _svg(marks, lines, _logarithmic(marks, lines), f"KL to golden of {n} endpoints{beside}")


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
    seen = [max(value, _FLOOR_NATS) for value in (*values, *(line.value for line in lines))] or [_FLOOR_NATS]
    low = math.floor(math.log10(min(seen)))
    high = max(low + 1, math.ceil(math.log10(max(seen))))

    def place(value: float) -> float:
        return (math.log10(max(value, 10.0**low)) - low) / (high - low)

    return _Scale(place=place, ticks=[10.0**power for power in range(low, high + 1)], unit="",
                  title="nats from golden, logarithmic: left is nearer")  # fmt: skip


def _svg(marks: Sequence[Mark], lines: Sequence[Line], scale: _Scale, title: str) -> Markup:
    top = _UNDER_WORDS if lines else _UNDER_NOTHING
    width, bottom = _LEFT + _WIDTH + _RIGHT, top + _ROW * len(marks)
    body = "".join((*_axis(scale, top, bottom), *_lines(lines, scale, top, bottom), *_rows(marks, scale, top)))
    # Every text in it went through `_text`.
    return Markup(  # noqa: S704
        f'<svg class="chart" viewBox="0 0 {width} {bottom + 44}" role="img" aria-label="{_text(title)}">{body}</svg>'
    )


def _x(share: float) -> str:
    return f"{_LEFT + _WIDTH * min(1.0, max(0.0, share)):.1f}"


def _axis(scale: _Scale, top: int, bottom: int) -> Iterator[str]:
    for tick in scale.ticks:
        x = _x(scale.place(tick))
        yield f'<line class="grid" x1="{x}" x2="{x}" y1="{top - 6}" y2="{bottom}"/>'
        label = bare(tick, scale.unit) if scale.unit else f"{tick:g}"
        yield f'<text class="tick" x="{x}" y="{bottom + 16}" text-anchor="middle">{_text(label)}</text>'
    middle = _LEFT + _WIDTH / 2
    yield f'<text class="tick" x="{middle}" y="{bottom + 36}" text-anchor="middle">{_text(scale.title)}</text>'


def _lines(lines: Sequence[Line], scale: _Scale, top: int, bottom: int) -> Iterator[str]:
    for number, line in enumerate(lines):
        x, share = _x(scale.place(line.value)), scale.place(line.value)
        anchor = "end" if number % 2 == 0 and share > 0.2 else "start"
        dx = -5 if anchor == "end" else 5
        yield f'<line class="{line.kind}" x1="{x}" x2="{x}" y1="{top - 14}" y2="{bottom}"/>'
        yield f'<text class="tick" x="{x}" dx="{dx}" y="{top - 16}" text-anchor="{anchor}">{_text(line.text)}</text>'


def _rows(marks: Sequence[Mark], scale: _Scale, top: int) -> Iterator[str]:
    for number, mark in enumerate(marks):
        y, x = top + _ROW * number + 10, _x(scale.place(mark.value))
        yield f'<g class="{mark.kind}{" faint" if mark.hollow else ""}">'
        yield f'<text x="{_LEFT - 12}" y="{y + 4}" text-anchor="end">{_text(_short(mark.name))}</text>'
        if mark.low is not None and mark.high is not None:
            ends = f'x1="{_x(scale.place(mark.low))}" x2="{_x(scale.place(mark.high))}" y1="{y}" y2="{y}"'
            yield f'<line class="interval" {ends}/>'
        yield _dot(mark.kind, float(x), y)
        yield f'<text class="value" x="{_LEFT + _WIDTH + 14}" y="{y + 4}">{_text(mark.text)}</text></g>'


def _dot(kind: str, x: float, y: int) -> str:
    """A shape for each kind: colour is never the only carrier."""
    if kind == "faithful":
        return f'<circle cx="{x:.1f}" cy="{y}" r="4"/>'
    if kind == "degraded":
        return f'<path d="M{x - 4:.1f} {y - 4}l8 8m0 -8l-8 8"/>'
    return f'<path d="M{x:.1f} {y - 6}l6 6l-6 6l-6 -6z"/>'


def _short(name: str) -> str:
    return name if len(name) <= _LABEL else f"{name[: _LABEL - 1]}…"


def _text(text: str) -> str:
    return escape(one_line(text))
