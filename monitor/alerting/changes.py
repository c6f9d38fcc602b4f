"""What was different before an incident began: fingerprint, upstream, model name, tokens of the same prompt."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from monitor.types import Exchange
from monitor.wire.usage import read_usage


def changes(exchanges: Sequence[Exchange], since: datetime) -> tuple[str, ...]:
    """Say what exchanges from `since` on have that those before had not, oldest view first.

    Only what both sides tell is compared: an endpoint that names no fingerprint has changed none.
    """
    dated = sorted((one for one in exchanges if one.started_at is not None), key=_at)
    before = [one for one in dated if _at(one) < since]
    after = [one for one in dated if _at(one) >= since]
    return tuple(_found(before, after)) if before and after else ()


def _at(exchange: Exchange) -> datetime:
    if exchange.started_at is None:
        raise ValueError("an exchange without a time has no place here")
    return exchange.started_at


def _found(before: Sequence[Exchange], after: Sequence[Exchange]) -> Iterator[str]:
    for name, old, new in (
        ("system fingerprint", _said(before, "fingerprint"), _said(after, "fingerprint")),
        ("upstream", _listed(before, "providers"), _listed(after, "providers")),
        ("model in the answer", _listed(before, "models"), _listed(after, "models")),
    ):
        if old and set(new) - set(old):
            yield f"{name}: {', '.join(old)} before, {', '.join(new)} since"
    yield from _prompts(before, after)


def _said(exchanges: Sequence[Exchange], name: str) -> list[str]:
    return list(dict.fromkeys(value for one in exchanges if (value := getattr(one, name))))


def _listed(exchanges: Sequence[Exchange], name: str) -> list[str]:
    return list(dict.fromkeys(value for one in exchanges for value in getattr(one, name)))


def _prompts(before: Sequence[Exchange], after: Sequence[Exchange]) -> Iterator[str]:
    """Prompts whose tokens are counted otherwise now: another template, or a hidden system prompt."""
    old, new = _counted(before), _counted(after)
    moved = [name for name in old if name in new and old[name] != new[name]]
    if moved:
        first = moved[0]
        yield (
            f"prompt tokens: {len(moved)} of {len(set(old) & set(new))} prompts are counted otherwise, "
            f"{first} {old[first]} before, {new[first]} since"
        )


def _counted(exchanges: Sequence[Exchange]) -> dict[str, int]:
    """The newest count of every prompt that is the same in each run."""
    found: dict[str, int] = {}
    for one in exchanges:
        count = read_usage(one.usage or {}).input_total
        if one.request is not None and count is not None:
            found[f"{one.request.prompt_id}:{one.request.max_tokens}"] = int(count)
    return found
