"""The KL ladder: endpoints between the calibrated ways to serve a model, on a logarithmic axis of nats."""

from collections.abc import Mapping, Sequence

import altair as alt

from dashboard.axes import FADED, ChartLike, Row, hollowed, inline
from dashboard.charts import log_ticks
from dashboard.palette import BLUE, GRAY, GREEN, RED
from monitor.comparison import Ladder, ModelComparison
from monitor.comparison_figures import bare
from monitor.comparison_marks import Kind, limits, on_ladder
from monitor.comparison_weights import FLOOR_NATS
from monitor.results import Verdict

ROW_PX = 32
"""Two lines: a name, and its number below. Beside the marks numbers would run into the limits, or off a phone."""
ENDPOINT, FAITHFUL, DEGRADED, LIMIT = "endpoint", "faithful", "degraded", "limit"
_LOOKS = {
    ENDPOINT: (BLUE, "diamond"), FAITHFUL: (GREEN, "circle"), DEGRADED: (RED, "cross"), LIMIT: (GRAY, "square"),
}  # fmt: skip
"""Colour and shape by kind: shapes as the report draws them (`monitor.comparison_weights.ladder_text`)."""
_KINDS: Mapping[Kind, str] = {"endpoint": ENDPOINT, "faithful": FAITHFUL, "degraded": DEGRADED}


def of_verdict(verdict: Verdict, calibrated: Ladder | None) -> ChartLike | None:
    """The interval of one verdict on the ladder, and the limits that it was held against.

    None where the verdict has no divergence in nats. Without a calibration only the limits are drawn.
    """
    if verdict.effect is None or verdict.unit != "nats":
        return None
    rows = [_row(verdict.endpoint, ENDPOINT, verdict.effect, verdict.low, verdict.high), *_rungs(calibrated)]
    limits = (("passes up to", verdict.details.get("pass_nats", verdict.threshold)),
              ("fails from", verdict.details.get("fail_nats")))  # fmt: skip
    for name, found in limits:
        if isinstance(found, int | float) and found > 0:
            rows.append(_row(name, LIMIT, float(found), None, None))
    return _drawn(rows, shaded=True)


def of_model(model: ModelComparison) -> ChartLike | None:
    """All endpoints of a model on its ladder, between what is tolerated; None where no divergence was measured."""
    marks = [
        _row(one.name, _KINDS[one.kind], one.value, one.low, one.high) | {"text": one.text, "hollow": one.hollow}
        for one in on_ladder(model)
    ]
    lines = [_row(one.text, LIMIT, one.value, None, None) | {"text": ""} for one in limits(model)]
    return _drawn([*marks, *lines], shaded=False) if marks else None


def _rungs(calibrated: Ladder | None) -> list[Row]:
    return [
        _row(one.name, FAITHFUL if one.faithful else DEGRADED, one.value, one.low, one.high)
        for one in (calibrated.rungs if calibrated else ())
    ]


def _row(name: str, kind: str, value: float, low: float | None, high: float | None) -> Row:
    ends = (value, value if low is None else low, value if high is None else high)
    drawn = [max(FLOOR_NATS, end) for end in ends]
    ends_text = "" if low is None or high is None else f" [{bare(low, 'nats')}, {bare(high, 'nats')}]"
    text = f"{bare(value, 'nats')}{ends_text}"
    places = dict(zip(("value", "low", "high"), drawn, strict=True))
    return {"name": name[:60], "kind": kind, "text": text, "hollow": False, "nats": value, **places}


def _drawn(rows: Sequence[Row], *, shaded: bool) -> ChartLike:
    rows = sorted(rows, key=lambda row: (float(row["nats"]), row["name"]))
    spread = [end for row in rows for end in (row["low"], row["high"])]
    low, high = min(spread) / 2, max(spread) * 2
    kinds = [kind for kind in _LOOKS if any(row["kind"] == kind for row in rows)]
    x = alt.X(
        "value:Q", title="KL to golden, nats (log)", scale=alt.Scale(type="log", domain=[low, high], nice=False),
        axis=alt.Axis(values=log_ticks(low, high), format="~g"),
    )  # fmt: skip
    rows = [row | {"label": f"{row['name']}\n{row['text']}".strip()} for row in rows]
    labels = list(dict.fromkeys(row["label"] for row in rows))
    lines = alt.Axis(
        labelLimit=180, labelExpr="split(datum.value, '\\n')", labelLineHeight=13, labelOffset=-6, labelOverlap=False
    )  # fmt: skip
    y = alt.Y("label:N", sort=labels, title=None, axis=lines)
    base = inline(rows).encode(
        y=y,
        tooltip=[alt.Tooltip("name:N"), alt.Tooltip("kind:N"), alt.Tooltip("text:N", title="KL")],
    )
    legend = alt.Legend(orient="top", title=None, columns=2)  # all four in a row are cut on a phone
    colours, shapes = ([_LOOKS[kind][place] for kind in kinds] for place in (0, 1))
    scale = alt.Scale(domain=kinds, range=colours)
    shape = alt.Shape("kind:N", scale=alt.Scale(domain=kinds, range=shapes), legend=legend)
    # A layer for each colour: encoded here too, it would take the legend away from the points (Vega-Lite 6).
    intervals = [
        inline([row for row in rows if row["kind"] == kind]).mark_rule(strokeWidth=3, color=colour).encode(
            x=alt.X("low:Q"), x2="high:Q", y=y, opacity=FADED
        )
        for kind, colour in zip(kinds, colours, strict=True)
    ]  # fmt: skip
    own = inline([row for row in rows if shaded and row["kind"] == ENDPOINT])
    limits = inline([row for row in rows if row["kind"] == LIMIT])
    return alt.layer(
        limits.mark_rule(color=GRAY, strokeDash=[5, 3]).encode(x=x),
        own.mark_rect(color=BLUE, opacity=0.14).encode(x=alt.X("low:Q"), x2="high:Q"),
        *intervals,
        base.mark_point(filled=True, size=90, opacity=1).encode(x=x, shape=shape, **hollowed("kind", scale, legend)),
    ).properties(height=alt.Step(ROW_PX))  # fmt: skip
