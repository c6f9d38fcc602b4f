"""Compare: which provider for a model? The same numbers as `weighmaster compare`, sortable, with what is traded."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

import streamlit as st

from dashboard import session
from dashboard.compare_view import TRADES, measured, plot, rows_table, switch_rows
from dashboard.ladder import of_model
from dashboard.markup import data, link, table, tag
from dashboard.page import chart, draw, given, head, section
from dashboard.screen import Screen, show
from dashboard.store_reader import Configured, EndpointNow
from monitor.comparison import Comparison, ModelComparison
from monitor.comparison_facts import Facts
from monitor.comparison_measures import measure
from monitor.comparison_rows import compare

SCREEN = Screen(title="Compare", question="Which provider for a model?", order=1)

WINDOWS = {"24 h": timedelta(days=1), "7 d": timedelta(days=7), "30 d": timedelta(days=30)}
# Sorts the way the comparison itself does: what serves what it declares comes first.
VERDICT = "verdict"


@dataclass(frozen=True, slots=True, kw_only=True)
class FactsFound:
    """What is known of each endpoint of a model."""

    facts: tuple[Facts, ...]


@st.fragment(run_every=session.SLOW_S)
def live() -> None:
    """The part that keeps itself up to date."""
    session.guarded(_draw)


def _draw() -> None:
    endpoints = session.overview()
    if not endpoints:
        session.nothing_yet()
        return
    models = models_of(endpoints)
    asked = given("model")
    if asked is None or (asked and asked not in models):
        _unknown(asked, models)
        return
    top = st.container()
    left, right = st.columns(2)
    with left:
        picked = st.selectbox("Model", models, key="model", bind="query-params", width=420)
    with right:
        window = st.segmented_control(
            "Window", list(WINDOWS), default="7 d", required=True, key="window", bind="query-params"
        )
    with top:
        head(SCREEN, data(picked, most=120))
    found = _compared(picked, WINDOWS[window])
    model = next((one for one in found.models if one.model == picked), None)
    if model is None or not model.rows:
        st.caption("Nothing was measured in this window.")
        return
    _model(model, found)


def models_of(endpoints: Sequence[EndpointNow]) -> list[str]:
    """What can be compared: references, else models as requests say them; those with the most endpoints first."""
    counts: dict[str, int] = {}
    for one in endpoints:
        name = one.reference or one.model
        counts[name] = counts.get(name, 0) + 1
    return sorted(counts, key=lambda name: (-counts[name], name))


def _compared(model: str, back: timedelta) -> Comparison:
    # Without an end: the store has the newest verdicts at hand.
    since, _ = session.window(back, step=timedelta(minutes=15))
    facts = session.ask(FactsFound, "comparison", slow=True, model=model, since=since).facts
    configured = session.maybe(Configured, "configured", slow=True) or Configured()
    # The same facts are the same object while their answer is kept, so that a rerun computes nothing.
    return _computed(facts, configured.ladders, key=(model, since, id(facts)))


@st.cache_resource(ttl=2 * session.SLOW_S, max_entries=16, show_spinner=False)
def _computed(_facts: Sequence[Facts], _ladders: object, *, key: tuple[str, str, int]) -> Comparison:
    del key
    return compare(_facts, ladders=_ladders if isinstance(_ladders, dict) else {})


def _model(model: ModelComparison, found: Comparison) -> None:
    draw(tag("ul", *(tag("li", data(line, most=800)) for line in model.words), class_="wm-words", tabindex=0))
    section("Side by side", "Intervals are 95 %. A place is told as a tie where the intervals allow no order.")
    options = [VERDICT, *(one.name for one in measured(model))]
    by = st.selectbox(
        "Sort by", options, key="sort", bind="query-params", width=260,
        format_func=lambda name: "Verdict" if name == VERDICT else measure(name).title,
    )  # fmt: skip
    draw(rows_table(model, by))
    section("What is traded for what", "Each mark is an endpoint with its intervals; the dashed line joins those that "
            "no other beats in both measures. Point estimates: overlapping intervals allow no order.")  # fmt: skip
    drawn = [(trade, made) for trade in TRADES if (made := plot(model, trade)) is not None]
    for place, (trade, made) in zip([*st.columns(2), *st.columns(2)], drawn, strict=False):
        up, across = measure(trade.up), measure(trade.across)
        with place:
            chart(f"{up.title} by {across.title}", f"{up.definition} {across.definition}", made)
    if not drawn:
        st.caption(
            "No endpoint has two numbers that are traded for each other: prices are declared in the configuration."
        )
    _ladder(model)
    if model.switches:
        section("What it costs to switch")
        heads = ("From", "To", "Price, 3 in : 1 out", "TTFT", "Tokens per second")
        draw(table(heads, switch_rows(model), label="Switches"))
    limits = [*model.limits, *(f"{row.endpoint.name}: {limit}" for row in model.rows for limit in row.limits)]
    if limits:
        with st.expander(f"Limits of this comparison ({len(limits)})"):
            draw(tag("ul", *(tag("li", data(one, most=400)) for one in limits)))
    st.caption(f"Config {found.config_sha256[:12]}. The same as a report: `weighmaster compare`.")


def _ladder(model: ModelComparison) -> None:
    drawn = of_model(model)
    if drawn is not None:
        section("KL ladder")
        definition = "Mean KL(golden || endpoint) in nats on a logarithmic axis."
        chart("Endpoints between calibrated variants", definition, drawn)


def _unknown(asked: str | None, models: Sequence[str]) -> None:
    head(SCREEN, "Unknown model" if asked else "Choose a model")
    if asked:
        st.text(f"The store knows no model or reference called {asked!r}.")
    items = [tag("li", link("compare", data(one, most=120), model=one)) for one in models]
    draw(tag("ul", *items))


def main() -> None:
    """Draw the page."""
    live()


if __name__ == "__main__":
    show(__file__)
