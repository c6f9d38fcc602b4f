"""One endpoint: verdicts with their evidence, speed and fidelity over time, the last exchanges."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import streamlit as st

from dashboard import cards, charts, session
from dashboard.evidence import band, identified, outcome_counts
from dashboard.exchange_table import table, what_was_said
from dashboard.grid import chip
from dashboard.markup import data, link, tag
from dashboard.page import NO_DATA, chart, draw, given, head, unknown
from dashboard.screen import Screen, show
from dashboard.store_reader import EndpointNow
from dashboard.view import detectors_of, overall_mark, worst_first
from dashboard.words import MARKS, ago, metric_label, plain
from monitor.types import Exchange

SCREEN = Screen(title="Endpoint", question="What is known of one endpoint?", order=8)

WINDOWS = {
    "1 h": timedelta(hours=1),
    "6 h": timedelta(hours=6),
    "24 h": timedelta(days=1),
    "7 d": timedelta(days=7),
    "30 d": timedelta(days=30),
}
FIGURES = ("ttft_ms_p50", "tps_p50", "success_rate", "kl_nats", "prompt_token_match")
HOW_TO_READ = (
    "A point is a median, shaded from its lowest to its highest value; a cross says: nothing could be measured."
)
PER_ROW = 3


def _header(endpoint: EndpointNow, now: datetime) -> None:
    mark, word = overall_mark(endpoint)
    status = next((name for name, one in MARKS.items() if one is mark), None)
    head(SCREEN, chip(status), " ", data(endpoint.endpoint, most=120), f" {word}")
    reference = f" · compared with {endpoint.reference}" if endpoint.reference else " · no reference declared"
    st.caption(
        plain(f"{cards.declared(endpoint)} · served by {endpoint.provider}{reference}")
        + f" · last run {ago(endpoint.last_run_at, now)}"
    )
    pages = [link(page, page, endpoint=endpoint.endpoint) for page in ("speed", "tools", "capabilities")]
    model = link("compare", "compare", model=endpoint.reference or endpoint.model)
    draw(tag("p", *[piece for one in (*pages, model) for piece in (one, " · ")][:-1]))
    cards.incidents(endpoint, now)


def _verdicts(endpoint: EndpointNow) -> None:
    st.subheader("Verdicts", anchor=False)
    if not endpoint.verdicts:
        st.caption("No verdict yet. The judge looks at runs within a minute of their arrival.")
        return
    order = detectors_of([endpoint])
    verdicts = sorted(endpoint.verdicts, key=lambda verdict: order.index(verdict.detector))
    for start in range(0, len(verdicts), PER_ROW):
        row = verdicts[start : start + PER_ROW]
        for place, verdict in zip(st.columns(PER_ROW), row, strict=False):
            with place:
                cards.verdict_card(verdict)


def _outcomes(exchanges: Sequence[Exchange]) -> None:
    definition = "How the last requests ended, and whose fault it is."
    chart("Outcomes of the last exchanges", definition, charts.outcomes(outcome_counts(exchanges)))


def _speed(endpoint: str, metric: str, window: timedelta) -> None:
    label = metric_label(metric)
    points = session.series(endpoint, metric, window)
    chart(
        f"{label.title}, {label.unit}", f"{label.definition} {HOW_TO_READ}", charts.over_time(points, unit=label.unit)
    )


def _fidelity(endpoint: EndpointNow, window: timedelta) -> None:
    label = metric_label("kl_nats")
    points = session.series(endpoint.endpoint, "kl_nats", window)
    chart(f"{label.title}, nats", f"{label.definition} {HOW_TO_READ}", charts.fidelity(points, band(endpoint.verdicts)))


def _identity(endpoint: EndpointNow) -> None:
    """What an identification saw; nothing where there was none."""
    verdict = identified(endpoint.verdicts)
    if verdict is None:
        return
    st.subheader("What is served", anchor=False)
    st.text(verdict.reason)
    left, right = st.columns(2)
    with left:
        chart("Posterior of each scheme", "How sure it is that this scheme is what is served.",
               charts.posterior(verdict))  # fmt: skip
    dots = charts.deviations(verdict)
    if dots is not None:
        with right:
            chart("Observed against predicted deviations", "Each dot is a listed token; on the line the prediction "
                   "is exact.", dots)  # fmt: skip


def _over_time(endpoint: EndpointNow, exchanges: Sequence[Exchange]) -> None:
    st.subheader("Over time", anchor=False)
    chosen = st.segmented_control("Window", list(WINDOWS), default="24 h", required=True, label_visibility="collapsed")
    window = WINDOWS[chosen]
    left, right = st.columns(2)
    with left:
        _speed(endpoint.endpoint, "ttft_ms_p50", window)
    with right:
        _speed(endpoint.endpoint, "tps_p50", window)
    left, right = st.columns(2)
    with left:
        _fidelity(endpoint, window)
    with right:
        _outcomes(exchanges)


def main() -> None:
    """Draw the page: the endpoint that the address names."""
    name = given("name") or ""
    endpoints = session.overview()
    endpoint = next((endpoint for endpoint in endpoints if endpoint.endpoint == name), None)
    if endpoint is None:
        if endpoints:
            unknown(name, [one.endpoint for one in worst_first(endpoints)], "endpoint", parameter="name")
        else:
            session.nothing_yet()
        return
    _header(endpoint, datetime.now(UTC))
    cards.figures(endpoint, FIGURES)
    _verdicts(endpoint)
    _identity(endpoint)
    exchanges = session.exchanges(name)
    _over_time(endpoint, exchanges)
    st.subheader("Last exchanges", anchor=False)
    if not exchanges:
        st.caption(NO_DATA)
        return
    table(exchanges)
    what_was_said(exchanges)


if __name__ == "__main__":
    show(__file__)
