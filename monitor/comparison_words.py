"""A comparison in plain words: whom to choose, who does not serve what it declares, by how much, since when."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from monitor.comparison import ModelComparison, Ranking, Row, is_good
from monitor.comparison_failing import failing, near_text, since_text
from monitor.comparison_faults import faults_text
from monitor.comparison_figures import amount, span_text
from monitor.comparison_measures import measure
from monitor.comparison_since import blended_usd
from monitor.comparison_switch import switching
from monitor.comparison_weights import missing_part, not_judged
from monitor.plurals import plural
from monitor.summary import counting

_RANKED = ("kl", "flips", "availability", "tools", "ttft_ms", "tps")
_NAMED = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """Sentences that belong together, with a title of one or two words."""

    title: str
    sentences: tuple[str, ...]


def words(model: ModelComparison) -> Iterator[str]:
    """Sentences about one model, in the order in which somebody wants to know: first whom to choose."""
    yield advice(model)
    yield scope(model)
    for section in sections(model):
        yield from section.sentences


def sections(model: ModelComparison) -> tuple[Section, ...]:
    """What is said of the endpoints, in groups: failing, suspect, passing, undecided, order, switching."""
    rows = model.rows
    found = (
        ("Failing", [failing(row, model.ladder) for row in rows if row.status == "fail"]),
        ("Suspect", [_suspect(row) for row in rows if row.status == "suspect"]),
        ("Passing", [_passing(row) for row in rows if is_good(row)]),
        ("Undecided", [_undecided(row) for row in rows if _is_undecided(row)]),
        ("Order", list(_orders(model))),
        ("Switching", list(switching(model.switches, _left_out(rows)))),
    )
    return tuple(Section(title=title, sentences=tuple(said)) for title, said in found if said)


def advice(model: ModelComparison) -> str:
    """Whom to choose, in one sentence: the one that passes, or that none does, or that several do."""
    rows, n = model.rows, len(model.rows)
    good = [row for row in rows if is_good(row)]
    if not good:
        bad = sum(row.status in {"fail", "suspect"} for row in model.rows)
        counts = ((bad, "failing or suspect"), (n - bad, "not decided"))
        return f"No endpoint of {model.model} passes: {', '.join(f'{k} {what}' for k, what in counts if k)}."
    if len(good) == 1:
        among = "the only endpoint that was looked at" if n == 1 else f"of {plural(n, 'endpoint')} it alone"
        wrong = faults_text(rows)
        others = f" {wrong}." if wrong else ""
        return f"Choose {good[0].endpoint.name} for {model.model}: {among} passes, as far as was measured.{others}"
    names = _listed([row.endpoint.name for row in good])
    return f"Several endpoints of {model.model} pass and are not told apart in fidelity: {names}.{_cheapest(good)}"


def _left_out(rows: Sequence[Row]) -> dict[str, str]:
    """By endpoint the part of golden's prompt that it leaves out, and so does not bill."""
    return {row.endpoint.name: part for row in rows if (part := missing_part(row.verdicts)) is not None}


def _cheapest(rows: Sequence[Row]) -> str:
    priced = [(usd, row.endpoint.name) for row in rows if (usd := blended_usd(row.endpoint)) is not None]
    if len(priced) < len(rows):
        return ""
    usd, name = min(priced)
    tied = sum(one == usd for one, _ in priced) > 1
    return "" if tied else f" The cheapest of them is {name} ({amount(usd, 'USD/M')} at three in to one out)."


def scope(model: ModelComparison) -> str:
    """What was asked of the endpoints: how much, when, from where, at what cost."""
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
        f"{plural(len(model.rows), 'endpoint')} of {model.model} got {plural(n, 'request')} ({tokens:,} tokens reported"
        f"{money}), {when}, asked from {places}."
    )


def _suspect(row: Row) -> str:
    why = not_judged(row.verdicts)
    unjudged = f" Its weights were not judged: {why}." if why else ""
    return f"{row.endpoint.name} is suspect: {row.reason}.{since_text(row)}{unjudged}"


def _passing(row: Row) -> str:
    declared = row.endpoint.precision or "full precision"
    undecided = "; ".join(
        f"{one.detector}: {one.reason}" for one in counting(row.verdicts) if one.status == "inconclusive"
    )
    open_ = "" if row.status == "pass" else f" Not decided: {undecided or row.reason}."
    named = row.identified
    also = f" An identification says the same: {named.name}." if named is not None and named.full else ""
    serves = f"{row.endpoint.name} serves what it declares ({declared}), as far as was measured"
    return f"{serves}{near_text(row)}.{also}{open_}"


def _is_undecided(row: Row) -> bool:
    return row.status in {"pass", "inconclusive"} and not is_good(row)


def _undecided(row: Row) -> str:
    why = row.reason if row.status == "inconclusive" else "nothing has looked at its weights"
    return f"{row.endpoint.name} could not be decided, which is no pass: {why}."


def _orders(model: ModelComparison) -> Iterator[str]:
    for name in _RANKED:
        found = model.ranking(name)
        if found is not None and len(model.rows) > 1:
            why = f" Not comparable: {'; '.join(found.remarks)}." if found.remarks else ""
            yield f"By {measure(name).title}: {order_text(found)}.{why}"


def order_text(ranking: Ranking) -> str:
    """Return such as ``1. a; 2. b and c (tied)``, or that the intervals allow no order."""
    left = [f"{what}: {_listed(names)}" for what, names in _without_place(ranking) if names]
    missing = f" ({'; '.join(left)})" if left else ""
    n = sum(len(tier) for tier in ranking.tiers)
    if n == 1:
        enough = " well enough" if ranking.without_interval or ranking.apart else ""
        return f"only {ranking.tiers[0][0]} was measured{enough}{missing}"
    if not ranking.decided:
        return f"no ranking, the data allow none{missing}"
    parts, place = list[str](), 1
    for tier in ranking.tiers:
        parts += _tier(ranking, tier, place)
        place += len(tier)
    return "; ".join(parts) + missing


def _without_place(ranking: Ranking) -> Iterator[tuple[str, Sequence[str]]]:
    yield "not measured", ranking.unmeasured
    yield "no interval, so no place", ranking.without_interval
    for why in dict.fromkeys(ranking.apart.values()):
        yield f"{why}, so no place", [name for name, own in ranking.apart.items() if own == why]


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
