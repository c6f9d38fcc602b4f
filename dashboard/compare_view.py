"""A comparison in words and as tables. Numbers and sentences are the report's."""

import math
from collections.abc import Sequence

from dashboard.grid import chip
from dashboard.markup import Child, Markup, data, figures, joined, link, table, tag
from dashboard.words import spoken
from monitor import comparison as c
from monitor import comparison_cells as cells
from monitor.comparison_figures import DASH
from monitor.comparison_measures import MEASURES, measure
from monitor.comparison_weights import served
from monitor.comparison_words import advice, scope, sections


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
    notes = "; ".join(note for note in (sure, one.share, one.named_at) if note not in {"", DASH})
    declared = tag("span", chip(row.status), f" {row.status}, declares ", data(one.declared, most=40), class_="wm-note")
    name = link("endpoint", data(one.endpoint, most=80), name=one.endpoint)
    return [
        tag("th", name, tag("br"), declared, scope="row"),
        tag("td", data(one.served, most=80), *((tag("br"), tag("span", notes, class_="wm-soft")) if notes else ())),
        cells.far(row), cells.wrong_since(row), data(cells.way_out(model, row), most=120), one.judged,
        data(one.remark, most=300),
    ]  # fmt: skip


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
