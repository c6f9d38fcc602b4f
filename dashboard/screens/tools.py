"""Tools: do tool calls work? The layers as a funnel, what went wrong, and the bytes that show it."""

from collections.abc import Sequence
from dataclasses import dataclass

import orjson
import streamlit as st

from dashboard import cards, session
from dashboard.markup import Markup, data, figures, table, tag
from dashboard.page import chosen_endpoint, draw, section
from dashboard.raw_exchange import Kept, raw
from dashboard.screen import Screen, show
from dashboard.store_reader import EndpointNow
from dashboard.tools_view import DEFINITIONS, Failure, Step, failures, few_of_each, funnel, graded_of, named
from dashboard.words import plain, rate, span
from monitor.errors import UsageError
from monitor.plurals import plural
from monitor.results import JudgedRun, RunRecord
from monitor.tools.shown import bytes_of
from monitor.wire.capture_file import load_capture

SCREEN = Screen(title="Tools", question="Do tool calls work?", order=5, every_s=session.SLOW_S)

# Newest runs of the probe that are shown together.
RUNS = 3
MOST = 100
# Answers that are shown of one fault; all can be picked below.
EACH = 4
DETECTORS = ("tool_calls", "faults")


@dataclass(frozen=True, slots=True, kw_only=True)
class Runs:
    """Runs of an endpoint, newest first."""

    records: tuple[RunRecord, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Golden:
    """What the golden side says of the runs behind a verdict."""

    judged: tuple[JudgedRun, ...]


def main() -> None:
    """Draw the page."""
    endpoint = chosen_endpoint(session.overview(), SCREEN, "tools")
    if endpoint is None:
        return
    _verdicts(endpoint)
    records = session.ask(
        Runs, "runs", slow=True, endpoint=endpoint.endpoint, probe="tools", limit=str(RUNS)
    ).records  # fmt: skip
    graded = graded_of(records, _golden(endpoint))
    if not graded:
        st.caption("No run of the probe `tools` yet. Configure it, or ask now:")
        st.code(f"weighmaster probe {endpoint.endpoint} --kind tools", language=None, wrap_lines=True)
        return
    when = span(records[-1].run.started_at, records[0].run.started_at)
    section("From the wire to the meaning", "An answer is lost at the layer of its first fault.")
    st.caption(f"{plural(len(graded), 'answer')} of {plural(len(records), 'run')}, {when}")
    draw(_funnel(funnel(graded), len(graded)))
    _failures(failures(graded))


def _golden(endpoint: EndpointNow) -> tuple[JudgedRun, ...]:
    """Golden's counts of the prompts that the newest verdict on tool calls compared."""
    told = next((one for one in endpoint.verdicts if one.detector == DETECTORS[0]), None)
    found = session.maybe(Golden, "evidence", slow=True, verdict=told.verdict_id) if told is not None else None
    return found.judged if found is not None else ()


def _verdicts(endpoint: EndpointNow) -> None:
    mine = [one for name in DETECTORS for one in endpoint.verdicts if one.detector == name]
    for place, verdict in zip(st.columns(max(2, len(mine))), mine, strict=False):
        with place:
            cards.verdict_card(verdict)


def _funnel(steps: Sequence[Step], n: int) -> Markup:
    rows = [
        [
            tag("td", tag("strong", step.layer), tag("br"), tag("span", DEFINITIONS[step.layer], class_="wm-soft")),
            tag("td", tag("div", class_="wm-bar", style=f"width:{100 * step.rate.k / n:.1f}%"), class_="wm-wide"),
            *figures(f"{step.rate.k} of {n}", rate(step.rate.k, n), _ends(step), str(step.lost) if step.lost else ""),
        ]
        for step in steps
    ]
    heads = ("Layer", "Answers that got past it", "k of n", "share", "95 % interval", "lost here")
    return table(heads, rows, label="Answers by layer", cards=True)


def _ends(step: Step) -> str:
    if step.rate.low is None or step.rate.high is None:
        return ""
    return f"{rate(step.rate.low, 1)} to {rate(step.rate.high, 1)}"


def _failures(found: Sequence[Failure]) -> None:
    section("What went wrong")
    if not found:
        st.caption("Nothing: no answer of these shows a fault.")
        return
    rows = [
        [
            tag("td", layer),
            tag("td", data(name, most=80)),
            tag("td", "✗ fault" if counts else "– remark"),
            *figures(str(n)),
        ]
        for layer, name, counts, n in named(found)
    ]
    draw(table(("Layer", "Fault", "Counts", "Answers"), rows, label="Faults by layer", cards=True))
    st.caption(f"Up to {EACH} answers with each:")
    rows = [_finding(one) for one in few_of_each(found, EACH)]
    draw(table(("Layer", "Fault", "Case", "Form", "Shown by"), rows, label="Findings", cards=True))
    known = {f"{one.graded.exchange.exchange_id} {one.symptom.name}": one for one in found[:MOST]}
    picked = st.selectbox("The bytes of", list(known), key="finding")
    _bytes(known[picked])


def _finding(one: Failure) -> list[Markup]:
    texts = data(one.symptom.name, most=80), data(one.graded.case.case_id, most=60)
    name, case = (tag("td", text) for text in texts)
    said = (
        data(one.symptom.shown, most=300)
        if one.symptom.shown.strip()
        else tag("span", "it said nothing", class_="wm-soft")
    )
    shown = tag("td", said, class_="wm-code")
    return [tag("td", one.symptom.layer), name, case, tag("td", one.graded.form), shown]


def _bytes(one: Failure) -> None:
    exchange = one.graded.exchange
    kept = session.ask(Kept, "capture", slow=True, id=exchange.exchange_id)
    try:
        capture = load_capture(orjson.dumps(kept.capture)) if kept.capture is not None else None
    except UsageError:
        capture = None
    if capture is not None:
        st.caption(plain(f"What shows {one.symptom.name}:"))
        st.code(
            bytes_of(capture, one.symptom).decode("utf-8", "backslashreplace") or "(nothing)",
            language=None,
            wrap_lines=True,
        )
    raw(exchange)


if __name__ == "__main__":
    show(__file__)
