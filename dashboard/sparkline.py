"""A small picture of the past: effects as a line, statuses as ticks below whose height says how bad. SVG."""

from collections.abc import Sequence

from dashboard.areas import Past
from dashboard.markup import Markup, picture, tag
from dashboard.palette import BLUE, STATUS
from monitor.results import Status

WIDTH, LINE, TICKS = 96, 16, 9
_HEIGHT: dict[Status, int] = {"pass": 2, "inconclusive": 2, "suspect": 5, "fail": 9}


def sparkline(past: Sequence[Past | None]) -> Markup | None:
    """Return the picture, oldest on the left; None without anything in it. Gaps stay gaps."""
    seen = [one for one in past if one is not None]
    if not seen:
        return None
    step = WIDTH / len(past)
    ticks = [_tick(place * step, step, one) for place, one in enumerate(past) if one is not None]
    words = ", ".join(one.status if one else "nothing" for one in past)
    high = LINE + TICKS + 1
    drawing = tag("svg", *_lines(past, step), *ticks, viewBox=f"0 0 {WIDTH} {high}", width=WIDTH, height=high)
    return picture(drawing, alt=f"Oldest first: {words}")


def _tick(x: float, step: float, one: Past) -> Markup:
    height = _HEIGHT[one.status]
    return tag(
        "rect", x=f"{x + 0.5:.1f}", y=LINE + TICKS + 1 - height, width=f"{max(step - 1, 1):.1f}", height=height,
        fill=STATUS[one.status],
    )  # fmt: skip


def _lines(past: Sequence[Past | None], step: float) -> list[Markup]:
    values = [one.effect for one in past if one is not None and one.effect is not None]
    if not values:
        return []
    low, high = min(values), max(values)
    found: list[Markup] = []
    part: list[tuple[float, float]] = []
    for place, one in enumerate([*past, None]):
        if one is not None and one.effect is not None:
            share = (one.effect - low) / (high - low) if high > low else 0.5
            part.append(((place + 0.5) * step, 2 + (LINE - 5) * (1 - share)))
        elif part:
            found.append(_part(part))
            part = []
    return found


def _part(part: Sequence[tuple[float, float]]) -> Markup:
    """Points that follow each other: a line, and a dot where there is only one."""
    if len(part) == 1:
        return tag("circle", cx=f"{part[0][0]:.1f}", cy=f"{part[0][1]:.1f}", r=1.8, fill=BLUE)
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in part)
    return tag("polyline", points=points, fill="none", stroke=BLUE, stroke_width=1.4)
