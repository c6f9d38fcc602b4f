"""Draws verdicts and figures. All data goes through `plain`, `st.text` or `st.code`: nothing of it is Markdown."""

from datetime import datetime

import streamlit as st

from dashboard.evidence import evidence
from dashboard.store_reader import EndpointNow
from dashboard.view import Cell, cell, metric_text, overall_mark, sample_text
from dashboard.words import MARKS, Mark, ago, detector_label, metric_label, plain, spoken
from monitor.incident import Incident
from monitor.results import Verdict

SPEEDS = ("ttft_ms_p50", "tps_p50")

CELL_PX = 160
"""Width of a cell of the grid: an effect with its interval fits, and a phone shows two beside each other."""


def badge(mark: Mark, word: str) -> None:
    """A status: symbol, word and colour."""
    st.badge(f"{plain(mark.symbol)} {plain(word)}", color=mark.colour, help=mark.meaning.capitalize() + ".")


def endpoint_card(endpoint: EndpointNow, detectors: tuple[str, ...], now: datetime) -> None:
    """One row of the grid; on a narrow screen its cells wrap, two beside each other."""
    with st.container(border=True, gap="xsmall"):
        with st.container(horizontal=True, gap="small"):
            with st.container(gap="xxsmall", width="stretch"):
                _identity(endpoint, now)
            for detector in detectors:
                with st.container(gap="xxsmall", width=CELL_PX):
                    _verdict_cell(cell(endpoint, detector))
            with st.container(gap="xxsmall", width=CELL_PX):
                _speed(endpoint)
        incidents(endpoint, now)


def endpoint_link(name: str) -> None:
    """A link to the page of an endpoint."""
    st.page_link("screens/endpoint.py", label=f"**{plain(name)}**", query_params={"name": name})


def _identity(endpoint: EndpointNow, now: datetime) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        badge(*overall_mark(endpoint))
        endpoint_link(endpoint.endpoint)
    st.caption(plain(declared(endpoint)))
    st.caption(f"Last run {ago(endpoint.last_run_at, now)}")


def declared(endpoint: EndpointNow) -> str:
    """What the endpoint says it serves, in one line."""
    precision = f", declared {endpoint.precision}" if endpoint.precision else ""
    return f"{endpoint.model}{precision}"


def _verdict_cell(shown: Cell) -> None:
    st.caption(shown.title, help=shown.help)
    badge(shown.mark, shown.word)
    if shown.effect:
        st.caption(plain(f"{shown.effect}, {shown.sample}"))
    if shown.why:
        st.caption(f"Cause: **{plain(shown.why)}**")


def _speed(endpoint: EndpointNow) -> None:
    for metric in SPEEDS:
        label = metric_label(metric)
        st.caption(label.title, help=f"{label.definition} In {label.unit}.")
        st.text(metric_text(endpoint.metrics, metric))


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
    """One verdict with its reason and all the numbers behind it."""
    label = detector_label(verdict.detector)
    with st.container(border=True, height="stretch"):
        st.markdown(f"**{plain(label.title)}**", help=label.definition)
        cause = f": {spoken(verdict.cause)}" if verdict.cause else ""
        badge(MARKS[verdict.status], f"{verdict.status}{cause}")
        st.text(verdict.reason)
        names, values = zip(*evidence(verdict), strict=True)
        rows = {"number": [plain(name) for name in names], "value": [plain(value) for value in values]}
        st.table(rows, border="horizontal", hide_index=True, hide_header=True)
