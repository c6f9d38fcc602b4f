"""A comparison in plain words: who serves what it declares, who does not, by how much, how sure, since when."""

import re
from collections.abc import Iterator, Sequence

from monitor.comparison import Ladder, ModelComparison, Ranking, Row, Rung, Switch, is_good
from monitor.comparison_figures import amount, bare, interval_text, plural, rung_text, span_text, stamp
from monitor.comparison_measures import OPERATION, measure
from monitor.results import Verdict
from monitor.tolerances import is_precision

_RANKED = ("kl", "flips", "availability", "tools", "ttft_ms", "tps")
_SURE, _RATIO = 0.9, ""
_ALL = {1: "the only look", 2: "both looks"}
_NAMED = 8
_UNKNOWN = float("inf")


def words(model: ModelComparison) -> Iterator[str]:
    """Sentences about one model, in the order in which somebody wants to know."""
    yield _tested(model)
    for row in model.rows:
        if row.status == "fail":
            yield _failing(row, model.ladder)
    for row in model.rows:
        if row.status == "suspect":
            yield f"{row.endpoint.name} is suspect: {row.reason}.{_since(row)}"
    for row in model.rows:
        if is_good(row):
            yield _passing(row)
    for row in model.rows:
        if row.status in {"pass", "inconclusive"} and not is_good(row):
            why = row.reason if row.status == "inconclusive" else "nothing has looked at its weights"
            yield f"{row.endpoint.name} could not be decided, which is no pass: {why}."
    yield from _orders(model)
    yield from _switching(model)


def _tested(model: ModelComparison) -> str:
    spans = [(probe.first_at, probe.last_at) for row in model.rows for probe in row.probes]
    when = span_text(min((a for a, _ in spans), default=None), max((b for _, b in spans), default=None))
    places = ", ".join(sorted({probe.vantage for row in model.rows for probe in row.probes})) or "nowhere"
    n = sum(row.spent.n_requests for row in model.rows)
    tokens = sum(row.spent.tokens_in + row.spent.tokens_out for row in model.rows)
    known = [row.spent.usd for row in model.rows if row.spent.usd is not None]
    money = f", {sum(known):.2g} USD" if known else ""
    unknown = len(model.rows) - len(known)
    money += f" without {plural(unknown, 'endpoint')} of unknown price" if known and unknown else ""
    return (
        f"{plural(len(model.rows), 'endpoint')} of {model.model} got {plural(n, 'request')} ({tokens:,} tokens"
        f"{money}), {when}, asked from {places}."
    )


def _failing(row: Row, ladder: Ladder | None) -> str:
    failing = {told.detector for told in row.verdicts if told.status == "fail"}
    if failing and failing <= OPERATION:
        weights = f" What it serves is what it declares{_near(row)}." if row.fidelity == "pass" else ""
        return f"{row.endpoint.name} does not answer reliably: {row.reason}.{_since(row)}{weights}"
    return f"{row.endpoint.name} {_what(row)}.{_how_far(row, ladder)}{_identified(row)}{_since(row)}"


def _what(row: Row) -> str:
    declared = row.endpoint.precision or "full precision, as nothing else is declared"
    causes = ", ".join(row.causes)
    if is_over_quantised(row) and row.identified is not None:
        return f"is over-quantised: it declares {declared} and serves {row.identified.name}{_bits(row.identified.name)}"
    if "weights" in causes:
        return f"does not serve the weights that it declares ({declared})"
    return f"does not serve what it declares ({declared}): {causes or 'cause unknown'}"


def _bits(scheme: str) -> str:
    """Say how many bits a scheme has, where its name tells."""
    found = re.search(r"\d+", scheme)
    return f" ({found.group()} bits per weight)" if found and is_precision(scheme) else ""


def is_over_quantised(row: Row) -> bool:
    """Whether an identification that failed the endpoint names coarser weights than declared."""
    told = _of(row, "identify")
    named = row.identified is not None and row.identified.posterior >= _SURE
    return told is not None and told.status in {"fail", "suspect"} and named and "weights" in str(told.cause)


def _of(row: Row, detector: str) -> Verdict | None:
    return next((one for one in row.verdicts if one.detector == detector), None)


def _how_far(row: Row, ladder: Ladder | None) -> str:
    kl = row.estimates["kl"]
    if kl.value is None:
        return _flipped(row)
    ends = "" if kl.low is None or kl.high is None else f" (95% interval {kl.low:.2g} to {kl.high:.2g})"
    text = f" Its next-token probabilities are {kl.value:.2g} nats from golden's{ends}"
    if kl.threshold:
        times = bare(kl.value / kl.threshold, _RATIO)
        text += f", {times} times the {kl.threshold:.2g} that a faithful server may show"
    near = nearest(ladder, kl.value) if ladder and "weights" in ", ".join(row.causes) else ""
    return f"{text}{f'; on the ladder that is {near}' if near else ''}."


