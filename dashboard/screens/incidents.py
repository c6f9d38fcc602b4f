"""Incidents: what happened? All of a window on one line of time, and one of them with before and after."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import streamlit as st

from dashboard import session
from dashboard.incident_view import Around, around, bars, lasted, metrics_of, name_of, shaded, told
from dashboard.markup import Markup, data, figures, link, table, tag
from dashboard.page import chart, draw, given, head, section
from dashboard.screen import Screen, show
from dashboard.store_reader import Point
from dashboard.words import ago, detector_label, interval, metric_label, plain, quantity, stamp
from monitor.comparison_causes import meaning
from monitor.incident import Incident

SCREEN = Screen(title="Incidents", question="What happened?", order=2)

WINDOWS = {"24 h": timedelta(days=1), "7 d": timedelta(days=7), "30 d": timedelta(days=30), "90 d": timedelta(days=90)}
BUCKETS = 200
MOST = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """Incidents, last opened first."""

    incidents: tuple[Incident, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """A metric over time."""

    points: tuple[Point, ...]


def main() -> None:
    """Draw the page."""
    head(SCREEN)
    picked = st.segmented_control(
        "Window", list(WINDOWS), default="30 d", required=True, key="window", bind="query-params",
        label_visibility="collapsed",
    )  # fmt: skip
    back, now = WINDOWS[picked], datetime.now(UTC)
    since, until = session.window(back)
    found = session.ask(Timeline, "timeline", limit=str(MOST), since=since, until=until).incidents
    asked = given("id")
    if asked:
        one = next((incident for incident in found if incident.incident_id == asked), None)
        if one is None:
            st.text(f"No incident {asked!r} was open in this window. Try a longer one.")
        else:
            _one(one, now)
    if not found:
        st.caption(f"Nothing happened: no incident was open in the last {picked}.")
        return
    n_open = sum(one.closed_at is None for one in found)
    section(f"{len(found)} incidents, {n_open} open")
    chart("Incidents over time", "A bar from the first sign to the one that closed it, red while it is open.",
          bars(found, now - back, now))  # fmt: skip
    draw(table(("", "Endpoint", "What", "Opened (UTC)", "Lasted", "Effect", "Why"), [_row(one, now) for one in found],
               label="Incidents, last opened first", cards=True))  # fmt: skip


def _row(one: Incident, now: datetime) -> list[Markup]:
    ends = interval(one.low, one.high, one.unit)
    effect = f"{quantity(one.effect, one.unit)} {ends or ''}" if one.effect is not None else ""
    is_open = one.closed_at is None
    mark = tag("span", "⚑" if is_open else "✓", class_=f"wm-chip wm-{'fail' if is_open else 'none'}")
    return [
        tag("td", mark, " ", "open" if is_open else "closed"), tag("td", data(one.endpoint, most=80)),
        tag("td", link("incidents", data(name_of(one), most=80), id=one.incident_id),
            tag("div", meaning(one.cause or ""), class_="wm-soft wm-cell")), tag("td", stamp(one.opened_at)),
        tag("td", lasted(one, now)), *figures(effect), tag("td", data(one.reason, most=240)),
    ]  # fmt: skip


def _one(one: Incident, now: datetime) -> None:
    state = "open" if one.closed_at is None else f"closed {ago(one.closed_at, now)}"
    st.subheader(plain(f"{one.endpoint}: {name_of(one)}"), anchor=False)
    if meaning(one.cause or ""):
        st.caption(plain(f"What that means: {meaning(one.cause or '')}."))
    st.text(one.reason)
    seen = ", ".join(one.vantages)
    facts = [
        state, f"opened {stamp(one.opened_at)} UTC", f"lasted {lasted(one, now)}", f"{one.n_verdicts} signs",
        f"seen by {detector_label(one.detector).title}", f"from {seen}" if seen else "",
        f"nobody is told: {one.muted}" if one.muted else "",
    ]  # fmt: skip
    st.caption(plain(" · ".join(filter(None, facts))))
    links = [link("endpoint", "endpoint", name=one.endpoint)]
    if one.verdict_id:
        links.append(link("verdict", "evidence", id=one.verdict_id))
    draw(tag("p", *[piece for each in links for piece in (each, " · ")][:-1]))
    window = around(one, now)
    for metric in metrics_of(one):
        _metric(one.endpoint, metric, window)


def _metric(endpoint: str, metric: str, window: Around) -> None:
    label = metric_label(metric)
    found = session.maybe(
        Series, "series", slow=True, endpoint=endpoint, metric=metric, since=window.since.isoformat(),
        until=_step(window.until).isoformat(), buckets=str(BUCKETS),
    )  # fmt: skip
    points: Sequence[Point] = found.points if found else ()
    left, right = st.columns([3, 1])
    with left:
        chart(f"{label.title} before, during and after", f"{label.definition} Shaded: the incident.",
              shaded(points, window, label.unit))  # fmt: skip
    with right:
        rows = [[tag("td", part), *figures(value, n)] for part, value, n in told(points, window, label.unit)]
        draw(table(("", "median", "n"), rows, label=f"{label.title} by part"))


def _step(at: datetime) -> datetime:
    """The end of the minute, so that refreshes share an answer."""
    return session.next_edge(at, timedelta(minutes=1))


if __name__ == "__main__":
    show(__file__)
