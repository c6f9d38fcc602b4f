"""What a switch from one endpoint to another costs, in words."""

from collections.abc import Iterator, Mapping, Sequence

from monitor.comparison import RequestSize, Switch
from monitor.comparison_figures import bare, change_text, usd_text
from monitor.plurals import plural

_UNKNOWN = float("inf")


def switching(switches: Sequence[Switch], left_out: Mapping[str, str]) -> Iterator[str]:
    """A sentence for each endpoint that somebody may want to leave: to the cheapest of those that pass.

    ``left_out`` names, by endpoint, the part of golden's prompt that never reaches the model there.
    """
    told: set[str] = set()
    if switches and all(one.price_in_change_usd is None and _money(one) == _UNKNOWN for one in switches):
        yield "What a switch would cost is not known: prices are not declared (price_in_usd, price_out_usd)."
        return
    for one in sorted(switches, key=lambda one: (one.from_, _money(one))):
        if one.from_ not in told:
            told.add(one.from_)
            yield switch_text(one, left_out.get(one.from_))


def _money(one: Switch) -> float:
    return _UNKNOWN if one.blended_change_usd is None else one.blended_change_usd


def switch_text(one: Switch, left_out: str | None = None) -> str:
    """Return what changes with a switch: money first, then speed; `left_out` is no saving but a missing prompt."""
    return f"To go from {one.from_} to {one.to} costs {_cost(one)}{_speed(one)}.{_missing(one, left_out)}"


def _missing(one: Switch, left_out: str | None) -> str:
    old, new = one.size_from, one.size_to
    if left_out is None or old is None or new is None or new.tokens_in <= old.tokens_in:
        return ""
    return (
        f" A part of that is {left_out}, which {one.from_} leaves out and so does not bill: "
        f"{old.tokens_in:.0f} prompt tokens a request instead of {new.tokens_in:.0f}."
    )


def _cost(one: Switch) -> str:
    prices = [
        _change_text(change, what)
        for change, what in ((one.price_in_change_usd, "prompt tokens"), (one.price_out_change_usd, "output tokens"))
        if change is not None
    ]
    if not prices:
        return "an unknown sum, since prices are not declared"
    same = one.price_in_change_usd == one.price_out_change_usd == 0
    cost = "nothing more a token, the prices are the same" if same else " and ".join(prices)
    if None in (one.price_in_change_usd, one.price_out_change_usd):
        what = "prompt" if one.price_in_change_usd is None else "output"
        return f"{cost}; a price of {what} tokens is not declared, so the whole cost is not known"
    if one.size_from is not None and one.size_to is not None and one.per_thousand_to_usd is not None:
        return (
            f"{cost}. For 1,000 requests as they were asked here that is {thousand_text(one)}, by the tokens that each "
            f"bills: {one.from_} {size_text(one.size_from)}, {one.to} {size_text(one.size_to)} a request{_over(one)}"
        )
    return cost if one.blended_ratio is None else f"{cost} ({one.blended_ratio - 1:+.0%} at three in to one out)"


def _over(one: Switch) -> str:
    size = one.size_from
    return "" if size is None or not size.n else f" (means over {plural(size.n, 'request')} of both)"


def thousand_text(one: Switch) -> str:
    """Return such as ``0.0205 instead of 0.0123 USD (+67%)``; empty where not known."""
    old, new = one.per_thousand_from_usd, one.per_thousand_to_usd
    if old is None or new is None:
        return ""
    ratio = "" if old == 0 else f" ({change_text(new, old, 'USD')})"
    return f"{usd_text(new)} instead of {usd_text(old)} USD{ratio}"


def size_text(size: RequestSize) -> str:
    """Return such as ``37 prompt and 15 output tokens``, with who counted them where the endpoint did not."""
    counts = f"{size.tokens_in:.0f} prompt and {size.tokens_out:.0f} output tokens"
    return counts if size.reported else f"{counts} (it reports none: golden's count and the other's answers stand in)"


def _speed(one: Switch) -> str:
    speed = [
        text.format(ratio=bare(ratio, ""))
        for ratio, text in (
            (one.ttft_ratio, "the first token takes {ratio} times as long"),
            (one.tps_ratio, "tokens come {ratio} times as fast"),
        )
        if ratio is not None
    ]
    if speed:
        return f"; {' and '.join(speed)}"
    return "; which of the two is faster is not sure" if one.timed else ""


def _change_text(usd: float, what: str) -> str:
    more = "more" if usd > 0 else "less"
    return f"{usd_text(abs(usd))} USD {more} per million {what}" if usd else f"nothing more for {what}"