def _flipped(row: Row) -> str:
    flips = row.estimates["flips"]
    if flips.value is None:
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
    if found is None or found.posterior < _SURE or row.status != "fail":
        return ""
    share = ""
    if found.share is not None and found.share_low is not None and found.share_high is not None:
        share = f", for {found.share:.0%} of the requests ({found.share_low:.0%} to {found.share_high:.0%})"
    return (
        f" Of all known ways to change the weights, {found.name} explains its answers best (posterior "
        f"{posterior_text(found.posterior)} after {plural(found.n_prompts, 'prompt')}{share})."
    )


def posterior_text(posterior: float) -> str:
    """Return a posterior that is never rounded to certainty."""
    return "above 0.999" if posterior > 0.999 else f"{posterior:.3g}"


def _since(row: Row) -> str:
    found = row.since
    if found is None:
        return ""
    looks = plural(found.n_bad, "look")
    if found.last_good_at is not None:
        return (
            f" It began between {stamp(found.last_good_at)}, when it still passed, and {stamp(found.first_bad_at)}; "
            f"bad in {looks} since."
        )
    return (
        f" It has been so in {_ALL.get(found.n_bad, f'all {looks}')}, from "
        f"{stamp(found.first_bad_at)} on, and was never seen good in these data."
    )


def _passing(row: Row) -> str:
    declared = row.endpoint.precision or "full precision"
    open_ = "" if row.status == "pass" else f" Not decided: {row.reason}."
    return f"{row.endpoint.name} serves what it declares ({declared}), as far as was measured{_near(row)}.{open_}"


def _near(row: Row) -> str:
    kl = row.estimates["kl"]
    if kl.value is None:
        return ""
    limit = f", {kl.threshold:.2g} tolerated" if kl.threshold else ""
    return f": KL {kl.value:.2g} nats {interval_text(kl, 'nats')}{limit}"


def _orders(model: ModelComparison) -> Iterator[str]:
    for name in _RANKED:
        found = model.ranking(name)
        if found is not None and len(model.rows) > 1:
            yield f"By {measure(name).title}: {order_text(found)}."


def order_text(ranking: Ranking) -> str:
    """Return such as ``1. a; 2. b and c (tied)``, or that the intervals allow no order."""
    n = sum(len(tier) for tier in ranking.tiers)
    missing = f" (not measured: {_listed(ranking.unmeasured)})" if ranking.unmeasured else ""
    if n == 1:
        return f"only {ranking.tiers[0][0]} was measured{missing}"
    if not ranking.decided:
        return f"no ranking, the data allow none{missing}"
    parts, place = list[str](), 1
    for tier in ranking.tiers:
        parts += _tier(ranking, tier, place)
        place += len(tier)
    return "; ".join(parts) + missing


def _tier(ranking: Ranking, tier: Sequence[str], place: int) -> list[str]:
    """One part for a tier whose members could all be anywhere in it, else the places of each."""
    last = place + len(tier) - 1
    if all((ranking.places[name].best, ranking.places[name].worst) == (place, last) for name in tier):
        return [f"{place}. {_listed(tier)}" + (" (tied)" if len(tier) > 1 else "")]
    return [f"{ranking.places[name].best} to {ranking.places[name].worst}: {name}" for name in tier]


def _listed(names: Sequence[str]) -> str:
    shown, more = list(names[:_NAMED]), len(names) - _NAMED
    if more > 0:
        shown.append(f"{more} more")
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def _switching(model: ModelComparison) -> Iterator[str]:
    told: set[str] = set()
    if model.switches and all(one.price_in_change_usd is None and _money(one) == _UNKNOWN for one in model.switches):
        yield "What a switch would cost is not known: prices are not declared (price_in_usd, price_out_usd)."
        return
    for one in sorted(model.switches, key=lambda one: (one.from_, _money(one))):
        if one.from_ not in told:  # the cheapest of those that pass
            told.add(one.from_)
            yield switch_text(one)


def _money(one: Switch) -> float:
    return _UNKNOWN if one.blended_change_usd is None else one.blended_change_usd


def switch_text(one: Switch) -> str:
    """Return what changes with a switch: money first, then speed."""
    prices = [
        _change_text(change, what)
        for change, what in ((one.price_in_change_usd, "prompt tokens"), (one.price_out_change_usd, "output tokens"))
        if change is not None
    ]
    cost = " and ".join(prices) if prices else "an unknown sum, since prices are not declared"
    if one.price_in_change_usd == one.price_out_change_usd == 0:
        cost = "nothing: the prices are the same"
    elif one.blended_ratio is not None:
        cost += f" ({one.blended_ratio - 1:+.0%} at three prompt tokens to one output token)"
    elif len(prices) == 1:
        cost += "; the other price is not declared"
    speed = [
        text.format(ratio=bare(ratio, ""))
        for ratio, text in (
            (one.ttft_ratio, "the first token takes {ratio} times as long"),
            (one.tps_ratio, "tokens come {ratio} times as fast"),
        )
        if ratio is not None
    ]
    faster = f"; {' and '.join(speed)}" if speed else "; which of the two is faster is not sure"
    return f"To go from {one.from_} to {one.to} costs {cost}{faster}."


def _change_text(usd: float, what: str) -> str:
    return f"{abs(usd):.2f} USD {'more' if usd > 0 else 'less'} per million {what}" if usd else f"nothing for {what}"
