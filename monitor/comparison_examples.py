"""Answers that show what is wrong: a few of each fault, with what the endpoint said as it said it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import fmean

from monitor.comparison_facts import Example
from monitor.plurals import plural
from monitor.results import GoldenView
from monitor.stats.divergence import tail_bucket_kl
from monitor.types import ANSWERED, BROKEN_TOOL_CALL, NOT_THE_ENDPOINTS_FAULT, Exchange

PER_FAULT = 2
"""Examples of each fault."""
MOST_CHARACTERS = 600
"""Characters of a text that an example keeps."""
FAR = "far_from_golden"
"""Fault of a complete answer whose tokens golden finds unlikely."""


def fault_of(exchange: Exchange) -> str | None:
    """Name of what went wrong with an exchange; None for a good one and for what is no fault of the endpoint."""
    if exchange.outcome in ANSWERED:
        broken = "arguments_invalid" in exchange.flags and exchange.outcome != "ok_length"
        return BROKEN_TOOL_CALL if broken else None
    return None if exchange.outcome in NOT_THE_ENDPOINTS_FAULT else exchange.outcome


def failed(pairs: Iterable[tuple[str, Exchange]]) -> tuple[Example, ...]:
    """The newest examples of each fault, out of pairs of probe and exchange."""
    found: dict[str, list[Example]] = {}
    for probe, exchange in sorted(pairs, key=lambda pair: str(pair[1].started_at), reverse=True):
        fault = fault_of(exchange)
        if fault is not None and len(found.setdefault(fault, [])) < PER_FAULT:
            found[fault].append(example(fault, probe, exchange))
    return tuple(one for fault in sorted(found) for one in found[fault])


def example(fault: str, probe: str, exchange: Exchange, remark: str | None = None) -> Example:
    """What an exchange shows."""
    return Example(
        fault=fault, exchange_id=exchange.exchange_id, run_id=exchange.run_id, probe=probe, at=exchange.started_at,
        prompt_id=exchange.request.prompt_id if exchange.request else None, status=exchange.status,
        error=None if exchange.error is None else cut(exchange.error), text=cut(_said(exchange)), remark=remark,
    )  # fmt: skip


def _said(exchange: Exchange) -> str:
    calls = (f"{call.name}({call.arguments})" for call in exchange.choice.tool_calls)
    return "\n".join(part for part in (exchange.choice.content, *calls) if part)


def cut(text: str) -> str:
    """Return `text`, or its beginning and how long it was."""
    if len(text) <= MOST_CHARACTERS:
        return text
    return f"{text[:MOST_CHARACTERS]} … (cut here; {len(text):,} characters in all)"


def farthest(
    probes: Mapping[str, str], exchanges: Sequence[Exchange], views: Mapping[str, GoldenView]
) -> tuple[Example, ...]:
    """The answers farthest from golden, out of those whose positions are known; `probes` and `views` by exchange id."""
    found = sorted(_distances(exchanges, views), key=lambda pair: (-pair[0], pair[1].exchange_id))
    return tuple(_far(probes[one.exchange_id], nats, one, views) for nats, one in found[:PER_FAULT])


def _distances(exchanges: Sequence[Exchange], views: Mapping[str, GoldenView]) -> Iterator[tuple[float, Exchange]]:
    for exchange in exchanges:
        view = views.get(exchange.exchange_id)
        listed = [place for place in view.positions if place.endpoint_top] if view else []
        if listed:
            yield fmean(tail_bucket_kl(one.golden_top, one.endpoint_top) for one in listed), exchange


def _far(probe: str, nats: float, exchange: Exchange, views: Mapping[str, GoldenView]) -> Example:
    positions = views[exchange.exchange_id].positions
    other = sum(place.top1_same is False for place in positions)
    choice = f"the first choice differs at {other} of {plural(len(positions), 'position')}"
    remark = f"{nats:.2g} nats on average over {plural(len(positions), 'token')}; {choice}"
    return replace(example(FAR, probe, exchange), remark=remark)
