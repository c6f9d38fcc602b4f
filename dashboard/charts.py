"""Charts: points -> Altair. Gaps stay gaps, one point is a point, an axis never has a zero range."""

from collections.abc import Sequence
from datetime import UTC
from typing import Any

import altair as alt

from dashboard.axes import HEIGHT, ChartLike, Row, inline, time_axis, time_scale
from dashboard.evidence import Band, Count
from dashboard.palette import BLUE, GRAY, GREEN, ORANGE, RED
from dashboard.store_reader import Point
from dashboard.words import number, quantity, stamp
from monitor.results import Verdict

FLOOR_NATS = 1e-5
"""Where the logarithmic axis ends; smaller divergences, and the negative ones of an unbiased estimate, stand there."""

LEAST_FOR_AREA = 3
"""Points from which their ranges are drawn as an area; with fewer it would suggest a trend."""


def over_time(points: Sequence[Point], *, unit: str) -> ChartLike | None:
    """A metric from zero upwards over time; None when there is nothing to draw."""
    if not points:
        return None
    top = max((value for point in points for value in (point.value, point.high) if value is not None), default=0.0)
    y = alt.Scale(domain=[0, 1.15 * top if top > 0 else 1], nice=False)
    return _layers(_rows(points, unit), y=y, axis=alt.Axis(title=unit, tickCount=5), under=[])


def fidelity(points: Sequence[Point], band: Band) -> ChartLike | None:
    """KL over time on a logarithmic axis, against the band; None when there is nothing to draw."""
    if not points:
        return None
    rows = [_floored(row) for row in _rows(points, "nats")]
    low, high = log_domain(rows, band)
    axis = alt.Axis(title="nats (log)", values=log_ticks(low, high), format="~g")
    scale = alt.Scale(type="log", domain=[low, high], nice=False)
    return _layers(rows, y=scale, axis=axis, under=_zones(band, low, high))


def _floored(row: Row) -> Row:
    drawn = {name: max(row[name], FLOOR_NATS) for name in ("value", "low", "high") if row[name] is not None}
    return row | drawn


def log_domain(rows: Sequence[Row], band: Band) -> tuple[float, float]:
    """A range that holds all values and both thresholds with room around them, at least one and a half decades."""
    seen = [row[name] for row in rows for name in ("value", "low", "high")] + [band.pass_nats, band.fail_nats]
    known = [value for value in seen if value is not None] or [1.0]
    return max(min(known) / 4, FLOOR_NATS / 2), max(known) * 8


def log_ticks(low: float, high: float) -> list[float]:
    """Round numbers within the range: powers of ten, with 3 between them where there are few."""
    decades = [float(f"1e{power}") for power in range(-6, 4)]
    inside = [tick for tick in decades if low <= tick <= high]
    if len(inside) > 2:
        return inside
    return [tick for decade in decades for tick in (decade, 3 * decade) if low <= tick <= high]


def outcomes(counts: Sequence[Count]) -> ChartLike | None:
    """How the last requests ended; None when there were none."""
    if not counts:
        return None
    total = sum(count.n for count in counts)
    rows = [{"outcome": c.outcome, "kind": c.kind, "n": c.n, "text": f"{c.n} of {total}, {c.kind}"} for c in counts]
    kinds = alt.Scale(domain=["answered", "endpoint's fault", "reported apart"], range=[GREEN, RED, GRAY])
    # Room on the right for the words: colour is never the only carrier, and a legend would be cut on a phone.
    base = inline(rows).encode(
        y=alt.Y("outcome:N", sort="-x", title=None, axis=alt.Axis(labelLimit=140)),
        x=alt.X("n:Q", axis=None, scale=alt.Scale(domain=[0, 2 * total])),
        tooltip=[alt.Tooltip("outcome:N"), alt.Tooltip("text:N", title="requests")],
    )
    bars = base.mark_bar(height=16).encode(color=alt.Color("kind:N", scale=kinds, legend=None))
    words = base.mark_text(align="left", dx=5, color=GRAY).encode(text="text:N")
    return alt.layer(bars, words).properties(height=alt.Step(28))


def posterior(verdict: Verdict) -> ChartLike:
    """What an identification thinks of each scheme, likeliest first."""
    rows = [
        {"scheme": str(one["name"])[:60], "posterior": one["posterior"], "text": f"{one['posterior']:.3g}"}
        for one in verdict.details["schemes"]
    ]
    base = inline(rows).encode(
        y=alt.Y("scheme:N", sort=None, title=None, axis=alt.Axis(labelLimit=140)),
        x=alt.X("posterior:Q", axis=None, scale=alt.Scale(domain=[0, 1.3])),
        tooltip=[alt.Tooltip("scheme:N"), alt.Tooltip("text:N", title="posterior")],
    )
    words = base.mark_text(align="left", dx=5, color=GRAY).encode(text="text:N")
    return alt.layer(base.mark_bar(height=16, color=BLUE), words).properties(height=alt.Step(28))


