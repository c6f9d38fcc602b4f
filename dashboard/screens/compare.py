"""Compare: which provider for a model? The same numbers as `weighmaster compare`, sortable, with what is traded."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

import streamlit as st

from dashboard import session
from dashboard.axes import ChartLike
from dashboard.compare_view import lead, limits, rows_table, served_table, switch_table, words
from dashboard.ladder import of_model
from dashboard.markup import data, link, tag
from dashboard.page import chart, draw, given, head, section
from dashboard.screen import Screen, show
from dashboard.store_reader import Configured, EndpointNow
from dashboard.trades import TRADES, Trade, plot
from dashboard.words import plain
from monitor.comparison import Comparison, Ladder, ModelComparison
from monitor.comparison_cells import measures, order, switch_note
from monitor.comparison_facts import Facts
from monitor.comparison_measures import measure
from monitor.comparison_rows import compare
from monitor.comparison_weights import ladder_text

SCREEN = Screen(title="Compare", question="Which provider for a model?", order=1, every_s=session.SLOW_S)

WINDOWS = {"24 h": timedelta(days=1), "7 d": timedelta(days=7), "30 d": timedelta(days=30)}
# Sorts the way the comparison itself does: what serves what it declares comes first.
VERDICT = "verdict"


@dataclass(frozen=True, slots=True, kw_only=True)
class FactsFound:
    """What is known of each endpoint of a model."""

    facts: tuple[Facts, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """A comparison with the pictures of the model that the page is about; None where it is not in the facts."""

    comparison: Comparison
    model: ModelComparison | None
    trades: tuple[tuple[Trade, ChartLike], ...]
    ladder: ChartLike | None


def main() -> None:
    """Draw the page."""
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
    if found.model is None or not found.model.rows:
        st.caption("Nothing was measured in this window.")
        return
    _model(found.model, found)


def models_of(endpoints: Sequence[EndpointNow]) -> list[str]:
    """What can be compared: references, else models as requests say them; those with the most endpoints first."""
    counts: dict[str, int] = {}
    for one in endpoints:
        name = one.reference or one.model
        counts[name] = counts.get(name, 0) + 1
    return sorted(counts, key=lambda name: (-counts[name], name))


def _compared(model: str, back: timedelta) -> Drawn:
    # Without an end: the store has the newest verdicts at hand.
    since, _ = session.window(back, step=timedelta(minutes=15))
    facts = session.ask(FactsFound, "comparison", slow=True, model=model, since=since).facts
    configured = session.maybe(Configured, "configured", slow=True) or Configured()
    # The same facts are the same object while their answer is kept, so that a rerun computes nothing.
    return _computed(facts, configured.ladders, model, key=(since, id(facts)))


@st.cache_resource(ttl=2 * session.SLOW_S, max_entries=16, show_spinner=False)
def _computed(_facts: Sequence[Facts], _ladders: Mapping[str, Ladder], name: str, *, key: tuple[str, int]) -> Drawn:
    del key
    found = compare(_facts, ladders=_ladders)
    model = next((one for one in found.models if one.model == name), None)
    if model is None:
        return Drawn(comparison=found, model=None, trades=(), ladder=None)
    trades = tuple((trade, made) for trade in TRADES if (made := plot(model, trade)) is not None)
    return Drawn(comparison=found, model=model, trades=trades, ladder=of_model(model))


def _model(model: ModelComparison, found: Drawn) -> None:
    draw(lead(model))
    section("What is served", "Posterior: how sure it is that just this scheme is served. To switch: the cheapest "
            "endpoint that passes, and what the same requests cost there.")  # fmt: skip
    draw(served_table(model))
    draw(words(model))
    section("Side by side", "Intervals are 95 %. A place is told as a tie where the intervals allow no order. Numbers "
            "are of the whole window, but those that link to a verdict: these are of the newest.")  # fmt: skip
    options = [VERDICT, *(one.name for one in measures(model))]
    by = st.selectbox(
        "Sort by", options, key="sort", bind="query-params", width=260,
        format_func=lambda name: "Verdict" if name == VERDICT else measure(name).title,
    )  # fmt: skip
    if by != VERDICT:
        st.caption(plain(f"{order(model, measure(by))}."))
    draw(rows_table(model, by))
    _trades(found.trades)
    _ladder(model, found.ladder)
    if model.switches:
        section("What it costs to switch")
        draw(switch_table(model))
        st.caption(plain(switch_note(model)))
    said = limits(model)
    with st.expander(f"What this cannot tell ({len(said)})"):
        draw(tag("ul", *(tag("li", data(one, most=400)) for one in said)))
    st.caption(f"Config {found.comparison.config_sha256[:12]}. The same as a report: `weighmaster compare`.")


def _trades(drawn: Sequence[tuple[Trade, ChartLike]]) -> None:
    section("What is traded for what", "Each mark is an endpoint with its intervals; the dashed line joins those that "
            "no other beats in both measures. Point estimates: overlapping intervals allow no order.")  # fmt: skip
    for place, (trade, made) in zip([*st.columns(2), *st.columns(2)], drawn, strict=False):
        up, across = measure(trade.up), measure(trade.across)
        with place:
            chart(f"{up.title} by {across.title}", f"{up.definition} {across.definition}", made)
    st.caption(
        "Hollow: too few for an interval, or the divergence of another prompt than golden's." if drawn else
        "No endpoint has two numbers that are traded for each other: prices are declared in the configuration."
    )  # fmt: skip


def _ladder(model: ModelComparison, drawn: ChartLike | None) -> None:
    if drawn is not None:
        section("The KL ladder")
        st.caption(plain(ladder_text(model)))
        definition = "Mean KL(golden || endpoint) in nats on a logarithmic axis."
        chart("Endpoints between calibrated variants", definition, drawn)


def _unknown(asked: str | None, models: Sequence[str]) -> None:
    head(SCREEN, "Unknown model" if asked else "Choose a model")
    if asked:
        st.text(f"The store knows no model or reference called {asked!r}.")
    items = [tag("li", link("compare", data(one, most=120), model=one)) for one in models]
    draw(tag("ul", *items))


if __name__ == "__main__":
    show(__file__)
