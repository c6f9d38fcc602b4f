"""What a switch from one endpoint to another costs, in words."""

from collections.abc import Iterator, Sequence

from monitor.comparison import RequestSize, Switch
from monitor.comparison_figures import bare

_UNKNOWN = float("inf")


def switching(switches: Sequence[Switch]) -> Iterator[str]:
    """A sentence for each endpoint that somebody may want to leave: to the cheapest of those that pass."""
    told: set[str] = set()
    if switches and all(one.price_in_change_usd is None and _money(one) == _UNKNOWN for one in switches):
        yield "What a switch would cost is not known: prices are not declared (price_in_usd, price_out_usd)."
        return
    for one in sorted(switches, key=lambda one: (one.from_, _money(one))):
        if one.from_ not in told:
            told.add(one.from_)
            yield switch_text(one)


def _money(one: Switch) -> float:
    return _UNKNOWN if one.blended_change_usd is None else one.blended_change_usd


def switch_text(one: Switch) -> str:
    """Return what changes with a switch: money first, then speed."""
    return f"To go from {one.from_} to {one.to} costs {_cost(one)}{_speed(one)}."


def _cost(one: Switch) -> str:
    if one.price_in_change_usd == one.price_out_change_usd == 0:
        return "nothing: the prices are the same"
    prices = [
        _change_text(change, what)
        for change, what in ((one.price_in_change_usd, "prompt tokens"), (one.price_out_change_usd, "output tokens"))
        if change is not None
    ]
    if not prices:
        return "an unknown sum, since prices are not declared"
    cost = " and ".join(prices)
    if len(prices) == 1:
        return f"{cost}; the other price is not declared"
    if one.size is not None and one.per_thousand_change_usd is not None:
        return f"{cost}. For 1,000 requests {size_text(one.size)} that is {_thousand(one)}"
    return cost if one.blended_ratio is None else f"{cost} ({one.blended_ratio - 1:+.0%} at three in to one out)"


def _thousand(one: Switch) -> str:
    usd = one.per_thousand_change_usd or 0.0
    ratio = "" if one.per_thousand_ratio is None else f" ({one.per_thousand_ratio - 1:+.0%})"
    return f"{abs(usd):.2g} USD {'more' if usd > 0 else 'less'}{ratio}"


def size_text(size: RequestSize) -> str:
    """Return such as ``of the mean size here (58 prompt and 15 output tokens, prompts as golden counts them)``."""
    counts = "prompts as golden counts them" if size.golden else "as the endpoints count them"
    return f"of the mean size here ({size.tokens_in:.0f} prompt and {size.tokens_out:.0f} output tokens, {counts})"


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
    return f"{abs(usd):.2f} USD {'more' if usd > 0 else 'less'} per million {what}" if usd else f"nothing for {what}"
