"""A comparison in words, as tables and as plots of what is traded for what. Numbers and sentences are the report's."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import altair as alt

from dashboard.axes import FADED, HEIGHT, ChartLike, Row, hollowed, inline
from dashboard.grid import chip
from dashboard.markup import Child, Markup, data, figures, joined, link, table, tag
from dashboard.palette import GRAY, STATUS
from dashboard.words import spoken
from monitor import comparison as c
from monitor import comparison_cells as cells
from monitor.comparison_figures import DASH, estimate_text
from monitor.comparison_marks import is_hollow
from monitor.comparison_measures import MEASURES, measure
from monitor.comparison_weights import served
from monitor.comparison_words import advice, scope, sections

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


def lead(model: c.ModelComparison) -> Markup:
    """Whom to choose, and what was asked."""
    first = tag("p", data(advice(model), most=600), class_="wm-advice")
    return joined([first, tag("p", data(scope(model), most=600), class_="wm-soft")])


def words(model: c.ModelComparison) -> Markup:
    """The sentences in their groups, as the report has them."""
    groups = [
        piece for one in sections(model)
        for piece in (tag("h4", one.title), tag("ul", *(tag("li", data(line, most=1200)) for line in one.sentences)))
    ]  # fmt: skip
    return tag("div", *groups, class_="wm-words", tabindex=0, role="region", aria_label="In words")


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
    shown = cells.measures(model)
    heads = ("Endpoint", "Verdict", *(f"{one.title}{_unit(one)}{' ↓' if one.name == by else ''}" for one in shown))
    rows = [_row(row, shown, len(model.rows)) for row in ordered(model, by)]
    return table(heads, rows, label="Endpoints side by side", cards=True)


def _unit(one: c.Measure) -> str:
    return "" if one.unit == "share" else f", {one.unit}"


def _row(row: c.Row, shown: Sequence[c.Measure], n: int) -> list[Child]:
    name = link("endpoint", data(row.endpoint.name, most=80), name=row.endpoint.name)
    declared = tag("span", data(row.endpoint.precision or "precision not declared", most=40), class_="wm-soft")
    cause = f" {spoken(', '.join(row.causes))}" if row.causes else ""
    word = tag("td", chip(row.status), f" {row.status}", tag("span", data(cause, most=120), class_="wm-soft"))
    return [tag("td", name, tag("br"), declared), word, *(_estimate(row, one, n) for one in shown)]


def _estimate(row: c.Row, one: c.Measure, n_endpoints: int) -> Markup:
    """Value, interval, k of n and place below each other; or why there is none."""
    found, place = row.estimates[one.name], row.places.get(one.name)
    if found.value is None:
        return tag("td", DASH, tag("br"), tag("span", data(found.reason or "", most=200), class_="wm-soft"))
    notes = (cells.ends(one, found), cells.counted(found), cells.shown_place(place, n_endpoints))
    value: Child = cells.value(one, found)
    if found.verdict_id:
        value = link("verdict", value, id=found.verdict_id)
    inside = [piece for note in notes if note for piece in (tag("br"), tag("span", note, class_="wm-soft"))]
    if cells.apart(found):
        inside += [tag("br"), tag("span", cells.apart(found), class_="wm-soft wm-wraps")]
    return tag("td", value, *inside, class_="wm-once", title=found.remark or f"n = {found.n}")


def served_table(model: c.ModelComparison) -> Markup:
    """Who serves what: identified or why not, how far from golden, since when, and the way out; as the report opens."""
    heads = ("Endpoint", "Identified", "From golden", "Wrong since", "To switch", "Judged", "Remark")
    return table(heads, [_served(model, row) for row in model.rows], label="What is served", cards=True)


def _served(model: c.ModelComparison, row: c.Row) -> list[Child]:
    one = served(row)
    sure = "" if one.posterior == DASH else f"posterior {one.posterior}"
    notes = "; ".join(note for note in (sure, one.share) if note not in {"", DASH})
    declared = tag("span", chip(row.status), f" {row.status}, declares ", data(one.declared, most=40), class_="wm-note")
    name = link("endpoint", data(one.endpoint, most=80), name=one.endpoint)
    return [
        tag("th", name, tag("br"), declared, scope="row"),
        tag("td", data(one.served, most=80), *((tag("br"), tag("span", notes, class_="wm-soft")) if notes else ())),
        cells.far(row), cells.wrong_since(row), data(cells.way_out(model, row), most=120), one.judged,
        data(one.remark, most=300),
    ]  # fmt: skip


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
    legend = alt.Legend(orient="top", title=None)
    best = frontier([row for row in rows if not row["apart"]], x_of.better, y_of.better)
    told = {row["endpoint"] for row in best} if len(rows) > MOST_NAMED else {row["endpoint"] for row in rows}
    named = [row for row in rows if row["endpoint"] in told or row["status"] in {"fail", "suspect"}]
    named.sort(key=lambda row: float(row["x"]))
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
        # By turns above and below, from left to right: neighbours do not write over each other.
        *(inline(named[place::2]).mark_text(align="left", dx=9, dy=dy, color=GRAY, limit=150).encode(
            x=x, y=y, text="endpoint:N") for place, dy in enumerate((-9, 10))),
    ).properties(height=HEIGHT + 40)  # fmt: skip


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
    return f"{one.title}{_unit(one)} ({arrow if one.name != 'kl' else 'lower is better, log'})"


def _scale(one: c.Measure, rows: Sequence[Row], axis: str) -> alt.Scale:
    values = [row[end] for row in rows for end in (axis, f"{axis}_low", f"{axis}_high") if row[end] is not None]
    if one.name == "kl":
        known = [value for value in values if value > 0] or [1e-3]
        return alt.Scale(type="log", domain=[min(known) / 2, max(known) * 3], nice=False, clamp=True)
    return alt.Scale(domain=[0, max(values) * 1.3 or 1], nice=False)


def _axis(one: c.Measure) -> alt.Axis:
    return alt.Axis(format="~g" if one.name == "kl" else ",~f", tickCount=5)


def switch_table(model: c.ModelComparison) -> Markup:
    """What a change of endpoint costs and brings, to the cheapest that pass."""
    timed = any(one.timed for one in model.switches)
    heads = [
        "From",
        "To",
        "Prompt tokens, USD/M",
        "Output tokens, USD/M",
        "Tokens a request",
        "1,000 requests, USD",
        "Change",
    ]
    rows = [
        [data(one.from_, most=60), data(one.to, most=60),
         *figures(cells.change(one.price_in_change_usd), cells.change(one.price_out_change_usd),
                  f"{cells.billed(one.size_from)} → {cells.billed(one.size_to)}", cells.thousand(one),
                  cells.percent(one)),
         *(figures(cells.times(one.ttft_ratio, one.timed), cells.times(one.tps_ratio, one.timed)) if timed else ())]
        for one in cells.switches(model)
    ]  # fmt: skip
    return table([*heads, *(("TTFT", "Tokens per second") if timed else ())], rows, label="Switches", cards=True)


def limits(model: c.ModelComparison) -> list[str]:
    """All that the comparison cannot tell: of the whole, of single endpoints, and pairs that cannot be compared."""
    return [
        *model.limits, *(f"{row.endpoint.name}: {limit}" for row in model.rows for limit in row.limits),
        *(f"{one.measure.title}: {remark}" for one in model.rankings for remark in one.remarks),
    ]  # fmt: skip
