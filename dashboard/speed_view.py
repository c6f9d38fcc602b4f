"""Speeds as a store groups them -> charts: quantiles over time and their spread, by vantage. No Streamlit."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import altair as alt

from dashboard.axes import HEIGHT, ChartLike, Row, inline, time_axis, time_scale
from dashboard.palette import DASHES, SERIES
from dashboard.words import DASH, number, stamp

LEAST = {0: 20, 1: 4, 2: 2, 3: 4, 4: 20}
"""Values from which a quantile is shown, by its place (p5, p25, p50, p75, p95): with fewer it is only an extreme."""

SPREAD_PX = 170
"""Pixels of a distribution with its axes; the bars get about half."""

MOST_VANTAGES = len(SERIES)
_PER_OCTAVE = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Bucket:
    """Requests of one vantage in one bucket of time. ``ttft_ms`` and ``tpot_ms`` are p5, p25, p50, p75, p95 of
    complete answers with a valid timing; ``n_late`` ran into a timeout, so that their latency is only known to be more.
    """  # noqa: D205

    vantage: str
    at: datetime
    n: int
    n_good: int
    n_late: int
    n_ttft: int
    n_tpot: int
    ttft_ms: tuple[float, ...] | None
    tpot_ms: tuple[float, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Bin:
    """How many values of a latency are in ``[2^(bin/4), 2^((bin+1)/4))`` ms."""

    vantage: str
    metric: str
    bin: float
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Speeds:
    """What ``/api/speeds`` says."""

    buckets: tuple[Bucket, ...]
    bins: tuple[Bin, ...]


def quantile(values: tuple[float, ...] | None, place: int, n: int) -> float | None:
    """A quantile of n values; None where they are too few for it."""
    return values[place] if values is not None and n >= LEAST[place] else None


def vantages(speeds: Speeds) -> list[str]:
    """Where it was asked from, those with the most requests first."""
    counts: dict[str, int] = {}
    for one in speeds.buckets:
        counts[one.vantage] = counts.get(one.vantage, 0) + one.n
    return sorted(counts, key=lambda name: (-counts[name], name))


def over_time(speeds: Speeds, metric: str) -> ChartLike | None:
    """Median over time by vantage, shaded from p25 to p75, dots at p95; None without any value."""
    rows = [row for one in speeds.buckets if (row := _row(one, metric)) is not None]
    if not rows:
        return None
    x = alt.X("at:T", scale=time_scale(rows), axis=time_axis(rows))
    top = max(row[name] for row in rows for name in ("p50", "p75", "p95") if row[name] is not None)
    scale = alt.Scale(domain=[0, 1.1 * top], nice=False)
    axis = alt.Axis(title="ms", tickCount=5)
    colour, dashes = _by_vantage(speeds)
    tips = [alt.Tooltip(f"{name}:N") for name in ("vantage", "time", "text", "n")]
    base = inline(rows).encode(x=x, color=colour)
    wide = inline([row for row in rows if row["p25"] is not None]).encode(x=x, color=colour)
    far = inline([row for row in rows if row["p95"] is not None]).encode(x=x, color=colour)
    return alt.layer(
        wide.mark_rule(opacity=0.3, strokeWidth=4).encode(y=alt.Y("p25:Q", scale=scale, axis=axis), y2="p75:Q"),
        base.mark_line(strokeWidth=1.6).encode(y=alt.Y("p50:Q", scale=scale), strokeDash=dashes),
        base.mark_circle(size=34, opacity=1).encode(y=alt.Y("p50:Q", scale=scale), tooltip=tips),
        far.mark_point(size=22, shape="triangle-up").encode(y=alt.Y("p95:Q", scale=scale), tooltip=tips),
    ).properties(height=HEIGHT)


def _row(one: Bucket, metric: str) -> Row | None:
    values, n = (one.ttft_ms, one.n_ttft) if metric == "ttft_ms" else (one.tpot_ms, one.n_tpot)
    if values is None or not n:
        return None
    p25, p50, p75, p95 = (quantile(values, place, n) for place in (1, 2, 3, 4))
    middle = values[2]  # of a single value the median is that value: a dot, not a claim
    text = f"p50 {number(middle)}, p95 {number(p95) if p95 is not None else DASH} ms"
    return {
        "vantage": one.vantage[:60], "at": one.at.astimezone(UTC).isoformat(), "time": f"{stamp(one.at)} UTC",
        "p25": p25 if p75 is not None else None, "p50": p50 if p50 is not None else middle, "p75": p75, "p95": p95,
        "n": n, "text": text,
    }  # fmt: skip


def spread(speeds: Speeds, metric: str, vantage: str) -> ChartLike | None:
    """Share of the requests of one vantage by latency, on a logarithmic axis that all share; None without any value."""
    every = [one for one in speeds.bins if one.metric == metric]
    mine = [one for one in every if one.vantage == vantage]
    if not mine:
        return None
    rows = [_slice(one, sum(other.n for other in mine)) for one in mine]
    colour, _ = _by_vantage(speeds, legend=False)
    edges = [2 ** (edge / _PER_OCTAVE) for one in every for edge in (one.bin, one.bin + 1)]
    scale = alt.Scale(type="log", domain=[min(edges), max(edges)], nice=False)
    tips = [alt.Tooltip("vantage:N"), alt.Tooltip("text:N", title="latency"), alt.Tooltip("share:Q", format=".1%")]
    drawn = inline(rows).mark_bar(opacity=0.85).encode(
        x=alt.X("low:Q", scale=scale, axis=alt.Axis(title="ms (log)", format="~s")), x2="high:Q", color=colour,
        y=alt.Y("share:Q", axis=alt.Axis(title=None, format="%", tickCount=3)), y2="zero:Q",
        tooltip=[*tips, alt.Tooltip("n:Q")],
    )  # fmt: skip
    made: ChartLike = drawn.properties(height=SPREAD_PX)
    return made


def _slice(one: Bin, total: int) -> Row:
    low, high = (2 ** (edge / _PER_OCTAVE) for edge in (one.bin, one.bin + 1))
    text = f"{number(low)} to {number(high)} ms"
    return {"vantage": one.vantage[:60], "low": low, "high": high, "share": one.n / total, "zero": 0, "n": one.n,
            "text": text}  # fmt: skip


def _by_vantage(speeds: Speeds, *, legend: bool = True) -> tuple[alt.Color, alt.StrokeDash]:
    names = [name[:60] for name in vantages(speeds)][:MOST_VANTAGES]
    shown = alt.Legend(orient="top", title=None) if legend and len(names) > 1 else None
    colours = alt.Scale(domain=names, range=list(SERIES[: len(names)]))
    dashes = alt.Scale(domain=names, range=[list(one) for one in DASHES[: len(names)]])
    return (
        alt.Color("vantage:N", scale=colours, legend=shown),
        alt.StrokeDash("vantage:N", scale=dashes, legend=shown),
    )


def summary(buckets: Sequence[Bucket]) -> list[tuple[str, int, int, int]]:
    """(vantage, requests, complete answers, timeouts), those with the most requests first."""
    found: dict[str, tuple[int, int, int]] = {}
    for one in buckets:
        n, good, late = found.get(one.vantage, (0, 0, 0))
        found[one.vantage] = n + one.n, good + one.n_good, late + one.n_late
    return sorted(((name, *counts) for name, counts in found.items()), key=lambda row: (-row[1], row[0]))
