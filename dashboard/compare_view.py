"""A comparison as a table and as plots of what is traded for what. Every number comes from `monitor.comparison`."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import altair as alt

from dashboard.axes import HEIGHT, ChartLike, Row, inline
from dashboard.grid import chip
from dashboard.markup import Child, Markup, data, link, table, tag
from dashboard.palette import GRAY, STATUS
from dashboard.words import spoken
from monitor import comparison as c
from monitor.comparison_figures import DASH, amount, bare, estimate_text, interval_text
from monitor.comparison_measures import MEASURES, measure

MOST_NAMED = 6
"""Endpoints that a plot names all; of more it names those on the line and those that fail."""

SHAPES: Mapping[str, str] = {"pass": "circle", "suspect": "diamond", "fail": "cross", "inconclusive": "square"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Trade:
    """Two measures that are traded for each other: across and up."""

    across: str
    up: str


TRADES = (
    Trade(across="price_out_usd", up="kl"), Trade(across="price_out_usd", up="tps"), Trade(across="ttft_ms", up="kl"),
)  # fmt: skip
"""Price against fidelity, price against speed, speed against fidelity."""


def measured(model: c.ModelComparison) -> list[c.Measure]:
    """The measures that some endpoint of a model has."""
    return [one for one in MEASURES if any(row.estimates[one.name].value is not None for row in model.rows)]


def ordered(model: c.ModelComparison, by: str) -> list[c.Row]:
    """Rows by a measure, best first, those without it last; the model's own order for any other word."""
    rows = list(model.rows)
    if by not in {one.name for one in MEASURES}:
        return rows
    sign = 1 if measure(by).better == "lower" else -1

    def key(row: c.Row) -> tuple[int, int, float]:
        place, value = row.places.get(by), row.estimates[by].value
        return (place is None, place.best if place else 0, sign * value if value is not None else math.inf)

    return sorted(rows, key=key)


def rows_table(model: c.ModelComparison, by: str) -> Markup:
    """One row per endpoint: each measure with interval and place; ties are told as ties."""
    shown = measured(model)
    heads = ("Endpoint", "Verdict", *(f"{one.title}{_unit(one)}{' ↓' if one.name == by else ''}" for one in shown))
    return table(heads, [_row(row, shown) for row in ordered(model, by)], label="Endpoints side by side", cards=True)


def _unit(one: c.Measure) -> str:
    return "" if one.unit == "share" else f", {one.unit}"


def _row(row: c.Row, shown: Sequence[c.Measure]) -> list[Child]:
    name = link("endpoint", data(row.endpoint.name, most=80), name=row.endpoint.name)
    declared = tag("span", data(row.endpoint.precision or "precision not declared", most=40), class_="wm-soft")
    cause = f" {spoken(', '.join(row.causes))}" if row.causes else ""
    word = tag("td", chip(row.status), f" {row.status}", tag("span", data(cause, most=120), class_="wm-soft"))
    return [tag("td", name, tag("br"), declared), word, *(_estimate(row, one) for one in shown)]


def _estimate(row: c.Row, one: c.Measure) -> Markup:
    """Value, interval, k of n and place below each other; or why there is none."""
    found, place = row.estimates[one.name], row.places.get(one.name)
    if found.value is None:
        return tag("td", DASH, tag("br"), tag("span", data(found.reason or "", most=80), class_="wm-soft"))
    counted = f"{found.k} of {found.n}" if found.k is not None else ""
    standing = "" if place is None or place.of < 2 else f"place {_place(place)} of {place.of}"
    ends = interval_text(found, one.unit) or ("" if found.exact else "no interval")
    lines = [tag("span", text, class_="wm-soft") for text in (ends, counted, standing) if text]
    value: Child = bare(found.value, one.unit)
    if found.verdict_id:
        value = link("verdict", value, id=found.verdict_id)
    inside = [piece for line in lines for piece in (tag("br"), line)]
    return tag("td", value, *inside, class_="wm-once", title=found.remark or f"n = {found.n}")


def _place(place: c.Place) -> str:
    return f"{place.best} to {place.worst}" if place.is_tied else str(place.best)


