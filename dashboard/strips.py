"""Strips of an identification: position by position, what was predicted for each listed token and what was observed."""

import altair as alt

from dashboard.axes import ChartLike, inline
from dashboard.palette import BLUE, GRAY, ORANGE
from monitor.results import Verdict

_HEIGHT = 150


def strips(verdict: Verdict) -> ChartLike | None:
    """Positions side by side, tokens in the order of what is predicted; None where there are none (text alone)."""
    found = verdict.details.get("strips") or []
    rows, edges, at = [], [], 0
    for number, one in enumerate(found):
        named = {"strip": number, "prompt": str(one["prompt"])[:24]}
        for predicted, observed in one["tokens"]:
            rows.append({**named, "at": at, "predicted": float(predicted), "observed": float(observed)})
            at += 1
        edges.append({"at": at})
        at += 1
    if not rows:
        return None
    x = alt.X("at:Q", axis=None, scale=alt.Scale(domain=[-1, at], nice=False))
    titled = alt.Axis(title="deviation, nats", tickCount=5)
    tips = [alt.Tooltip("prompt:N"), alt.Tooltip("predicted:Q", format=".3f"), alt.Tooltip("observed:Q", format=".3f")]
    base = inline(rows).encode(x=x)
    return alt.layer(
        inline(edges[:-1]).mark_rule(color=GRAY, opacity=0.4).encode(x=x),
        base.mark_line(color=ORANGE, strokeWidth=2).encode(y=alt.Y("predicted:Q", axis=titled), detail="strip:N"),
        base.mark_circle(color=BLUE, size=22, opacity=0.9).encode(y=alt.Y("observed:Q", axis=titled), tooltip=tips),
    ).properties(height=_HEIGHT)
