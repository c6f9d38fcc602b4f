"""From when an endpoint has been bad, what an identification says it serves, and what changes with a switch."""

from collections.abc import Iterator, Sequence

from monitor.causes import explain
from monitor.comparison import Identified, Row, Since, Switch, is_good
from monitor.comparison_facts import Facts, Judgement
from monitor.comparison_measures import measure, newest
from monitor.comparison_order import surely_better
from monitor.results import Verdict
from monitor.types import Endpoint

_BAD = frozenset({"fail", "suspect"})
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
    return _unbroken(facts.past.get(detector, ())) or _unbroken(_as_past(newest(facts, detector)))


def _as_past(told: Verdict | None) -> tuple[Judgement, ...]:
    return () if told is None else (Judgement(at=told.at, status=told.status, cause=told.cause),)


def _unbroken(past: Sequence[Judgement]) -> Since | None:
    first, n = None, 0
    for one in reversed(past):
        if one.status == "pass":
            return None if first is None else Since(first_bad_at=first, last_good_at=one.at, n_bad=n)
        if one.status in _BAD:
            first, n = one.at, n + 1
    return None if first is None else Since(first_bad_at=first, last_good_at=None, n_bad=n)


def identified(facts: Facts) -> Identified | None:
    """What the newest identification names first; None where none could name anything."""
    told = newest(facts, "identify")
    schemes = told.details.get("schemes") if told is not None else None
    if told is None or not schemes:
        return None
    first, share = schemes[0], told.details
    return Identified(
        name=str(first["name"]), posterior=float(first["posterior"]), share=share.get("share"),
        share_low=share.get("share_low"), share_high=share.get("share_high"),
        n_prompts=int(share.get("n_prompts") or told.n), verdict_id=told.verdict_id,
    )  # fmt: skip


def switches(rows: Sequence[Row]) -> Iterator[Switch]:
    """From every endpoint that fails or is suspect to every good one."""
    for old in rows:
        for new in rows if old.status in _BAD else ():
            if is_good(new):
                yield _switch(old, new)


def _switch(old: Row, new: Row) -> Switch:
    blended = blended_usd(old.endpoint), blended_usd(new.endpoint)
    return Switch(
        from_=old.endpoint.name, to=new.endpoint.name,
        price_in_change_usd=_change(old.endpoint.price_in_usd, new.endpoint.price_in_usd),
        price_out_change_usd=_change(old.endpoint.price_out_usd, new.endpoint.price_out_usd),
        blended_change_usd=_change(*blended), blended_ratio=_ratio(*blended),
        ttft_ratio=_sure_ratio("ttft_ms", old, new), tps_ratio=_sure_ratio("tps", old, new),
    )  # fmt: skip


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
