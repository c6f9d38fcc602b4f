"""The ladder: every member of a calibration at its value, on a logarithmic scale, with the tolerance drawn through."""

import math
from collections.abc import Iterator
from html import escape

from reference.calibration import MemberValue, MetricCalibration

_LEFT, _WIDTH, _ROW, _TOP, _RIGHT = 190, 520, 22, 58, 90
_COLOURS = {True: "#1b7f5c", False: "#b3392f"}
_STYLE = "font-family='system-ui, sans-serif' font-size='12'"


def svg(calibration: MetricCalibration, *, title: str) -> str:
    """Return the picture as SVG: faithful members green, degraded ones red, intervals as lines.

    Values of zero stand at the left edge.
    """
    rows = sorted(calibration.members, key=lambda member: member.value)
    height = _TOP + _ROW * len(rows) + 46
    low, high = _decades(calibration)
    body = "\n".join((*_axis(low, high, height), *_rows(rows, low, high), *_tolerance(calibration, low, high, height)))
    width = _LEFT + _WIDTH + _RIGHT
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' width='{width}' height='{height}' viewBox='0 0 {width} {height}' "
        f"role='img' {_STYLE}>\n<title>{escape(title)}</title>\n<rect width='100%' height='100%' fill='white'/>\n"
        f"<text x='16' y='24' font-size='15' font-weight='600'>{escape(title)}</text>\n{body}\n</svg>\n"
    )


def _decades(calibration: MetricCalibration) -> tuple[int, int]:
    values = [member.value for member in calibration.members if member.value > 0] + [calibration.tolerance]
    ends = [value for member in calibration.members for value in (member.low, member.high) if value and value > 0]
    shown = [value for value in values + ends if value > 0] or [1.0]
    high = math.ceil(math.log10(max(shown)))
    return min(high - 1, max(math.floor(math.log10(min(shown))), high - 8)), high


def _x(value: float, low: int, high: int) -> float:
    share = 0.0 if value <= 0 else (math.log10(value) - low) / (high - low)
    return round(_LEFT + _WIDTH * min(1.0, max(0.0, share)), 1)


def _axis(low: int, high: int, height: int) -> Iterator[str]:
    bottom = height - 40
    for decade in range(low, high + 1):
        x = _x(10.0**decade, low, high)
        label = f"{10.0**decade:g}"
        yield f"<line x1='{x}' y1='{_TOP - 8}' x2='{x}' y2='{bottom}' stroke='#e3e3e3'/>"
        yield f"<text x='{x}' y='{bottom + 16}' text-anchor='middle' fill='#555'>{label}</text>"


def _rows(rows: list[MemberValue], low: int, high: int) -> Iterator[str]:
    for number, member in enumerate(rows):
        y, colour = _TOP + _ROW * number + 6, _COLOURS[member.faithful]
        yield f"<text x='{_LEFT - 12}' y='{y + 4}' text-anchor='end'>{escape(member.name)}</text>"
        if member.low is not None and member.high is not None:
            ends = f"x1='{_x(member.low, low, high)}' x2='{_x(member.high, low, high)}' y1='{y}' y2='{y}'"
            yield f"<line {ends} stroke='{colour}' stroke-opacity='.45' stroke-width='4'/>"
        yield f"<circle cx='{_x(member.value, low, high)}' cy='{y}' r='4.5' fill='{colour}'/>"
        yield f"<text x='{_LEFT + _WIDTH + 12}' y='{y + 4}' fill='#555'>{member.value:.2g}</text>"


def _tolerance(calibration: MetricCalibration, low: int, high: int, height: int) -> Iterator[str]:
    x = _x(calibration.tolerance, low, high)
    yield f"<line x1='{x}' y1='{_TOP - 12}' x2='{x}' y2='{height - 40}' stroke='#333' stroke-dasharray='5 3'/>"
    text = f"faithful tolerance {calibration.tolerance:.2g} {calibration.unit}"
    yield f"<text x='{x}' y='{_TOP - 17}' text-anchor='middle' fill='#333'>{escape(text)}</text>"
    below = f"{calibration.metric}, {calibration.unit} (logarithmic)"
    yield f"<text x='{_LEFT + _WIDTH / 2}' y='{height - 8}' text-anchor='middle' fill='#555'>{escape(below)}</text>"
