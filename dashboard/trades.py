"""Plots of what is traded for what: endpoints by two measures, with the line of those that none beats in both."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import altair as alt

from dashboard.axes import FADED, HEIGHT, ChartLike, Row, hollowed, inline
from dashboard.palette import GRAY, STATUS
from dashboard.plot_names import WIDEST, Spot, placed
from monitor import comparison as c
from monitor.comparison_figures import estimate_text
from monitor.comparison_marks import is_hollow
from monitor.comparison_measures import measure

MOST_NAMED = 6
"""Endpoints that a plot names all; of more it names those on the line and those that fail."""
HIGH, AROUND = HEIGHT + 120, 132
"""Pixels of a plot with its legend and axes, and of these; its width is that of the screen."""

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


def plot(model: c.ModelComparison, trade: Trade) -> ChartLike | None:
    """Endpoints by two measures with intervals, and the line of those that none beats in both; None without two."""
    x_of, y_of = measure(trade.across), measure(trade.up)
    rows = [row for one in model.rows if (row := _point(one, x_of, y_of)) is not None]
    if not rows:
        return None
    spans = _span(x_of, rows, "x"), _span(y_of, rows, "y")
    x = alt.X("x:Q", title=_title(x_of), scale=_scale(x_of, spans[0]), axis=_axis(x_of))
    y = alt.Y("y:Q", title=_title(y_of), scale=_scale(y_of, spans[1]), axis=_axis(y_of))
    names = [name for name in STATUS if any(row["status"] == name for row in rows)]
    colour = alt.Scale(domain=names, range=[STATUS[name] for name in names])
    legend = alt.Legend(orient="top", title=None)
    best = frontier([row for row in rows if not row["apart"]], x_of.better, y_of.better)
    told = {row["endpoint"] for row in best} if len(rows) > MOST_NAMED else {row["endpoint"] for row in rows}
    wanted = [row for row in rows if row["endpoint"] in told or row["status"] in {"fail", "suspect"}]
    spots = [_spot(row, (x_of, y_of), spans) for row in rows]
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
        wide.mark_rule(color=GRAY).encode(opacity=FADED), tall.mark_rule(color=GRAY).encode(opacity=FADED),
        base.mark_point(filled=True, size=110, opacity=1).encode(
            **hollowed("status", colour, legend),
            shape=alt.Shape("status:N", scale=alt.Scale(domain=names, range=[SHAPES[name] for name in names]),
                            legend=legend),
            tooltip=[alt.Tooltip("endpoint:N"), alt.Tooltip("status:N"), alt.Tooltip("x_text:N", title=x_of.title),
                     alt.Tooltip("y_text:N", title=y_of.title)],
        ),
        *(text.encode(x=x, y=y, text="endpoint:N") for text in _names(wanted, spots)),
    ).properties(height=HIGH)  # fmt: skip


def _point(one: c.Row, x_of: c.Measure, y_of: c.Measure) -> Row | None:
    x, y = one.estimates[x_of.name], one.estimates[y_of.name]
    if x.value is None or y.value is None:
        return None
    return {
        "endpoint": one.endpoint.name[:60], "status": one.status, "x": x.value, "y": y.value, "x_low": x.low,
        "x_high": x.high, "y_low": y.low, "y_high": y.high, "x_text": estimate_text(x_of, x),
        "y_text": estimate_text(y_of, y), "hollow": is_hollow(one, x_of.name) or is_hollow(one, y_of.name),
        "apart": x.apart is not None or y.apart is not None,
    }  # fmt: skip


def frontier(rows: Sequence[Row], across: str, up: str) -> list[Row]:
    """The points that no other beats in both measures, from left to right."""
    places = sorted((_good(row["x"], across), _good(row["y"], up), place) for place, row in enumerate(rows))
    best: list[tuple[float, float, int]] = []
    for one in places:
        # Those before are no worse across: it stays where it is better up than all of them, or the twin of the last.
        if not best or one[1] < best[-1][1] or one[:2] == best[-1][:2]:
            best.append(one)
    left_first = sorted((rows[place] for *_, place in best), key=lambda row: float(row["x"]))
    return [row | {"order": order} for order, row in enumerate(left_first)]


def _good(value: float, better: str) -> float:
    """The value on a scale where less is better."""
    return value if better == "lower" else -value


def _title(one: c.Measure) -> str:
    arrow = "← better" if one.better == "lower" else "better →"
    unit = "" if one.unit == "share" else f", {one.unit}"
    return f"{one.title}{unit} ({arrow if one.name != 'kl' else 'lower is better, log'})"


def _span(one: c.Measure, rows: Sequence[Row], axis: str) -> tuple[float, float]:
    """The ends of an axis: all values and intervals, and room beyond them."""
    values = [row[end] for row in rows for end in (axis, f"{axis}_low", f"{axis}_high") if row[end] is not None]
    if one.name == "kl":
        known = [value for value in values if value > 0] or [1e-3]
        return min(known) / 2, max(known) * 3
    return 0, max(values) * 1.3 or 1


def _scale(one: c.Measure, span: tuple[float, float]) -> alt.Scale:
    if one.name == "kl":
        return alt.Scale(type="log", domain=list(span), nice=False, clamp=True)
    return alt.Scale(domain=list(span), nice=False)


def _share(one: c.Measure, span: tuple[float, float], value: float) -> float:
    """Where on its axis a value stands, from 0 to 1."""
    if one.name == "kl":
        low, high, value = (math.log(max(number, span[0])) for number in (*span, value))
    else:
        low, high = span
    return (value - low) / (high - low)


def _spot(row: Row, measures: tuple[c.Measure, c.Measure], spans: tuple[tuple[float, float], ...]) -> Spot:
    """The mark of an endpoint with its intervals, as shares of both axes."""

    def share(axis: int, end: str) -> float:
        return _share(measures[axis], spans[axis], row[end])

    wide, tall = (None not in {row[f"{name}_low"], row[f"{name}_high"]} for name in ("x", "y"))
    return Spot(
        name=row["endpoint"], across=share(0, "x"), up=share(1, "y"),
        across_ends=(share(0, "x_low"), share(0, "x_high")) if wide else None,
        up_ends=(share(1, "y_low"), share(1, "y_high")) if tall else None,
    )  # fmt: skip


def _names(wanted: Sequence[Row], spots: Sequence[Spot]) -> Iterator[alt.Chart]:
    """Texts beside their marks, one layer for each place that a text can have."""
    found = placed([row["endpoint"] for row in wanted], spots, high=HIGH - AROUND)
    texts = sorted((where, row["endpoint"]) for row in wanted if (where := found.get(row["endpoint"])) is not None)
    by_name = {row["endpoint"]: row for row in wanted}
    for (align, dx, dy), names in groupby(texts, key=lambda pair: pair[0]):
        rows = [by_name[name] for _, name in names]
        yield inline(rows).mark_text(align=align, dx=dx, dy=dy, color=GRAY, limit=WIDEST)


def _axis(one: c.Measure) -> alt.Axis:
    return alt.Axis(format="~g" if one.name == "kl" else ",~f", tickCount=5)
