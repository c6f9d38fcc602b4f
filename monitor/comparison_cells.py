"""Cells of the comparison's tables as text: the same on the page, in HTML, in Markdown and on the terminal."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from monitor.comparison import (
    Comparison,
    Estimate,
    Ladder,
    Measure,
    ModelComparison,
    Place,
    RequestSize,
    Row,
    Spent,
    Switch,
)
from monitor.comparison_endings import endings_text
from monitor.comparison_examples import FAR
from monitor.comparison_facts import Example
from monitor.comparison_figures import (
    DASH,
    bare,
    change_text,
    counts_text,
    interval_text,
    place_text,
    ratio_text,
    stamp,
    usd_text,
)
from monitor.comparison_measures import MEASURES, has_other_prompt
from monitor.comparison_weights import missing_part
from monitor.comparison_words import order_text
from monitor.plurals import plural

_EXAMPLES, _EXAMPLES_OF_MANY, _FEW = 8, 2, 10
_GOALS = 3


def measures(model: ModelComparison) -> tuple[Measure, ...]:
    """The measures that somebody has a value of."""
    return tuple(ranking.measure for ranking in model.rankings)


def measured(comparison: Comparison) -> tuple[Measure, ...]:
    """The measures that stand in some table of the report."""
    shown = {measure.name for model in comparison.models for measure in measures(model)}
    return tuple(one for one in MEASURES if one.name in shown)


def order(model: ModelComparison, measure: Measure) -> str:
    """The order in one measure, as a sentence without its end."""
    found = model.ranking(measure.name)
    return "" if found is None else f"Order: {order_text(found)}"


def shown_place(place: Place | None, n_endpoints: int) -> str:
    """The place in a table; empty where it was not measured, or there is nobody else."""
    if place is None or n_endpoints < 2:
        return ""
    return f"place {place_text(place)}"


def value(measure: Measure, one: Estimate) -> str:
    """The number alone; a dash where it was not measured."""
    return DASH if one.value is None else bare(one.value, measure.unit)


def ends(measure: Measure, one: Estimate) -> str:
    """The interval of a measured number, or that there is none; empty for exact ones."""
    if one.value is None or one.exact:
        return ""
    return interval_text(one, measure.unit) or f"no interval, {counts_text(one)}"


def counted(one: Estimate) -> str:
    """What a number rests on: k of n for rates, else how many of what; empty where nothing was counted."""
    if one.value is None or one.exact or one.low is None:
        return ""
    return f"{one.k:,} of {one.n:,}" if one.k is not None else counts_text(one)


def apart(one: Estimate) -> str:
    """Why a measured number has no place; empty where it has one."""
    return "" if one.apart is None else f"no place: {one.apart}"


def change(usd: float | None) -> str:
    """A difference of prices with its sign."""
    return DASH if usd is None else f"{usd:+.2f}" if usd == round(usd, 2) else f"{usd:+.3g}"


def thousand(one: Switch) -> str:
    """What the same 1,000 requests cost here and there, as each of the two bills them."""
    old, new = one.per_thousand_from_usd, one.per_thousand_to_usd
    return DASH if old is None or new is None else f"{usd_text(old)} → {usd_text(new)}"


def percent(one: Switch) -> str:
    """The change of that in percent."""
    old, new = one.per_thousand_from_usd, one.per_thousand_to_usd
    return DASH if not old or new is None else change_text(new, old, "USD")


def billed(size: RequestSize | None) -> str:
    """Tokens that are billed for a request, and whether others had to count them."""
    if size is None:
        return DASH
    return f"{size.tokens_in:.0f} + {size.tokens_out:.0f}" + ("" if size.reported else " (not reported)")


def n_billed(one: Switch) -> str:
    """Over how many requests of both the means of a switch are; empty where not known."""
    return "" if one.size_from is None or not one.size_from.n else f"means of {plural(one.size_from.n, 'request')}"


def times(ratio: float | None, timed: bool) -> str:
    """A ratio of speeds; a dash where there is none of both."""
    if ratio is None:
        return "not sure" if timed else DASH
    return f"x {bare(ratio, '')}"


def money(spent: Spent) -> str:
    """What measuring cost."""
    if spent.usd is None:
        return "unknown"
    more = f" + {spent.n_uncounted} uncounted answers" if spent.n_uncounted else ""
    return f"{spent.usd:.2g} USD{more}"


def tokens(n: int, spent: Spent) -> str:
    """Tokens that an endpoint counted; where it counted none of its answers, that is not known."""
    return "not reported" if n == 0 and spent.n_uncounted else f"{n:,}"


def outcomes(row: Row) -> str:
    """How requests ended: those that count, which sum to n of availability, and those that do not."""
    return endings_text(row.endings) if row.outcomes else DASH


def examples(row: Row, n_endpoints: int) -> Sequence[Example]:
    """The examples that a page has room for; the JSON document has all."""
    return row.examples[: _EXAMPLES if n_endpoints <= _FEW else _EXAMPLES_OF_MANY]


def far(row: Row) -> str:
    """How far from golden, in nats and as a multiple of what is tolerated; or that it is no distance of weights."""
    kl = row.estimates["kl"]
    if kl.value is None:
        return DASH
    if kl.apart is not None:
        return "not comparable: another prompt"
    text = f"{bare(kl.value, 'nats')} nats {interval_text(kl, 'nats')}".strip()
    if not kl.threshold:
        return text
    beyond = kl.value > kl.threshold
    return f"{text}, {ratio_text(kl.value, kl.threshold, 'nats')} x tolerated" if beyond else f"{text}, tolerated"


def wrong_since(row: Row) -> str:
    """From when something is wrong; “or before” where it was so from the first look on."""
    found = row.since
    if found is None:
        return DASH
    return stamp(found.first_bad_at) + (" or before" if found.last_good_at is None else "")


def way_out(model: ModelComparison, row: Row) -> str:
    """The cheapest endpoint to go to, and what the same requests cost there more or less."""
    own = (one for one in model.switches if one.from_ == row.endpoint.name)
    one = min(own, key=_cheapest_first, default=None)
    if one is None:
        return DASH
    change, part = percent(one), missing_part(row.verdicts)
    return f"{one.to}: {'cost unknown' if change == DASH else change}{f', with {part}' if part else ''}"


def fault(row: Row, one: Example) -> str:
    """What an example shows, in words."""
    other = one.fault == FAR and row.estimates["kl"].apart is not None
    return one.fault.replace("_", " ") + (", whose prompt was another" if other else "")


def _cheapest_first(one: Switch) -> tuple[Any, ...]:
    return (*_by_money(one), one.to)


def switches(model: ModelComparison) -> Sequence[Switch]:
    """For each endpoint that somebody may want to leave, the cheapest ones to go to; the JSON document has all."""
    found: dict[str, list[Switch]] = {}
    for one in sorted(model.switches, key=lambda one: (one.from_, _cheapest_first(one))):
        found.setdefault(one.from_, []).append(one)
    return [one for some in found.values() for one in some[:_GOALS]]


def switch_note(model: ModelComparison) -> str:
    """What the table of switches leaves out and how it counts: only what applies."""
    counts: dict[str, int] = {}
    for one in model.switches:
        counts[one.from_] = counts.get(one.from_, 0) + 1
    parts = (
        [f"The {_GOALS} cheapest endpoints that pass, for each."] if max(counts.values(), default=0) > _GOALS else []
    )
    parts.append("Prices as declared.")
    known = [size for one in model.switches for size in (one.size_from, one.size_to) if size is not None]
    if known:
        parts.append(
            "1,000 requests: the same questions to both, as they were asked here, at the prompt and output tokens that "
            "each of the two reports for them (tokens a request: prompt + output, means over the requests of "
            "both). Each line goes by the questions that its two endpoints were both asked, as often as they were, "
            "so the cost of one endpoint differs between lines."
        )
    if any(not size.reported for size in known):
        parts.append(
            "“Not reported”: it counts no tokens, so golden's count of the prompts and the other's answers stand in."
        )
    if any(one.timed for one in model.switches):
        parts.append("Speeds are new over old; “not sure” where the intervals leave open which is faster.")
    return " ".join(parts)


def _by_money(one: Switch) -> tuple[bool, float]:
    return one.blended_change_usd is None, one.blended_change_usd or 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One line of the ladder as a table."""

    name: str
    kind: str
    text: str
    ends: str


