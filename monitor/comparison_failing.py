"""What is said of an endpoint that fails: what is wrong, by how much, how sure, since when."""

from collections.abc import Iterator

from monitor.comparison import Ladder, Row, Rung
from monitor.comparison_endings import apart_text, counts_text
from monitor.comparison_figures import amount, interval_text, ratio_text, rung_text, stamp
from monitor.comparison_measures import OPERATION
from monitor.comparison_weights import (
    bits_text,
    is_named,
    is_over_quantised,
    is_routed,
    n_prompts,
    not_judged,
    of,
    prompt_fault,
    prompts_text,
    share_text,
    thresholds,
)
from monitor.plurals import plural
from monitor.stats.posterior import posterior_text
from monitor.tolerances import is_precision


def failing(row: Row, ladder: Ladder | None) -> str:
    """All that is said of an endpoint that fails."""
    found = {told.detector for told in row.verdicts if told.status == "fail"}
    if found and found <= OPERATION:
        return f"{row.endpoint.name} does not answer reliably: {_unreliable(row)}.{since_text(row)}{_served(row)}"
    size = f"{_how_far(row, ladder)}{_identified(row)}"
    return f"{row.endpoint.name} {_what(row)}.{size}{_unjudged(row)}{since_text(row)}"


def _unreliable(row: Row) -> str:
    return "; ".join(_troubles(row))


def _troubles(row: Row) -> Iterator[str]:
    """The window as a whole where it fails too, then what the newest verdicts say of fewer runs."""
    rate, ends = row.estimates["availability"], row.endings
    for told in (one for one in row.verdicts if one.status == "fail"):
        below = rate.value is not None and told.threshold is not None and rate.value < told.threshold
        if told.detector == "availability" and below and rate.value is not None:
            why = f" ({counts_text(ends.faults)})" if ends.faults else ""
            yield (
                f"of the {plural(ends.n, 'request')} of this window that count, {ends.good} got a complete answer with "
                f"usable tool calls (faults within these are told apart): "
                f"{amount(rate.value, 'share')} {interval_text(rate, 'share')}; {ends.n - ends.good} were not{why}"
                f"{apart_text(ends)}"
            )
        else:
            yield f"newest verdict of {told.detector}: {told.reason}"


def _served(row: Row) -> str:
    return f" What it serves is what it declares{near_text(row)}." if row.fidelity == "pass" else _unjudged(row)


def _unjudged(row: Row) -> str:
    why = not_judged(row.verdicts)
    return "" if why is None else f" Its weights were not judged: {why}."


def _what(row: Row) -> str:
    declared = row.endpoint.precision or "full precision, as nothing else is declared"
    causes, prompt = ", ".join(row.causes), prompt_fault(row.verdicts)
    if prompt is not None:
        return prompt
    if is_over_quantised(row) and row.identified is not None:
        name = row.identified.name
        return f"is over-quantised: it declares {declared} and serves {name}{bits_text(name)}"
    if is_routed(row) and row.identified is not None:
        name = row.identified.name
        lead = "is over-quantised in part: it " if is_precision(name) else ""
        part = f"serves a part of its requests with other weights than it declares ({declared}): "
        return f"{lead}{part}{name}{bits_text(name)}"
    if "weights" in causes:
        return f"does not serve the weights that it declares ({declared})"
    return f"does not serve what it declares ({declared}): {causes or 'cause unknown'}"


def _how_far(row: Row, ladder: Ladder | None) -> str:
    kl = row.estimates["kl"]
    if kl.value is None:
        return _flipped(row)
    if kl.apart is not None:
        return ""  # told as unjudged weights; a number would be taken for one of them
    ends = "" if kl.low is None or kl.high is None else f" (95% interval {kl.low:.2g} to {kl.high:.2g})"
    text = f" Its next-token probabilities are {kl.value:.2g} nats from golden's{ends}"
    if kl.threshold:
        times = ratio_text(kl.value, kl.threshold, "nats")
        text += f", {times} times the {kl.threshold:.2g} that a faithful server may show"
    _, fails = thresholds(of(row.verdicts, "logprob_fidelity"))
    if fails is not None and kl.low is not None and kl.low > fails:
        text += f", and its 95% interval lies above {fails:.2g}, from where on it fails"
    return f"{text}{_on_ladder(row, ladder, kl.value)}."


def _on_ladder(row: Row, ladder: Ladder | None, value: float) -> str:
    """Where it stands on the ladder, unless something better is known or weights are not what differs."""
    if ladder is None or is_named(row) or "weights" not in ", ".join(row.causes):
        return ""
    near = nearest(ladder, value)
    return f"; on the ladder ({prompts_text(ladder, [row])}) that is roughly {near}" if near else ""


def _flipped(row: Row) -> str:
    flips = row.estimates["flips"]
    if flips.value is None or flips.apart is not None:
        return ""
    return f" It takes another token than golden would at {amount(flips.value, 'share')} of positions" + (
        f" {interval_text(flips, 'share')}." if flips.low is not None else "."
    )


def nearest(ladder: Ladder, value: float) -> str:
    """Say between which degraded rungs a divergence lies; empty where there are none."""
    rungs = [rung for rung in ladder.rungs if not rung.faithful]
    below: Rung | None = max((r for r in rungs if r.value <= value), key=lambda r: r.value, default=None)
    above: Rung | None = min((r for r in rungs if r.value > value), key=lambda r: r.value, default=None)
    if below is None or above is None:
        found = above or below
        return "" if found is None else f"{'below' if below is None else 'above'} {rung_text(found)}"
    return f"between {rung_text(below)} and {rung_text(above)}"


def _identified(row: Row) -> str:
    found = row.identified
    if found is None or not is_named(row) or not_judged(row.verdicts):
        return ""
    which = share_text(row)
    return (
        f" Of all known ways to change the weights, {found.name} explains its answers best (posterior "
        f"{posterior_text(found.posterior)} after {plural(found.n_prompts, 'prompt')})."
        + (f" It serves {found.name} for an estimated {which}." if which else "")
    )  # fmt: skip


def since_text(row: Row) -> str:
    """Say since when, as one fault that stands; empty where nothing is wrong."""
    found = row.since
    if found is None:
        return ""
    if found.last_good_at is not None:
        return (
            f" It began between {stamp(found.last_good_at)}, the last pass, and {stamp(found.first_bad_at)}, when "
            f"{found.detector} first found it; it has not passed since."
        )
    began = min((probe.first_at for probe in row.probes), default=None)
    measuring = f"; measuring began {stamp(began)}, so how long before is not known" if began is not None else ""
    return (
        f" It was already so when {found.detector} first decided ({stamp(found.first_bad_at)}) and has not passed "
        f"since{measuring}."
    )


def near_text(row: Row) -> str:
    """Say how near golden an endpoint is, and what is tolerated; empty where that was not measured."""
    kl = row.estimates["kl"]
    if kl.value is None:
        return ""
    limit = f", {kl.threshold:.2g} tolerated" if kl.threshold else ""
    n = n_prompts(row)
    asked = f" over {plural(n, 'prompt')}" if n is not None else ""
    return f": KL {kl.value:.2g} nats {interval_text(kl, 'nats')}{asked}{limit}"
