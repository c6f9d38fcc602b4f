"""Overview: is it all right? Every endpoint by area, what needs attention first."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import streamlit as st

from dashboard import session
from dashboard.areas import Standing, areas_of
from dashboard.grid import grid
from dashboard.markup import data
from dashboard.page import head
from dashboard.screen import Screen, show
from dashboard.store_reader import EndpointNow
from dashboard.view import SEVERITY, overall, sentence, worst_first
from monitor.plurals import plural

SCREEN = Screen(title="Overview", question="Is it all right?", order=0)

# How far the small pictures look back.
BACK = timedelta(days=14)

# Buckets of a small picture: a day each, as many detectors look once a day.
CELLS = 14

EVERYTHING = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Standings:
    standings: tuple[Standing, ...]


def main() -> None:
    """Draw the page."""
    endpoints = session.overview()
    if not endpoints:
        session.nothing_yet()
        return
    head(SCREEN, data(sentence(endpoints), most=1000))
    shown = _chosen(worst_first(endpoints))
    since, until = session.window(BACK, step=timedelta(minutes=15))
    found = session.ask(_Standings, "standings", slow=True, buckets=str(CELLS), since=since, until=until).standings
    standings = {(one.endpoint, one.detector): one for one in found}
    now = datetime.now(UTC)
    st.html(grid(shown, areas_of(endpoints), standings, now).text)
    st.caption(
        f"{len(shown)} of {plural(len(endpoints), 'endpoint')}. Small pictures: effects over {BACK.days} days as a "
        "line, the worst status of each day as ticks below (higher is worse). "
        f"{now:%Y-%m-%d %H:%M:%S} UTC, refreshed every {session.REFRESH_S} seconds."
    )


def _chosen(ordered: Sequence[EndpointNow]) -> Sequence[EndpointNow]:
    """The endpoints of the status that the reader picks; the choice is in the address."""
    options = [EVERYTHING, *(status for status in SEVERITY if any(overall(one) == status for one in ordered))]
    picked = st.segmented_control(
        "Status", options, default=EVERYTHING, required=True, key="status", bind="query-params",
        label_visibility="collapsed",
    )  # fmt: skip
    return [one for one in ordered if picked == EVERYTHING or overall(one) == picked]


if __name__ == "__main__":
    show(__file__)
