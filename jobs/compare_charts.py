"""Pictures of a comparison as inline SVG: intervals of a measure side by side, and the ladder. No script, no fonts."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape

from markupsafe import Markup

from monitor.comparison import Estimate, Measure, ModelComparison, Row
from monitor.comparison_figures import bare, interval_text, one_line
from monitor.comparison_measures import measure as measure_called
from monitor.comparison_order import can_be_placed
from monitor.comparison_weights import has_other_prompt, thresholds

_LEFT, _WIDTH, _RIGHT, _ROW = 210, 400, 190, 24
_UNDER_WORDS, _UNDER_NOTHING = 34, 10
_FLOOR_NATS = 1e-6
_LABEL = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class _Mark:
    """One line of a picture. ``kind`` is the class of its marks in the style sheet.

    ``faint`` marks are drawn hollow: they have no interval, or are no distance of weights.
    """

    name: str
    kind: str
    value: float
    low: float | None
    high: float | None
    text: str
    faint: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    """A vertical line that the marks are compared with."""

    kind: str
    value: float
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scale:
    place: Callable[[float], float]
    ticks: Sequence[float]
    unit: str
    title: str


def forest(model: ModelComparison, measure: Measure) -> Markup:
    """The interval of every endpoint in one measure; empty where nobody has a value."""
    marks = [
        _mark(row.endpoint.name, "endpoint", row.estimates[measure.name], measure) for row in model.rows
        if row.estimates[measure.name].value is not None
    ]  # fmt: skip
    if not marks:
        return Markup()
    if measure.name == "kl":
        return ladder(model)
    scale = _linear(marks, measure)
    return _svg(marks, [], scale, f"{measure.title} of {len(marks)} endpoints")


def _mark(name: str, kind: str, one: Estimate, measure: Measure) -> _Mark:
    assert one.value is not None  # noqa: S101  # asked for those that have one
    placed = can_be_placed(one)
    text = f"{bare(one.value, measure.unit)} {interval_text(one, measure.unit) if placed else _few(one)}".strip()
    return _Mark(name=name, kind=kind, value=one.value, low=one.low, high=one.high, text=text, faint=not placed)


def _few(one: Estimate) -> str:
    return f"(no interval, n {one.n})"


def ladder(model: ModelComparison) -> Markup:
    """Divergences of the endpoints between those of the calibrated variants, on a logarithmic scale."""
    rows = [row for row in model.rows if row.estimates["kl"].value is not None]
    if not rows:
        return Markup()
    marks = [_endpoint_mark(row) for row in rows]
    rungs = model.ladder.rungs if model.ladder else ()
    marks += [
        _ladder_mark(rung.name, "faithful" if rung.faithful else "degraded", rung.value, rung.low, rung.high)
        for rung in rungs
    ]
    marks.sort(key=lambda mark: (mark.value, mark.name))
    lines = list(_limits(model))
    scale = _logarithmic(marks, lines)
    title = f"KL to golden of {len(rows)} endpoints" + (f" beside {len(rungs)} calibrated variants" if rungs else "")
    return _svg(marks, lines, scale, title)


def _endpoint_mark(row: Row) -> _Mark:
    made = _mark(row.endpoint.name, "endpoint", row.estimates["kl"], measure_called("kl"))
    return replace(made, faint=made.faint or has_other_prompt(row.verdicts))


def _ladder_mark(name: str, kind: str, value: float, low: float | None, high: float | None) -> _Mark:
    ends = "" if low is None or high is None else f" [{low:.2g}, {high:.2g}]"
    return _Mark(name=name, kind=kind, value=value, low=low, high=high, text=f"{value:.2g}{ends}")


def _limits(model: ModelComparison) -> Iterator[_Line]:
    told = [thresholds(v) for row in model.rows for v in row.verdicts if v.detector == "logprob_fidelity"]
    for value in sorted({tolerated for tolerated, _ in told if tolerated}):
        yield _Line(kind="tolerated", value=value, text=f"tolerated {value:.2g}")
    for value in sorted({fails for _, fails in told if fails}):
        yield _Line(kind="fails", value=value, text=f"fails above {value:.2g}")


def _linear(marks: Sequence[_Mark], measure: Measure) -> _Scale:
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


def _logarithmic(marks: Sequence[_Mark], lines: Sequence[_Line]) -> _Scale:
    values = [end for mark in marks for end in (mark.value, mark.low, mark.high) if end is not None and end > 0]
    seen = [max(value, _FLOOR_NATS) for value in (*values, *(line.value for line in lines))] or [_FLOOR_NATS]
    low = math.floor(math.log10(min(seen)))
    high = max(low + 1, math.ceil(math.log10(max(seen))))

    def place(value: float) -> float:
        return (math.log10(max(value, 10.0**low)) - low) / (high - low)

    return _Scale(place=place, ticks=[10.0**power for power in range(low, high + 1)], unit="",
                  title="nats from golden, logarithmic: left is nearer")  # fmt: skip


def _svg(marks: Sequence[_Mark], lines: Sequence[_Line], scale: _Scale, title: str) -> Markup:
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


def _lines(lines: Sequence[_Line], scale: _Scale, top: int, bottom: int) -> Iterator[str]:
    for number, line in enumerate(lines):
        x, share = _x(scale.place(line.value)), scale.place(line.value)
        anchor = "end" if number % 2 == 0 and share > 0.2 else "start"
        dx = -5 if anchor == "end" else 5
        yield f'<line class="{line.kind}" x1="{x}" x2="{x}" y1="{top - 14}" y2="{bottom}"/>'
        yield f'<text class="tick" x="{x}" dx="{dx}" y="{top - 16}" text-anchor="{anchor}">{_text(line.text)}</text>'


def _rows(marks: Sequence[_Mark], scale: _Scale, top: int) -> Iterator[str]:
    for number, mark in enumerate(marks):
        y, x = top + _ROW * number + 10, _x(scale.place(mark.value))
        yield f'<g class="{mark.kind}{" faint" if mark.faint else ""}">'
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
