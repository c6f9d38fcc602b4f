"""Draws verdicts and figures. All data goes through `plain`, `st.text` or `st.code`: nothing of it is Markdown."""

from datetime import datetime

import streamlit as st

from dashboard.evidence import evidence
from dashboard.markup import link, tag
from dashboard.store_reader import EndpointNow
from dashboard.view import metric_text, sample_text
from dashboard.words import MARKS, Mark, ago, detector_label, metric_label, plain, spoken
from monitor.incident import Incident
from monitor.results import Verdict

SHORT = frozenset({"effect", "interval", "threshold", "n", "e-value", "band", "at"})
"""Numbers that a card shows; the page of the verdict has all of them."""

CELL_PX = 160
"""Width of a figure: a value with its unit fits, and a phone shows two beside each other."""


def badge(mark: Mark, word: str) -> None:
    """A status: symbol, word and colour."""
    st.badge(f"{plain(mark.symbol)} {plain(word)}", color=mark.colour, help=mark.meaning.capitalize() + ".")


def declared(endpoint: EndpointNow) -> str:
    """What the endpoint says it serves, in one line."""
    precision = f", declared {endpoint.precision}" if endpoint.precision else ""
    return f"{endpoint.model}{precision}"


def _incident(incident: Incident, now: datetime) -> None:
    by_detector = detector_label(incident.detector).title.lower()
    name = by_detector if incident.verdict_id else spoken(incident.cause or incident.detector)
    quiet = f" ({incident.muted})" if incident.muted else ""
    what = f"Open incident, {name}, since {ago(incident.opened_at, now)}{quiet}"
    st.caption(f":material/notifications_active: {plain(f'{what}: {incident.reason}')}")


def incidents(endpoint: EndpointNow, now: datetime) -> None:
    """The open incidents of an endpoint, one line each."""
    for incident in endpoint.incidents:
        _incident(incident, now)


def figures(endpoint: EndpointNow, metrics: tuple[str, ...]) -> None:
    """Newest values side by side, with the sample that each rests on."""
    with st.container(horizontal=True, gap="small"):
        for metric in metrics:
            label = metric_label(metric)
            with st.container(border=True, gap="xxsmall", width=CELL_PX):
                st.caption(label.title, help=label.definition)
                st.markdown(f"##### {plain(metric_text(endpoint.metrics, metric))}")
                st.caption(sample_text(endpoint.metrics, metric))


def verdict_card(verdict: Verdict) -> None:
    """One verdict with its reason, what was measured, and the way to all the rest."""
    label = detector_label(verdict.detector)
    with st.container(border=True, height="stretch"):
        st.markdown(f"**{plain(label.title)}**", help=label.definition)
        cause = f": {spoken(verdict.cause)}" if verdict.cause else ""
        badge(MARKS[verdict.status], f"{verdict.status}{cause}")
        st.text(verdict.reason)
        st.html(tag("div", link("verdict", "how do you know?", id=verdict.verdict_id), class_="wm").text)
        names, values = zip(*(one for one in evidence(verdict) if one[0] in SHORT), strict=True)
        rows = {"number": [plain(name) for name in names], "value": [plain(value) for value in values]}
        st.table(rows, border="horizontal", hide_index=True, hide_header=True)