def plot(model: c.ModelComparison, trade: Trade) -> ChartLike | None:
    """Endpoints by two measures with intervals, and the line of those that none beats in both; None without two."""
    x_of, y_of = measure(trade.across), measure(trade.up)
    rows = [row for one in model.rows if (row := _point(one, x_of, y_of)) is not None]
    if not rows:
        return None
    x = alt.X("x:Q", title=_title(x_of), scale=_scale(x_of, rows, "x"), axis=_axis(x_of))
    y = alt.Y("y:Q", title=_title(y_of), scale=_scale(y_of, rows, "y"), axis=_axis(y_of))
    names = [name for name in STATUS if any(row["status"] == name for row in rows)]
    colour = alt.Scale(domain=names, range=[STATUS[name] for name in names])
    best = frontier(rows, x_of.better, y_of.better)
    told = {row["endpoint"] for row in best} if len(rows) > MOST_NAMED else {row["endpoint"] for row in rows}
    named = inline([row for row in rows if row["endpoint"] in told or row["status"] in {"fail", "suspect"}])
    base = inline(rows).encode(x=x, y=y)
    ends = ("x_low", "x_high", "y_low", "y_high")
    wide = inline([row for row in rows if all(row[end] is not None for end in ends[:2])]).encode(
        x="x_low:Q", x2="x_high:Q", y=y
    )
    tall = inline([row for row in rows if all(row[end] is not None for end in ends[2:])]).encode(
        x=x, y="y_low:Q", y2="y_high:Q"
    )
    front = inline(best).encode(x=x, y=y, order="order:O")
    return alt.layer(
        front.mark_line(color=GRAY, strokeDash=[4, 3], interpolate="linear"),
        wide.mark_rule(color=GRAY, opacity=0.7), tall.mark_rule(color=GRAY, opacity=0.7),
        base.mark_point(filled=True, size=110, opacity=1).encode(
            color=alt.Color("status:N", scale=colour, legend=alt.Legend(orient="top", title=None)),
            shape=alt.Shape("status:N", scale=alt.Scale(domain=names, range=[SHAPES[name] for name in names]),
                            legend=alt.Legend(orient="top", title=None)),
            tooltip=[alt.Tooltip("endpoint:N"), alt.Tooltip("status:N"), alt.Tooltip("x_text:N", title=x_of.title),
                     alt.Tooltip("y_text:N", title=y_of.title)],
        ),
        named.mark_text(align="left", dx=9, dy=-9, color=GRAY, limit=150).encode(x=x, y=y, text="endpoint:N"),
    ).properties(height=HEIGHT + 40)  # fmt: skip


def _point(row: c.Row, x_of: c.Measure, y_of: c.Measure) -> Row | None:
    x, y = row.estimates[x_of.name], row.estimates[y_of.name]
    if x.value is None or y.value is None:
        return None
    return {
        "endpoint": row.endpoint.name[:60], "status": row.status, "x": x.value, "y": y.value, "x_low": x.low,
        "x_high": x.high, "y_low": y.low, "y_high": y.high, "x_text": estimate_text(x_of, x),
        "y_text": estimate_text(y_of, y),
    }  # fmt: skip


def frontier(rows: Sequence[Row], across: str, up: str) -> list[Row]:
    """The points that no other beats in both measures, from left to right."""

    def beats(one: Row, other: Row) -> bool:
        not_worse = _good(one["x"], across) <= _good(other["x"], across) and _good(one["y"], up) <= _good(
            other["y"], up
        )
        return bool(not_worse and (one["x"], one["y"]) != (other["x"], other["y"]))

    best = [row for row in rows if not any(beats(other, row) for other in rows)]
    return [row | {"order": place} for place, row in enumerate(sorted(best, key=lambda row: float(row["x"])))]


def _good(value: float, better: str) -> float:
    """The value on a scale where less is better."""
    return value if better == "lower" else -value


def _title(one: c.Measure) -> str:
    arrow = "← better" if one.better == "lower" else "better →"
    return f"{one.title}{_unit(one)} ({arrow if one.name != 'kl' else 'lower is better, log'})"


def _scale(one: c.Measure, rows: Sequence[Row], axis: str) -> alt.Scale:
    values = [row[end] for row in rows for end in (axis, f"{axis}_low", f"{axis}_high") if row[end] is not None]
    if one.name == "kl":
        known = [value for value in values if value > 0] or [1e-3]
        return alt.Scale(type="log", domain=[min(known) / 2, max(known) * 3], nice=False, clamp=True)
    return alt.Scale(domain=[0, max(values) * 1.3 or 1], nice=False)


def _axis(one: c.Measure) -> alt.Axis:
    return alt.Axis(format="~g" if one.name == "kl" else "~s", tickCount=5)


def switch_rows(model: c.ModelComparison) -> list[list[Child]]:
    """What a change of endpoint costs and brings."""
    return [
        [
            data(one.from_, most=60),
            data(one.to, most=60),
            _change(one.blended_change_usd),
            _times(one.ttft_ratio),
            _times(one.tps_ratio),
        ]
        for one in model.switches
    ]


def _change(usd: float | None) -> str:
    return "–" if usd is None else f"{'+' if usd > 0 else ''}{amount(usd, 'USD/M')}"


def _times(ratio: float | None) -> str:
    return "–" if ratio is None else f"{ratio:.2f} times"
