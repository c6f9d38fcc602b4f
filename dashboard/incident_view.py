"""Incidents as rows and bars, and what was measured before, during and after one. No Streamlit."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from statistics import median

import altair as alt

from dashboard.axes import HEIGHT, ChartLike, Row, inline, time_axis, time_scale
from dashboard.palette import BLUE, GRAY, ORANGE, RED
from dashboard.store_reader import Point
from dashboard.words import ago, detector_label, quantity, spoken, stamp
from monitor.incident import Incident

METRICS: Mapping[str, tuple[str, ...]] = {
    "availability": ("success_rate", "ttft_ms_p50"), "accounting": ("prompt_token_match",),
    "logprob_fidelity": ("kl_nats",), "fidelity": ("kl_nats",), "identify": ("kl_nats",),
    "logprob_history": ("kl_nats",), "speed_shift": ("ttft_ms_p50", "tpot_ms_p50"), "latency": ("ttft_ms_p50",),
    "tool_calls": ("tool_call_success", "success_rate"),
}  # fmt: skip
"""What to look at around an incident, by what saw it."""

USUAL = ("success_rate", "ttft_ms_p50")
MOST_BARS = 80
BEFORE = timedelta(days=1)
"""What counts as before and after: as long as the incident, at least this and at most `LONGEST`."""
LONGEST = timedelta(days=7)


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """The window of a picture of one incident: from `since` to `until`, the incident itself within."""

    since: datetime
    opened_at: datetime
    closed_at: datetime
    until: datetime


def name_of(incident: Incident) -> str:
    """What an incident is called: its cause, else what saw it."""
    return spoken(incident.cause or detector_label(incident.detector).title.lower())


def around(incident: Incident, now: datetime) -> Around:
    """The incident with room before and after; one that is open ends now."""
    closed = incident.closed_at or now
    room = min(max(closed - incident.opened_at, BEFORE), LONGEST)
    return Around(
        since=incident.opened_at - room, opened_at=incident.opened_at, closed_at=closed, until=min(closed + room, now)
    )


def metrics_of(incident: Incident) -> tuple[str, ...]:
    """Metrics that show what an incident is about."""
    return METRICS.get(incident.detector, USUAL)


def told(points: Sequence[Point], window: Around, unit: str) -> list[tuple[str, str, str]]:
    """(part, median, n) before, during and after: the median of the buckets, n values behind them."""
    parts = {
        "before": [one for one in points if one.at < window.opened_at],
        "during": [one for one in points if window.opened_at <= one.at < window.closed_at],
        "after": [one for one in points if one.at >= window.closed_at],
    }
    return [(name, _middle(some, unit), str(sum(one.n for one in some))) for name, some in parts.items()]


def _middle(points: Sequence[Point], unit: str) -> str:
    values = [one.value for one in points if one.value is not None]
    return quantity(median(values) if values else None, unit)


def bars(incidents: Sequence[Incident], since: datetime, now: datetime) -> ChartLike | None:
    """One bar per incident from its opening to its end, by endpoint; None without any."""
    if not incidents:
        return None
    rows = [_bar(one, since, now) for one in incidents[:MOST_BARS]]
    names = list(dict.fromkeys(row["endpoint"] for row in rows))
    scale = time_scale([{"at": since.astimezone(UTC).isoformat()}, {"at": now.astimezone(UTC).isoformat()}])
    axis = time_axis([{"at": since.astimezone(UTC).isoformat()}, {"at": now.astimezone(UTC).isoformat()}])
    states = alt.Scale(domain=["open", "closed"], range=[RED, GRAY])
    base = inline(rows).encode(
        x=alt.X("at:T", scale=scale, axis=axis),
        y=alt.Y("endpoint:N", sort=names, title=None, axis=alt.Axis(labelLimit=180)),
        tooltip=[alt.Tooltip(f"{one}:N") for one in ("endpoint", "what", "opened", "ended", "reason")],
    )
    drawn: alt.Chart = base.mark_bar(height=14, opacity=0.85, cornerRadius=3).encode(
        x2="end:T", color=alt.Color("state:N", scale=states, legend=alt.Legend(orient="top", title=None))
    )
    made: ChartLike = drawn.properties(height=alt.Step(24))
    return made


def _bar(one: Incident, since: datetime, now: datetime) -> Row:
    end = one.closed_at or now
    # A bar of no width is invisible: a hundredth of the window is the least.
    start = min(max(one.opened_at, since), end - (now - since) / 100)
    return {
        "endpoint": one.endpoint[:80], "at": start.astimezone(UTC).isoformat(), "end": end.astimezone(UTC).isoformat(),
        "what": name_of(one)[:40], "state": "closed" if one.closed_at else "open",
        "opened": f"{stamp(one.opened_at)} UTC",
        "ended": f"{stamp(one.closed_at)} UTC" if one.closed_at else "still open", "reason": one.reason[:200],
    }  # fmt: skip


def lasted(incident: Incident, now: datetime) -> str:
    """How long an incident has lasted, in the largest unit that fits."""
    return ago(incident.opened_at, incident.closed_at or now).removesuffix(" ago")


def shaded(points: Sequence[Point], window: Around, unit: str) -> ChartLike | None:
    """A metric around an incident, which is shaded; None where nothing was measured."""
    if all(one.value is None for one in points):
        return None
    rows: list[Row] = [
        {
            "at": one.at.astimezone(UTC).isoformat(), "value": one.value, "low": one.low, "high": one.high, "n": one.n,
            "time": f"{stamp(one.at)} UTC", "text": quantity(one.value, unit),
        }
        for one in points
    ]  # fmt: skip
    ends = [value for row in rows for value in (row["value"], row["high"]) if value is not None]
    edges = [{"at": window.since.isoformat()}, {"at": window.until.isoformat()}]
    x = alt.X("at:T", scale=time_scale(edges), axis=time_axis(edges))
    y = alt.Scale(domain=[0, 1.15 * max(ends, default=1) or 1], nice=False)
    span = inline(
        [{"at": window.opened_at.astimezone(UTC).isoformat(), "end": window.closed_at.astimezone(UTC).isoformat()}]
    )
    base = inline(rows).encode(x=x)
    value = alt.Y("value:Q", scale=y, axis=alt.Axis(title=unit, tickCount=5, format="%" if unit == "share" else ",~f"))
    return alt.layer(
        span.mark_rect(color=ORANGE, opacity=0.22).encode(x=x, x2="end:T"),
        base.mark_rule(color=BLUE, opacity=0.35).encode(y=alt.Y("low:Q", scale=y), y2="high:Q"),
        base.mark_line(color=BLUE, strokeWidth=1.5).encode(y=value),
        base.mark_circle(color=BLUE, size=30, opacity=1).encode(
            y=value, tooltip=[alt.Tooltip("time:N"), alt.Tooltip("text:N", title="value"), alt.Tooltip("n:Q")]
        ),
    ).properties(height=HEIGHT)
