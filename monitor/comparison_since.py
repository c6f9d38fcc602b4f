"""From when an endpoint has been bad, what an identification says it serves, and what changes with a switch."""

from collections.abc import Iterator, Mapping, Sequence

from monitor.causes import explain
from monitor.comparison import Identified, RequestSize, Row, Since, Switch, is_good
from monitor.comparison_bills import sizes
from monitor.comparison_facts import Facts, Streak
from monitor.comparison_measures import OPERATION, SERVED, measure, newest
from monitor.comparison_order import can_be_placed, surely_better
from monitor.results import Verdict
from monitor.stats.hypotheses import FAITHFUL
from monitor.types import Endpoint

_BAD = frozenset({"fail", "suspect"})
_SPEEDS = ("ttft_ms", "tps")
FULL = "golden weights in 16 bit or more"
"""Name of what an identification calls full precision."""
PROMPTS_PER_OUTPUT = 3
"""Prompt tokens for each output token in a blended price; the mix that public comparisons use."""


def since(facts: Facts) -> Since | None:
    """From when the cause that is named has been there; None where nothing fails or is suspect.

    Looks that were inconclusive say neither.
    """
    cause = explain(facts.verdicts)
    bad = [one.detector for one in facts.verdicts if one.status in _BAD]
    if not bad:
        return None
    detector = cause.detector if cause is not None else bad[0]
    # All who look at what is served tell of one fault: who saw it first says since when, as its incident does.
    alike = [one for one in bad if one in SERVED] if detector in SERVED else [detector]
    if detector in OPERATION:
        # Faults of operation are different ones, and the endpoint has been wrong since the earliest of them.
        return min((one for name in bad if name in OPERATION and (one := _of(facts, name, [name])) is not None),
                   key=lambda one: one.first_bad_at, default=None)  # fmt: skip
    return _of(facts, detector, alike)


def _of(facts: Facts, detector: str, alike: Sequence[str]) -> Since | None:
    """Since when what these detectors tell of has been there."""
    streaks = {one: past for one in (detector, *alike) if (past := facts.past.get(one)) is not None}
    return _unbroken(streaks) or _from_newest(detector, newest(facts, detector))


def _from_newest(detector: str, told: Verdict | None) -> Since | None:
    """Where no past is known: the newest verdict is all that there is."""
    if told is None or told.status not in _BAD:
        return None
    return Since(detector=detector, first_bad_at=told.at, last_good_at=None, n_bad=1)


def _unbroken(streaks: Mapping[str, Streak]) -> Since | None:
    """The earliest that came after all of them had passed for the last time."""
    good = max((one.last_good_at for one in streaks.values() if one.last_good_at is not None), default=None)
    found = [
        (one.first_bad_at, name, one.n_bad) for name, one in streaks.items()
        if one.first_bad_at is not None and (good is None or one.first_bad_at > good)
    ]  # fmt: skip
    if not found:
        return None
    first, detector, n = min(found)
    return Since(detector=detector, first_bad_at=first, last_good_at=good, n_bad=n)


def identified(facts: Facts) -> Identified | None:
    """What the newest identification names first; None where none could name anything."""
    told = newest(facts, "identify")
    schemes = told.details.get("schemes") if told is not None else None
    if told is None or not schemes:
        return None
    first, share = schemes[0], told.details
    full, families = first.get("family") == FAITHFUL, told.details.get("families") or {}
    return Identified(
        name=FULL if full else str(first["name"]), full=full,
        posterior=float(families.get(FAITHFUL, first["posterior"]) if full else first["posterior"]),
        share=share.get("share"),
        share_low=share.get("share_low"), share_high=share.get("share_high"),
        n_prompts=int(share.get("n_prompts") or told.n), verdict_id=told.verdict_id,
    )  # fmt: skip


def switches(rows: Sequence[Row]) -> Iterator[Switch]:
    """From every endpoint that fails or is suspect to every good one."""
    for old in rows:
        for new in rows if old.status in _BAD else ():
            if is_good(new):
                yield _switch(old, new, rows)


def _switch(old: Row, new: Row, rows: Sequence[Row]) -> Switch:
    blended = blended_usd(old.endpoint), blended_usd(new.endpoint)
    size_from, size_to = sizes(old, new, rows)
    thousand = _thousand_usd(old.endpoint, size_from), _thousand_usd(new.endpoint, size_to)
    return Switch(
        from_=old.endpoint.name, to=new.endpoint.name,
        price_in_change_usd=_change(old.endpoint.price_in_usd, new.endpoint.price_in_usd),
        price_out_change_usd=_change(old.endpoint.price_out_usd, new.endpoint.price_out_usd),
        blended_change_usd=_change(*blended), blended_ratio=_ratio(*blended),
        ttft_ratio=_sure_ratio("ttft_ms", old, new), tps_ratio=_sure_ratio("tps", old, new),
        timed=any(can_be_placed(old.estimates[name]) and can_be_placed(new.estimates[name]) for name in _SPEEDS),
        size_from=size_from, size_to=size_to, per_thousand_from_usd=thousand[0], per_thousand_to_usd=thousand[1],
        per_thousand_ratio=_ratio(*thousand),
    )  # fmt: skip


def _thousand_usd(endpoint: Endpoint, size: RequestSize | None) -> float | None:
    """USD for 1,000 requests of this size."""
    if size is None or endpoint.price_in_usd is None or endpoint.price_out_usd is None:
        return None
    return (size.tokens_in * endpoint.price_in_usd + size.tokens_out * endpoint.price_out_usd) / 1000


def _sure_ratio(name: str, old: Row, new: Row) -> float | None:
    one, other, card = old.estimates[name], new.estimates[name], measure(name)
    sure = surely_better(card, one, other) or surely_better(card, other, one)
    return _ratio(one.value, other.value) if sure else None


def blended_usd(endpoint: Endpoint) -> float | None:
    """USD per million tokens at `PROMPTS_PER_OUTPUT`; None where a price is not declared."""
    if endpoint.price_in_usd is None or endpoint.price_out_usd is None:
        return None
    return (PROMPTS_PER_OUTPUT * endpoint.price_in_usd + endpoint.price_out_usd) / (PROMPTS_PER_OUTPUT + 1)


def _change(old: float | None, new: float | None) -> float | None:
    return None if old is None or new is None else round(new - old, 9)


def _ratio(old: float | None, new: float | None) -> float | None:
    return None if not old or new is None else new / old
