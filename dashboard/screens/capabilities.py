"""Capabilities: what can it do? Every parameter told from behaviour, for all endpoints, and one endpoint's history."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import streamlit as st

from dashboard import session
from dashboard.markup import Markup, data, link, table, tag
from dashboard.page import draw, given, head, section, unknown
from dashboard.screen import Screen, show
from dashboard.store_reader import EndpointNow
from dashboard.view import worst_first
from dashboard.words import DASH, plain, span, spoken, stamp
from monitor.capabilities import FEATURES, OF_ALL, Standing
from monitor.plurals import plural
from monitor.results import Verdict

SCREEN = Screen(title="Capabilities", question="What can it do?", order=6, every_s=session.SLOW_S)

DETECTOR = "parameters"
# Looks of an endpoint's history.
PAST = 30

# Standing -> symbol, colour, meaning.
LOOKS: Mapping[str, tuple[str, str, str]] = {
    "kept": ("✓", "pass", "it does what it says"),
    "ignored": ("✗", "fail", "accepted, and without effect"),
    "refused": ("⊘", "suspect", "the endpoint says no"),
    "unknown": (DASH, "none", "could not be told"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """Verdicts, newest first."""

    verdicts: tuple[Verdict, ...]


def main() -> None:
    """Draw the page."""
    endpoints = worst_first(session.overview())
    if not endpoints:
        session.nothing_yet()
        return
    asked, known = given("endpoint"), {one.endpoint: one for one in endpoints}
    if asked is None or (asked and asked not in known):
        unknown(asked, list(known), "capabilities")
        return
    head(SCREEN, *([data(asked, most=120)] if asked else []))
    _legend()
    if asked:
        draw(tag("p", link("capabilities", "all endpoints")))
        _history(known[asked])
    else:
        _matrix(endpoints)


def _legend() -> None:
    parts = [tag("span", tag("span", symbol, class_=f"wm-chip wm-{colour}"), f" {name}: {meaning}")
             for name, (symbol, colour, meaning) in LOOKS.items()]  # fmt: skip
    draw(tag("div", *parts, class_="wm-legend"))


def features(verdicts: Sequence[Verdict]) -> list[str]:
    """Names of all features that these verdicts speak of: ours in our order, then others."""
    ours = [*FEATURES, *OF_ALL]
    told = {name for one in verdicts for name in _standings(one)}
    return [*(name for name in ours if name in told), *sorted(told - set(ours))]


def _standings(verdict: Verdict) -> Mapping[str, Standing]:
    found = verdict.details.get("capabilities")
    return found if isinstance(found, dict) else {}


def _mine(endpoint: EndpointNow) -> Verdict | None:
    return next((one for one in endpoint.verdicts if one.detector == DETECTOR), None)


def _matrix(endpoints: Sequence[EndpointNow]) -> None:
    judged = [(one, verdict) for one in endpoints if (verdict := _mine(one)) is not None]
    if not judged:
        st.caption("No endpoint was looked at yet: configure the probe `parameters`, or ask now:")
        st.code("weighmaster probe ENDPOINT --kind parameters", language=None, wrap_lines=True)
        return
    names = features([verdict for _, verdict in judged])
    heads = ("Endpoint", *(spoken(name) for name in names))
    rows = [
        [tag("td", link("capabilities", data(one.endpoint, most=60), endpoint=one.endpoint)), *_row(verdict, names)]
        for one, verdict in judged
    ]
    draw(table(heads, rows, label="Capabilities by endpoint", cards=True, upright=True))
    missing = len(endpoints) - len(judged)
    if missing:
        st.caption(f"{plural(missing, 'endpoint')} {'was' if missing == 1 else 'were'} not looked at.")


def _row(verdict: Verdict, names: Sequence[str]) -> list[Markup]:
    standings, why = _standings(verdict), verdict.details.get("why") or {}
    return [_cell(standings.get(name, "unknown"), str(why.get(name, "not asked"))) for name in names]


def _cell(standing: str, why: str) -> Markup:
    symbol, colour, _ = LOOKS.get(standing, LOOKS["unknown"])
    return tag("td", tag("span", symbol, class_=f"wm-chip wm-{colour}", title=f"{standing}: {why[:200]}"),
               tag("span", f" {standing}", class_="wm-only-narrow"))  # fmt: skip


def _history(endpoint: EndpointNow) -> None:
    past = session.ask(
        Past, "verdicts", slow=True, endpoint=endpoint.endpoint, detector=DETECTOR, limit=str(PAST)
    ).verdicts  # fmt: skip
    if not past:
        st.caption("This endpoint was not looked at yet:")
        st.code(f"weighmaster probe {endpoint.endpoint} --kind parameters", language=None, wrap_lines=True)
        return
    newest, why = past[0], past[0].details.get("why") or {}
    names = features(past)
    st.text(newest.reason)
    section("Now")
    told = {name: tag("td", data(str(why.get(name, "")), most=300)) for name in names}
    rows = [
        [tag("td", spoken(name)), _word(_standings(newest).get(name, "unknown")), told[name],
         tag("td", _changed(name, past))]
        for name in names
    ]  # fmt: skip
    draw(table(("Feature", "Standing", "Told from", "Changed"), rows, label="Capabilities now", cards=True))
    section("History", "Oldest on the left; one column per look.")
    looks = past[::-1]
    heads = ("Feature", *(f"{one.at:%m-%d %H:%M}" for one in looks))
    rows = [[tag("td", spoken(name)), *(_cell(_standings(one).get(name, "unknown"), stamp(one.at)) for one in looks)]
            for name in names]  # fmt: skip
    draw(table(heads, rows, label="Capabilities over time", upright=True))
    st.caption(plain(f"{plural(len(past), 'look')}, {span(past[-1].at, past[0].at)}."))


def _word(standing: str) -> Markup:
    symbol, colour, _ = LOOKS.get(standing, LOOKS["unknown"])
    return tag("td", tag("span", symbol, class_=f"wm-chip wm-{colour}"), f" {standing}")


def _changed(name: str, past: Sequence[Verdict]) -> str:
    """When a feature last changed between two looks that could tell; empty where it did not."""
    told = [(one.at, standing) for one in past if (standing := _standings(one).get(name, "unknown")) != "unknown"]
    for (at, now), (_, before) in pairwise(told):
        if now != before:
            return f"was {before} until {stamp(at)} UTC"
    return ""


if __name__ == "__main__":
    show(__file__)
