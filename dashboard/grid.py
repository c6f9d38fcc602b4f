"""The grid of the overview: endpoints by areas, one table for any number of them."""

from collections.abc import Sequence
from datetime import datetime

from dashboard.areas import Area, AreaCell, Standings, area_cell
from dashboard.incident_view import name_of
from dashboard.markup import Markup, as_cards, data, joined, link, tag
from dashboard.sparkline import sparkline
from dashboard.store_reader import EndpointNow
from dashboard.view import metric_text, overall_mark
from dashboard.words import MARKS, UNJUDGED, ago
from monitor.comparison_causes import meaning
from monitor.incident import Incident
from monitor.results import Status

SHOWN = 3
"""Incidents of an endpoint that the grid names."""


def chip(status: Status | None) -> Markup:
    """Symbol on colour; the word stands beside it or in the title."""
    mark = MARKS[status] if status else UNJUDGED
    return tag("span", mark.symbol, class_=f"wm-chip wm-{status or 'none'}", title=mark.meaning)


def grid(endpoints: Sequence[EndpointNow], areas: Sequence[Area], standings: Standings, now: datetime) -> Markup:
    """Return the table, in the order of `endpoints`."""
    titles = (tag("th", one.title, scope="col", title=one.question) for one in areas)
    heads = [tag("th", "Endpoint", scope="col"), *titles]
    rows = [_row(one, areas, standings, now) for one in endpoints]
    table = as_cards(tag("table", tag("thead", tag("tr", *heads)), tag("tbody", *rows)))
    return tag("div", table, class_="wm wm-grid", tabindex=0, role="region", aria_label="Endpoints by area")


def _row(endpoint: EndpointNow, areas: Sequence[Area], standings: Standings, now: datetime) -> Markup:
    cells = [_cell(area_cell(endpoint, area, standings), endpoint, now) for area in areas]
    return tag("tr", tag("th", *_who(endpoint, now), scope="row"), *cells)


def _who(endpoint: EndpointNow, now: datetime) -> list[Markup]:
    mark, word = overall_mark(endpoint)
    status = next((name for name, one in MARKS.items() if one is mark), None)
    precision = f" · {endpoint.precision}" if endpoint.precision else ""
    model = data(f"{endpoint.model}{precision}", most=60)
    said = tag("span", model, tag("br"), f"{word} · last run {ago(endpoint.last_run_at, now)}", class_="wm-note")
    name = link("endpoint", data(endpoint.endpoint, most=80), name=endpoint.endpoint)
    return [joined([chip(status), " ", name, tag("br")]), said, *_incidents(endpoint, now)]


def _incidents(endpoint: EndpointNow, now: datetime) -> list[Markup]:
    return [_incident(one, now) for one in endpoint.incidents[:SHOWN]]


def _incident(one: Incident, now: datetime) -> Markup:
    """What happened, since when, and why nobody is told where that is so; the reason when asked."""
    quiet = f" ({one.muted})" if one.muted else ""
    what = data(f"{name_of(one)} since {ago(one.opened_at, now).removesuffix(' ago')}{quiet}", most=120)
    opened = link("incidents", what, id=one.incident_id)
    return tag("div", "⚑ ", opened, class_="wm-note", title=one.reason[:300])


def _cell(cell: AreaCell, endpoint: EndpointNow, now: datetime) -> Markup:
    label = {"class_": "wm-cell", "data_label": cell.area.title}
    if cell.verdict is None:
        return tag("td", chip(None), " not judged yet", *_speed(cell, endpoint), **label)
    word = link("verdict", cell.verdict.status, id=cell.verdict.verdict_id)
    since = _since(cell, now)
    why = None if cell.verdict.status == "pass" else meaning(cell.verdict.cause or "") or None
    return tag(
        "td", chip(cell.status), " ", word, _soft(cell.why), _soft(cell.effect), *_speed(cell, endpoint),
        sparkline(cell.past), _soft(since), title=why, **label,
    )  # fmt: skip


def _speed(cell: AreaCell, endpoint: EndpointNow) -> list[Markup | None]:
    """Speed is what people ask for in milliseconds, whatever its verdict compares."""
    if cell.area.name != "speed" or "ttft_ms_p50" not in endpoint.metrics:
        return []
    return [_soft(f"TTFT {metric_text(endpoint.metrics, 'ttft_ms_p50')}")]


def _since(cell: AreaCell, now: datetime) -> str:
    if cell.since_at is None:
        return ""
    age = ago(cell.since_at, now).removesuffix(" ago")
    return f"for over {age}" if cell.before else f"for {age}"


def _soft(text: str) -> Markup | None:
    return tag("span", data(text, most=120), class_="wm-soft") if text else None