def rungs(model: ModelComparison) -> list[Step]:
    """The ladder with the endpoints in it, nearest to golden first."""
    found = [*(_steps_of(model.ladder) if model.ladder else ()), *_steps(model)]
    return [step for _, step in sorted(found, key=lambda pair: (pair[0], pair[1].name))]


def _steps_of(ladder: Ladder) -> Iterator[tuple[float, Step]]:
    for rung in ladder.rungs:
        kind = "faithful engine" if rung.faithful else "degraded variant"
        text, ends = bare(rung.value, "nats"), _ends(rung.low, rung.high)
        yield rung.value, Step(name=rung.name, kind=kind, text=text, ends=ends)


def _steps(model: ModelComparison) -> Iterator[tuple[float, Step]]:
    for row in model.rows:
        kl = row.estimates["kl"]
        if kl.value is not None:
            text, ends = bare(kl.value, "nats"), _ends(kl.low, kl.high)
            kind = "endpoint (other prompt)" if has_other_prompt(row.verdicts) else "endpoint"
            yield kl.value, Step(name=row.endpoint.name, kind=kind, text=text, ends=ends)


def _ends(low: float | None, high: float | None) -> str:
    return DASH if low is None or high is None else f"[{bare(low, 'nats')}, {bare(high, 'nats')}]"
