"""Pictures of the evidence behind a verdict: ladder, evidence over time, effect over time, profile, waterfall."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC
from typing import Any

import altair as alt

from dashboard.axes import HEIGHT, ChartLike, Row, inline, time_axis, time_scale
from dashboard.palette import BLUE, GRAY, GREEN, ORANGE, RED, STATUS
from dashboard.positions import Place
from dashboard.words import MARKS, interval, quantity, stamp
from monitor.results import Verdict
from monitor.wire.waterfall import Phase

ROW_PX = 26
MOST_MARKS = 2000
"""Marks of one chart at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """The evidence after one verdict: ``value`` and ``threshold`` in nats. ``threshold`` None: none was told."""

    verdict: Verdict
    value: float
    threshold: float | None


def path(steps: Sequence[Step]) -> ChartLike | None:
    """The evidence of verdict after verdict, against the threshold that pages; None without any."""
    if not steps:
        return None
    rows = [
        _at(step.verdict) | {"value": step.value, "threshold": step.threshold, "text": f"{step.value:.3g} nats"}
        for step in steps[-MOST_MARKS:]
    ]
    ends = [0.0, *(row["value"] for row in rows), *(row["threshold"] for row in rows if row["threshold"] is not None)]
    y = alt.Scale(domain=[min(ends), max(ends) * 1.1 or 1], nice=False)
    x = alt.X("at:T", scale=time_scale(rows), axis=time_axis(rows))
    told = inline([row for row in rows if row["threshold"] is not None])
    limit = _limit(told).encode(
        x=x, y=alt.Y("threshold:Q", scale=y), tooltip=[alt.Tooltip("threshold:Q", format=".3g")]
    )
    base = inline(rows).encode(x=x, y=alt.Y("value:Q", scale=y, axis=alt.Axis(title="log e, nats", tickCount=5)))
    return alt.layer(
        limit,
        base.mark_line(color=BLUE, strokeWidth=1.5),
        base.mark_point(filled=True, size=45, opacity=1).encode(**_marked()),
    ).properties(height=HEIGHT)


def effects(verdicts: Sequence[Verdict]) -> ChartLike | None:
    """What verdict after verdict measured, with its interval and its threshold; None where nothing was measured."""
    measured = [one for one in verdicts if one.effect is not None][-MOST_MARKS:]
    if not measured:
        return None
    unit = measured[-1].unit
    rows = [
        _at(one) | {
            "value": one.effect, "low": one.low, "high": one.high, "threshold": one.threshold,
            "text": f"{quantity(one.effect, unit)} {interval(one.low, one.high, unit) or '(no interval)'}",
        }
        for one in measured
    ]  # fmt: skip
    ends = [row[name] for row in rows for name in ("value", "low", "high", "threshold") if row[name] is not None]
    room = (max(ends) - min(ends)) * 0.08 or abs(max(ends)) * 0.1 or 1
    y = alt.Scale(
        domain=[min(*ends, 0.0) if unit != "share" else min(ends) - room, max(ends) + room], nice=False, zero=False
    )
    x = alt.X("at:T", scale=time_scale(rows), axis=time_axis(rows))
    axis = alt.Axis(title=unit, tickCount=5, format="%" if unit == "share" else ",~f")
    ranged = inline([row for row in rows if row["low"] is not None and row["high"] is not None])
    limited = inline([row for row in rows if row["threshold"] is not None])
    base = inline(rows).encode(x=x, y=alt.Y("value:Q", scale=y, axis=axis))
    return alt.layer(
        _limit(limited).encode(x=x, y=alt.Y("threshold:Q", scale=y)),
        ranged.mark_rule(color=BLUE, opacity=0.6).encode(x=x, y=alt.Y("low:Q", scale=y, axis=axis), y2="high:Q"),
        base.mark_point(filled=True, size=55, opacity=1).encode(**_marked()),
    ).properties(height=HEIGHT)  # fmt: skip


def _limit(rows: alt.Chart) -> alt.Chart:
    """The line of a threshold, which may move from verdict to verdict."""
    line: alt.Chart = rows.mark_line(color=RED, strokeDash=[5, 3], interpolate="step-after")
    return line


