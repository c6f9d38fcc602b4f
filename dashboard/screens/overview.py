"""Overview: which endpoints serve what they declare, which do not, and why."""

from datetime import UTC, datetime

import streamlit as st

from dashboard import cards, session
from dashboard.view import detectors_of, overall, sentence, worst_first
from dashboard.words import plain

# Endpoints drawn at once: each is some twenty elements, redrawn every few seconds.
SHOWN = 50


@st.fragment(run_every=session.REFRESH_S)
def live() -> None:
    """The part that keeps itself up to date."""
    session.guarded(_draw)


def _draw() -> None:
    endpoints = session.overview()
    if not endpoints:
        session.nothing_yet()
        return
    st.markdown(f"#### {plain(sentence(endpoints))}")
    now = datetime.now(UTC)
    ordered = worst_first(endpoints)
    for endpoint in ordered[:SHOWN]:
        cards.endpoint_card(endpoint, detectors_of(endpoints), now)
    if len(ordered) > SHOWN:
        st.caption(f"{len(ordered) - SHOWN} more endpoints, none in a worse state than {overall(ordered[SHOWN])}:")
        for endpoint in ordered[SHOWN:]:
            cards.endpoint_link(endpoint.endpoint)
    st.caption(f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC, refreshed every {session.REFRESH_S} seconds.")


if __name__ == "__main__":
    live()
