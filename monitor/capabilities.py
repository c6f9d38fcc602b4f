"""What an endpoint does with each parameter, told from its behaviour and never from a 200.

The names of the requests of the probe `parameters` say what each is for: ``feature/variant/number``.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from monitor.capability_signs import (
    context,
    effort,
    is_json,
    logprobs,
    max_tokens,
    model_echo,
    n_choices,
    parallel,
    schema,
    seed,
    stop,
    temperature,
    tool_named,
    tool_none,
    tool_required,
    top_p,
    usage,
)
from monitor.results import Metric
from monitor.types import Exchange

Standing = Literal["kept", "ignored", "refused", "unknown"]
"""``kept``: it does what it says. ``ignored``: accepted, and without effect. ``refused``: the endpoint says no, which
is a capability like any other. ``unknown``: could not be told."""

_REFUSED = frozenset({"unsupported_param", "http_4xx"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Capability:
    """What became of one feature, and what that was told from."""

    name: str
    standing: Standing
    why: str


KEPT = Metric(
    name="capabilities_kept", unit="share", better="higher", source="monitor.capabilities",
    definition="Features that do what they say / features that could be told apart from ignored ones and were not "
               "refused, k of n.",
)  # fmt: skip


def kept(found: Mapping[str, Capability]) -> tuple[int, int]:
    """Return how many features are kept, of how many that could be told and were not refused."""
    standings = [one.standing for one in found.values()]
    return standings.count("kept"), standings.count("kept") + standings.count("ignored")


Variants = Mapping[str, Sequence[Exchange]]
"""Answers by variant of the request."""

Judge = Callable[[Variants], tuple[bool | None, str]]
"""True: kept, False: ignored, None: cannot be told; and why."""

FEATURES: Mapping[str, Judge] = {
    "max_tokens": max_tokens, "stop": stop, "n": n_choices, "seed": seed, "temperature": temperature, "top_p": top_p,
    "logprobs": logprobs, "json_object": is_json, "json_schema": schema, "reasoning_effort": effort,
    "tool_choice_none": tool_none, "tool_choice_required": tool_required, "tool_choice_named": tool_named,
    "parallel_tool_calls": parallel, "context": context,
}  # fmt: skip
"""Features with requests of their own."""

OF_ALL: Mapping[str, Callable[[Sequence[Exchange]], tuple[bool | None, str]]] = {
    "model_echo": model_echo, "usage": usage,
}  # fmt: skip
"""Features that every answer tells."""


def capabilities(exchanges: Sequence[Exchange]) -> dict[str, Capability]:
    """Return what `exchanges` of the probe `parameters` tell of each feature."""
    asked: dict[str, dict[str, list[Exchange]]] = {}
    for exchange in exchanges:
        feature, variant, _ = named(exchange)
        asked.setdefault(feature, {}).setdefault(variant, []).append(exchange)
    controls = asked.get("parallel_tool_calls", {}).get("control")
    if controls and "tool_choice_none" in asked:  # the same question about the weather, with the choice left free
        asked["tool_choice_none"].setdefault("control", controls)
    found = {name: _capability(name, judge, asked.get(name, {})) for name, judge in FEATURES.items()}
    answered = [exchange for exchange in exchanges if exchange.answered]
    return found | {name: _told(name, judge(answered)) for name, judge in OF_ALL.items()}


def named(exchange: Exchange) -> tuple[str, str, str]:
    """Return feature, variant and number that the request was made for; empty where it was for none."""
    parts = (exchange.request.prompt_id if exchange.request else "").split("/")
    return (parts[0], parts[1], parts[2]) if len(parts) == 3 else ("", "", "")


def _capability(name: str, judge: Judge, asked: Variants) -> Capability:
    every = [exchange for some in asked.values() for exchange in some]
    if not every:
        return Capability(name=name, standing="unknown", why="not asked")
    tested = [exchange for variant, some in asked.items() if variant != "control" for exchange in some]
    if tested and all(exchange.outcome in _REFUSED for exchange in tested):
        status = tested[0].status
        why = "the protocol has no word for it" if status is None else f"status {status}"
        return Capability(name=name, standing="refused", why=why)
    missing = next((exchange.outcome for exchange in every if not exchange.answered), None)
    if missing is not None:
        return Capability(name=name, standing="unknown", why=f"an answer is missing: {missing}")
    return _told(name, judge(asked))


def _told(name: str, told: tuple[bool | None, str]) -> Capability:
    standing: Standing = "unknown" if told[0] is None else "kept" if told[0] else "ignored"
    return Capability(name=name, standing=standing, why=told[1])
