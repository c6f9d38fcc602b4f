"""Verdict: how do you know? The evidence of one verdict, from the picture that convinces down to the bytes."""

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from dashboard import charts, session
from dashboard.areas import AREAS
from dashboard.evidence import evidence
from dashboard.evidence_charts import by_place, effects, path
from dashboard.grid import chip
from dashboard.ladder import of_verdict
from dashboard.markup import Markup, data, joined, link, tag
from dashboard.page import chart, draw, given, head, section
from dashboard.positions import Answer, answers, profile
from dashboard.raw_exchange import raw
from dashboard.screen import Screen, show
from dashboard.store_reader import Configured, EndpointNow
from dashboard.strips import strips
from dashboard.tokens import differing, heat_map, prompts
from dashboard.verdict_steps import steps
from dashboard.view import SEVERITY, effect_text, worst_first
from dashboard.words import MARKS, detector_label, plain, quantity, spoken, stamp
from monitor.comparison import Ladder
from monitor.plurals import plural
from monitor.replay_command import replay_command
from monitor.results import JudgedRun, RunRecord, Verdict

SCREEN = Screen(title="Verdict", question="How do you know?", order=3, every_s=session.SLOW_S)

# Earlier verdicts of the same detector that are drawn.
PAST = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A verdict with the runs that it rests on, and what the golden side said of them."""

    verdict: Verdict
    records: tuple[RunRecord, ...]
    judged: tuple[JudgedRun, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """Verdicts, newest first."""

    verdicts: tuple[Verdict, ...]


def main() -> None:
    """Draw the page."""
    endpoints = session.overview()
    if not endpoints:
        session.nothing_yet()
        return
    asked = given("id")
    newest = {one.verdict_id: one for endpoint in endpoints for one in endpoint.verdicts}
    if not asked:
        _choose(endpoints)
        return
    found = session.maybe(Found, "evidence", slow=True, verdict=asked)
    if found is None:
        head(SCREEN, "Unknown verdict")
        st.text(f"The store has no verdict {asked!r}. It may have been deleted with its history.")
        _choose(endpoints, headless=True)
        return
    verdict = found.verdict
    endpoint = next((one for one in endpoints if one.endpoint == verdict.endpoint), None)
    past = session.ask(
        Past, "verdicts", slow=True, endpoint=verdict.endpoint, detector=verdict.detector, limit=str(PAST)
    ).verdicts
    _head(verdict, newer=verdict.verdict_id not in newest and bool(past), newest=past[0] if past else verdict)
    _pictures(verdict, past, _ladder(endpoint))
    _answers(answers(found.records, found.judged))
    _numbers(verdict)
    _exchanges(found)
    _replay(verdict)


def _head(verdict: Verdict, *, newer: bool, newest: Verdict) -> None:
    cause = f": {spoken(verdict.cause)}" if verdict.cause else ""
    head(
        SCREEN, chip(verdict.status), " ", data(verdict.endpoint, most=120), " — ",
        detector_label(verdict.detector).title, f" {verdict.status}", data(cause, most=200),
    )  # fmt: skip
    st.text(verdict.reason)
    sure = [
        plural(verdict.n, "observation"), f"band: {verdict.band}" if verdict.band else "", f"{stamp(verdict.at)} UTC",
        f"threshold {quantity(verdict.threshold, verdict.unit)}" if verdict.threshold is not None else "",
    ]  # fmt: skip
    st.caption(plain(" · ".join(filter(None, [effect_text(verdict), *sure]))))
    pieces: list[Markup | str] = [link("endpoint", "all of this endpoint", name=verdict.endpoint)]
    if newer:
        pieces += [" · ", link("verdict", f"newer verdict of {stamp(newest.at)} UTC", id=newest.verdict_id)]
    draw(joined(pieces))


def _ladder(endpoint: EndpointNow | None) -> Ladder | None:
    configured = session.maybe(Configured, "configured", slow=True)
    return configured.ladders.get(endpoint.reference or "") if configured and endpoint else None


def _pictures(verdict: Verdict, past: Sequence[Verdict], calibrated: Ladder | None) -> None:
    drawn = of_verdict(verdict, calibrated) if verdict.statistic == "kl_nats" else None
    if drawn is not None:
        section("Where it stands", "Each rung is a way to serve this model whose divergence from the golden weights "
                "was measured in calibration; the blue band is the 95 % interval of this endpoint.")  # fmt: skip
        if calibrated is None:
            st.caption("No calibration is configured for this reference: only the limits of the verdict are drawn.")
        chart("KL ladder", "Mean KL(golden || endpoint) in nats, on a logarithmic axis.", drawn)
    if verdict.detector == "identify" and verdict.details.get("schemes"):
        _identity(verdict)
    section("Over time")
    left, right = st.columns(2)
    definition = f"{detector_label(verdict.detector).definition} Red and dashed: the threshold. One mark per verdict."
    with left:
        chart("What was measured", definition, effects(past[::-1]), nothing="No verdict of it measured an effect.")
    with right:
        chart(
            "Evidence against threshold", "Logarithm of the e-value in nats: evidence that the endpoint is not what it "
            "declares, valid at every look. Red and dashed: where it decides.", path(steps(past)),
            nothing="This detector decides by an interval; it carries no e-values.",
        )  # fmt: skip


def _identity(verdict: Verdict) -> None:
    section("What is served", "A matched filter: the observed deviations against those that each variant predicts.")
    left, right = st.columns(2)
    with left:
        definition = "How sure it is that this scheme is what is served."
        chart("Posterior of each scheme", definition, charts.posterior(verdict))
    with right:
        chart(
            "Observed against predicted", "Each dot is a listed token; on the line the prediction is exact.",
            charts.deviations(verdict), nothing="By text alone there are no deviations to draw.",
        )  # fmt: skip
    if (drawn := strips(verdict)) is not None:
        chart("Position by position", "The positions at which the variant predicts most, one beside the other. Orange "
              "line: what it predicts for each listed token; blue dots: what was observed.", drawn)  # fmt: skip


def _answers(found: Sequence[Answer]) -> None:
    if not found:
        st.caption("This verdict does not compare answers with golden, or its answers are no longer kept.")
        return
    section("Where in the answers", "Divergence by place: a level points at the weights, growth at the KV cache, an "
            "odd start at the template.")  # fmt: skip
    chart("Position profile", "Mean KL by place in the answer, with the range from lowest to highest.",
          by_place(profile(found)), nothing="Without logprobs there is no divergence by place.")  # fmt: skip
    section("Which prompts")
    draw(prompts(found[:100]))
    section("Token by token", "Golden weights beside the endpoint, for one answer.")
    known = {one.exchange.exchange_id: one for one in found if one.tokens}
    if not known:
        st.caption("Golden looked at no position of these answers.")
        return
    picked = st.selectbox("Answer", list(known), format_func=lambda key: _named(known[key]), key="answer")
    draw(heat_map(known[picked]))
    if (table := differing(known[picked])) is not None:
        draw(table)


def _named(answer: Answer) -> str:
    name = answer.exchange.request.prompt_id if answer.exchange.request else answer.exchange.exchange_id
    return f"{name} · KL {quantity(answer.kl, 'nats')} · {plural(len(answer.tokens), 'token')}"


def _numbers(verdict: Verdict) -> None:
    with st.expander("All numbers"):
        names, values = zip(*evidence(verdict), strict=True)
        rows = {"number": [plain(name) for name in names], "value": [plain(value[:2000]) for value in values]}
        st.table(rows, border="horizontal", hide_index=True, hide_header=True)


def _exchanges(found: Found) -> None:
    known = {one.exchange_id: one for record in found.records for one in record.exchanges}
    section("Raw exchange")
    if not known:
        st.caption("The runs of this verdict are no longer kept.")
        return
    picked = st.selectbox(
        "Exchange", list(known), key="exchange",
        format_func=lambda key: f"{stamp(known[key].started_at)} · {known[key].outcome} · {key}",
    )  # fmt: skip
    raw(known[picked])


def _replay(verdict: Verdict) -> None:
    section("Compute it again")
    st.caption("From stored evidence and golden weights; where a verdict rests on earlier runs too, by asking again:")
    st.code(replay_command(verdict.detector, verdict.endpoint, verdict.verdict_id), language=None, wrap_lines=True)


def _choose(endpoints: Sequence[EndpointNow], *, headless: bool = False) -> None:
    if not headless:
        head(SCREEN, "Choose a verdict")
    st.caption("The newest verdicts, those that need attention first:")
    order = [name for area in AREAS for name in area.detectors]
    items = []
    for endpoint in worst_first(endpoints)[:100]:
        mine = sorted(endpoint.verdicts, key=lambda one: (SEVERITY.index(one.status), *_place(order, one.detector)))
        links = [joined([" ", _entry(one)]) for one in mine]
        items.append(tag("li", data(endpoint.endpoint, most=120), ":", *links))
    draw(tag("ul", *items))


def _place(order: Sequence[str], detector: str) -> tuple[int, str]:
    return (order.index(detector) if detector in order else len(order)), detector


def _entry(verdict: Verdict) -> Markup:
    label = f"{MARKS[verdict.status].symbol} {detector_label(verdict.detector).title}"
    return tag("span", link("verdict", label, id=verdict.verdict_id), class_="wm-entry")


if __name__ == "__main__":
    show(__file__)