def deviations(verdict: Verdict) -> ChartLike | None:
    """Observed against predicted deviations, one dot per listed token; None where there are none (text alone)."""
    dots = verdict.details.get("dots") or []
    if not dots:
        return None
    most = max(1e-6, *(abs(float(value)) for dot in dots for value in dot))
    scale = alt.Scale(domain=[-most, most], nice=False)
    nearest = str(verdict.details.get("nearest"))[:60]
    x = alt.X("predicted:Q", scale=scale, axis=alt.Axis(title=f"predicted for {nearest}, nats", tickCount=5))
    y = alt.Y("observed:Q", scale=scale, axis=alt.Axis(title="observed, nats", tickCount=5))
    rows = [{"predicted": float(a), "observed": float(b)} for a, b in dots]
    line = inline([{"predicted": at, "observed": at} for at in (-most, most)])
    return alt.layer(
        line.mark_line(color=GRAY, strokeDash=[5, 3]).encode(x=x, y=y),
        inline(rows).mark_circle(color=BLUE, size=24, opacity=0.5).encode(x=x, y=y),
    ).properties(height=HEIGHT)


def _rows(points: Sequence[Point], unit: str) -> list[Row]:
    """One row per bucket."""
    return [
        {
            "at": point.at.astimezone(UTC).isoformat(),
            "value": point.value,
            "low": point.low,
            "high": point.high,
            "time": f"{stamp(point.at)} UTC",
            "text": quantity(point.value, unit),
            "range": f"{number(point.low)} to {number(point.high)}",
            "n": point.n,
        }
        for point in points
    ]


def _layers(rows: Sequence[Row], *, y: alt.Scale, axis: alt.Axis, under: list[Any]) -> ChartLike:
    x = alt.X("at:T", scale=time_scale(rows), axis=time_axis(rows))
    tips = [
        alt.Tooltip("time:N"),
        alt.Tooltip("text:N", title="value"),
        alt.Tooltip("range:N"),
        alt.Tooltip("n:Q"),
    ]
    measured = [row for row in rows if row["value"] is not None]
    ranged = [row for row in measured if row["low"] is not None and row["high"] is not None]
    missed = [row for row in rows if row["value"] is None]
    value = alt.Y("value:Q", scale=y, axis=axis)
    wide = len(ranged) >= LEAST_FOR_AREA
    # An area over all rows breaks where one is missing; rules have nothing to break.
    ranges = inline(rows).mark_area(color=BLUE, opacity=0.18) if wide else inline(ranged).mark_rule(color=BLUE)
    line = inline(rows).mark_line(color=BLUE, strokeWidth=1.5).encode(x=x, y=value)
    dots = inline(measured).mark_circle(color=BLUE, size=36, opacity=1).encode(x=x, y=value, tooltip=tips)
    gaps = inline(missed).mark_point(color=RED, shape="cross", angle=45, filled=True, size=60, opacity=1, yOffset=-8)
    return alt.layer(
        *under,
        ranges.encode(x=x, y=alt.Y("low:Q", scale=y, axis=axis), y2="high:Q"),
        line,
        dots,
        gaps.encode(x=x, y=alt.YValue("height"), tooltip=tips),  # type: ignore[no-untyped-call]
    ).properties(height=HEIGHT)


def _zones(band: Band, low: float, high: float) -> list[Any]:
    """Shaded bands and rules: faithful up to the first, failing from the second."""
    layers: list[Any] = []
    edges = [(low, band.pass_nats, GREEN), (band.pass_nats, band.fail_nats, ORANGE), (band.fail_nats, high, RED)]
    for start, end, colour in edges:
        if start is not None and end is not None:
            zone = inline([{"start": start, "end": end}])
            layers.append(zone.mark_rect(color=colour, opacity=0.12).encode(y="start:Q", y2="end:Q"))
    marks = [(band.pass_nats, GREEN, "pass up to", 12), (band.fail_nats, RED, "fail from", -7)]
    for at, colour, word, dy in marks:
        if at is not None:
            rule = inline([{"at": at, "text": f"{word} {quantity(at, 'nats')}"}]).encode(y="at:Q")
            text = rule.mark_text(color=colour, align="left", dy=dy, fontWeight="bold")
            layers.append(rule.mark_rule(color=colour, strokeDash=[5, 3], strokeWidth=1.5))
            left = alt.XValue(6)  # type: ignore[no-untyped-call]
            layers.append(text.encode(x=left, text="text:N"))
    return layers