def _at(verdict: Verdict) -> Row:
    return {
        "at": verdict.at.astimezone(UTC).isoformat(), "time": f"{stamp(verdict.at)} UTC", "status": verdict.status,
        "mark": MARKS[verdict.status].symbol,
    }  # fmt: skip


def _marked() -> dict[str, Any]:
    """Colour and shape by status."""
    names = list(STATUS)
    return {
        "color": alt.Color("status:N", scale=alt.Scale(domain=names, range=[STATUS[name] for name in names]),
                           legend=alt.Legend(orient="top", title=None)),
        "shape": alt.Shape("status:N", scale=alt.Scale(domain=names, range=["circle", "diamond", "cross", "square"]),
                           legend=alt.Legend(orient="top", title=None)),
        "tooltip": [alt.Tooltip("time:N"), alt.Tooltip("status:N"), alt.Tooltip("text:N", title="value")],
    }  # fmt: skip


def by_place(places: Sequence[Place]) -> ChartLike | None:
    """Divergence along the answers: mean by place, shaded from lowest to highest; None without any."""
    if not places:
        return None
    rows = [
        {"place": one.place, "mean": one.mean, "low": one.low, "high": one.high, "n": one.n}
        for one in places[:MOST_MARKS]
    ]
    y = alt.Scale(domain=[0, max(one.high for one in places) * 1.1 or 1], nice=False)
    last = places[-1].place
    x = alt.X("place:Q", scale=alt.Scale(domain=[-0.5, last + 0.5], nice=False),
              axis=alt.Axis(title="token of the answer, from 0", tickMinStep=1, grid=False))  # fmt: skip
    tips = [
        alt.Tooltip("place:Q"),
        alt.Tooltip("mean:Q", format=".3g"),
        alt.Tooltip("high:Q", format=".3g"),
        alt.Tooltip("n:Q"),
    ]
    axis = alt.Axis(title="nats", tickCount=5)
    base = inline(rows).encode(x=x)
    return alt.layer(
        base.mark_rule(color=BLUE, opacity=0.35, strokeWidth=3).encode(
            y=alt.Y("low:Q", scale=y, axis=axis), y2="high:Q"
        ),
        base.mark_line(color=BLUE).encode(y=alt.Y("mean:Q", scale=y)),
        base.mark_circle(color=BLUE, size=36, opacity=1).encode(y=alt.Y("mean:Q", scale=y), tooltip=tips),
    ).properties(height=HEIGHT)


def timeline(phases: Sequence[Phase], tokens_ms: Sequence[float]) -> ChartLike | None:
    """The phases of an exchange as bars, its token events as ticks below; None where nothing was timed."""
    rows: list[Row] = [
        {"phase": one.name.replace("_", " "), "start": one.start_ms, "end": one.end_ms, "text": f"{one.end_ms:,.1f} ms"}
        for one in phases if one.end_ms is not None and one.start_ms is not None
    ]  # fmt: skip
    if not rows:
        return None
    ticks = [{"phase": "token events", "at": at} for at in list(tokens_ms)[:MOST_MARKS]]
    names = [*(row["phase"] for row in rows), "token events"]
    first, last = min(0.0, *(row["start"] for row in rows)), max(row["end"] for row in rows)
    x = alt.Scale(domain=[first, last + (last - first) * 0.12 + 0.1], nice=False)
    y = alt.Y("phase:N", sort=names, title=None)
    axis = alt.Axis(title="ms from the first byte of the request", tickCount=6)
    base = inline(rows).encode(y=y, tooltip=[alt.Tooltip("phase:N"), alt.Tooltip("text:N", title="at")])
    bars = base.mark_bar(color=BLUE, height=12).encode(x=alt.X("start:Q", scale=x, axis=axis), x2="end:Q")
    ends = base.mark_tick(color=ORANGE, thickness=3, height=18).encode(x=alt.X("end:Q", scale=x, axis=axis))
    words = base.mark_text(align="left", dx=7, color=GRAY).encode(x=alt.X("end:Q", scale=x), text="text:N")
    events = inline(ticks).mark_tick(color=GREEN, thickness=1, height=16).encode(
        y=y, x=alt.X("at:Q", scale=x, axis=axis), tooltip=[alt.Tooltip("at:Q", title="ms", format=".1f")]
    )  # fmt: skip
    return alt.layer(bars, ends, words, *([events] if ticks else [])).properties(height=alt.Step(ROW_PX))
