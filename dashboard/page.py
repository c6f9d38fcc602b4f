"""What pages are made of: a head, a chart with its definition, and the choice of an endpoint that is in the address."""

from collections.abc import Sequence

import streamlit as st

from dashboard import session
from dashboard.axes import ChartLike, specification
from dashboard.markup import Child, Markup, data, link, tag
from dashboard.screen import Screen
from dashboard.store_reader import EndpointNow
from dashboard.view import worst_first

NO_DATA = "No data yet in this window. Points appear after the next run; `weighmaster probe` runs one now."


def head(screen: Screen, *title: Child) -> None:
    """The question of the page, and its title below (that of the screen, when none is given)."""
    asked = tag("p", screen.question, class_="wm-question")
    st.html(tag("div", asked, tag("h1", *(title or (screen.title,))), class_="wm wm-head").text)


def section(title: str, definition: str | None = None) -> None:
    """A heading; the definition explains it to who asks."""
    st.subheader(title, anchor=False, help=definition)


def draw(markup: Markup) -> None:
    """Put finished HTML on the page."""
    st.html(tag("div", markup, class_="wm").text)


def chart(title: str, definition: str, drawn: ChartLike | None, *, nothing: str = NO_DATA) -> None:
    """A chart below its title; words where there is nothing to draw."""
    st.markdown(f"**{title}**", help=definition)
    if drawn is None:
        st.caption(nothing)
        return
    st.vega_lite_chart(spec=specification(drawn), width="stretch", alt=f"{title}. {definition}")


def given(name: str) -> str | None:
    """What the address gives for `name`: empty for nothing, None for several, which is no choice."""
    values = st.query_params.get_all(name)
    return None if len(values) > 1 else (values[0] if values else "")


def chosen_endpoint(endpoints: Sequence[EndpointNow], screen: Screen, page: str) -> EndpointNow | None:
    """Head and choice of a page about one endpoint: the one that the address names, or that the reader picks.

    None when the page is drawn already. A name that the store does not know is said to be unknown: no other endpoint is
    shown in its place.
    """
    if not endpoints:
        session.nothing_yet()
        return None
    known = {one.endpoint: one for one in worst_first(endpoints)}
    asked = given("endpoint")
    if asked is None or (asked and asked not in known):
        unknown(asked, list(known), page)
        return None
    top = st.container()
    picked = st.selectbox("Endpoint", list(known), key="endpoint", bind="query-params", width=420)
    with top:
        head(screen, data(picked, most=120))
    return known[picked]


def unknown(name: str | None, known: Sequence[str], page: str, *, parameter: str = "endpoint") -> None:
    """A link to something that is not there: say so, and offer what there is."""
    st.title("Unknown endpoint" if name else "Choose an endpoint", anchor=False)
    if name:
        st.text(f"The store knows no endpoint called {name!r}. It may have been renamed or removed from the config.")
    st.caption("Known endpoints, those that need attention first:")
    items = [tag("li", link(page, data(one, most=120), **{parameter: one})) for one in known]
    draw(tag("ul", *items))
