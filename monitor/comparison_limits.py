"""What a comparison cannot know: said for every endpoint and for the whole."""

from collections.abc import Iterator, Mapping, Sequence

from monitor.comparison import Estimate, Ladder, Row
from monitor.comparison_facts import Facts
from monitor.comparison_figures import age_text, amount, rung_text, stamp
from monitor.comparison_measures import ROUND, judged_at, newest
from monitor.comparison_weights import not_judged
from monitor.plurals import plural
from monitor.results import Verdict

FULL_K = 20
"""Alternatives that public APIs give at most, and what a divergence from fewer of them is a lower bound of."""

_MAY_HIDE = {
    "availability": "up to {end} of requests may fail",
    "faults": "up to {end} of complete answers may show a fault",
    "tool_calls": "up to {end} of tool calls may be faulty",
    "shape": "the shape of up to {end} of answers may have changed",
}

ALWAYS = (
    (
        "Each interval holds with 95% on its own, not all of them together. An order is told only where two of them "
        "do not overlap, which happens by chance in far less than one of 20 pairs."
    ),
    (
        "A pass of fidelity means: no further from golden than tolerated, on the prompts that were asked. They are "
        "short; long contexts, rare prompts and other hours may differ."
    ),
    (
        "A pass of availability, faults, tool_calls or shape means that no fault was shown, not that there is none: "
        "what may be hidden is told for each endpoint."
    ),
    "Speed is that of single streams from the places named; prices are as declared, tokens as reported.",
)


def row_limits(facts: Facts, found: Mapping[str, Estimate]) -> tuple[str, ...]:
    """What is not known of one endpoint, as sentences."""
    return tuple(_limits(facts, found))


def _limits(facts: Facts, found: Mapping[str, Estimate]) -> Iterator[str]:
    if not facts.verdicts:
        yield "Nothing was judged."
    why = not_judged(facts.verdicts)
    if why is not None and facts.verdicts:
        yield f"Its weights were not judged: {why}."
    # Told already, also where another verdict repeats it.
    said = {why} | {one.reason for one in facts.verdicts if one.reason in why} if why is not None else set()
    open_ = [
        f"{told.detector}: {told.reason}" for told in facts.verdicts
        if told.status == "inconclusive" and not any(reason in told.reason for reason in said)
    ]  # fmt: skip
    if open_:
        yield f"Not decided: {'; '.join(open_)}."
    yield from _older(facts)
    yield from _not_identified(facts)
    yield from _of_fidelity(facts, found["kl"])
    yield from _hidden(facts)
    yield from _of_speed(facts, found["ttft_ms"])
    yield from _of_money(facts)


def _older(facts: Facts) -> Iterator[str]:
    """Runs that the newest verdict on what is served does not know of: it says nothing of them."""
    judged, run = judged_at(facts.verdicts), max((one.last_at for one in facts.probes), default=None)
    if judged is not None and run is not None and run - judged >= ROUND:
        yield (
            f"Its newest verdict on what is served is of {stamp(judged)}, {age_text(run - judged)} older than its "
            "newest run: whether that has changed since is not known."
        )


def _not_identified(facts: Facts) -> Iterator[str]:
    """Runs of `identify` after the one that the newest identification knows of: it takes long, and comes late."""
    told = newest(facts, "identify")
    run = max((one.last_at for one in facts.probes if one.probe == "identify"), default=None)
    if told is not None and run is not None and run > told.at:
        yield f"Its newest identification is of {stamp(told.at)}; its run of {stamp(run)} was not judged by then."


def _of_fidelity(facts: Facts, kl: Estimate) -> Iterator[str]:
    told, audit = newest(facts, "logprob_fidelity"), newest(facts, "audit")
    if told is not None and told.status == "pass" and None not in (told.mde, told.threshold) and kl.high is not None:
        assert told.mde is not None and told.threshold is not None  # noqa: S101, PT018  # asked above
        yield (
            f"Its divergence is at most {kl.high:.2g} nats (end of the interval). Detection limit: "
            f"{told.mde - told.threshold:.2g} nats beyond the {told.threshold:.3g} that are tolerated would be seen "
            "with 80% probability; less may pass."
        )
    if kl.top_k is not None and kl.top_k < FULL_K:
        yield f"It lists {kl.top_k} alternatives per token: its divergence is a lower bound of that at {FULL_K}."
    if audit is not None and audit.details.get("blind_to"):
        yield f"Its audit could not see: {audit.details['blind_to']}."


def _hidden(facts: Facts) -> Iterator[str]:
    """What the passes of detectors that only look for faults may hide, as far as their intervals reach."""
    found = [
        f"{text.format(end=amount(end, 'share'))} (n {told.n})" for told in facts.verdicts
        if told.status == "pass" and told.detector in _MAY_HIDE
        for text, end in [(_MAY_HIDE[told.detector], hidden_end(told))] if end is not None
    ]  # fmt: skip
    if found:
        yield f"Newest verdicts, no fault shown; yet {'; '.join(found)}."


def hidden_end(told: Verdict) -> float | None:
    """The share that may be wrong behind a verdict that looks for faults: the far end of its interval, else None."""
    if told.detector not in _MAY_HIDE:
        return None
    if told.detector == "availability":
        return None if told.low is None else 1 - told.low
    if told.detector == "shape" and told.low is not None and told.high is not None:  # a shift, either way
        return max(-told.low, told.high)
    return told.high


def _of_speed(facts: Facts, speed: Estimate) -> Iterator[str]:
    if speed.value is not None and speed.low is None:
        yield f"Its speed rests on too little for an interval ({speed.remark}): probe it again at other hours."
    places = sorted({one.vantage for one in facts.probes if one.probe == "speed"})
    if len(places) > 1:
        yield f"Its speed is that of all places together ({', '.join(places)})."


def _of_money(facts: Facts) -> Iterator[str]:
    if facts.n_uncounted:
        yield f"It counted no tokens for {plural(facts.n_uncounted, 'answer')}: what they cost is not included."
    if facts.endpoint.price_in_usd is None or facts.endpoint.price_out_usd is None:
        yield "Its prices are not declared in full: costs are not known."


def model_limits(rows: Sequence[Row], ladder: Ladder | None = None) -> tuple[str, ...]:
    """What holds for all endpoints of a model."""
    return (*ALWAYS, *_of_divergence(rows, ladder), *_places(rows))


def _of_divergence(rows: Sequence[Row], ladder: Ladder | None) -> Iterator[str]:
    """What a divergence within the tolerance does not exclude."""
    passing = [kl.threshold for row in rows if (kl := row.estimates["kl"]).value is not None and kl.threshold]
    if not passing:
        return
    rungs = ladder.rungs if ladder else ()
    within = [rung_text(one) for one in rungs if not one.faithful and one.value <= max(passing)]
    here = f" (on the ladder: {', '.join(within)})" if within else ""
    yield (
        f"A divergence that is tolerated (up to {max(passing):.2g} nats) does not exclude weights or caches of 8 "
        f"bit{here}: KL alone does not tell them from 16 bits there, an identification can."
    )


def _places(rows: Sequence[Row]) -> Iterator[str]:
    vantages = sorted({probe.vantage for row in rows for probe in row.probes})
    if len(vantages) == 1:
        yield f"Everything was measured from one place ({vantages[0]})."
    if len({probe.last_at.date() for row in rows for probe in row.probes}) > 1:
        yield "Not all was measured on the same days: the tables say when."
