"""Flags that need the whole answer and the request: finish against calls, cap, stop texts, usage, model name."""

import re
from collections.abc import Iterator, Sequence

from monitor.types import Choice
from monitor.wire.alignment import logprob_flags
from monitor.wire.asked import Asked
from monitor.wire.model_names import compare_models
from monitor.wire.usage import UsageReading

_CALL_AS_TEXT = re.compile(
    r"<\|?tool_call|<function=|<\|python_tag\|>|\[TOOL_CALLS\]|<\uff5ctool\u2581calls?\u2581begin"
)
_NAMING_FLAGS = {
    "mismatch": "model_mismatch",
    "same_dated": "model_dated",
    "variant_dropped": "model_variant_dropped",
    "unknown": "model_unnamed",
}


def conformance_flags(
    asked: Asked, choices: Sequence[Choice], usage: UsageReading | None, models: Sequence[str]
) -> Iterator[str]:
    """Yield the conformance flags of an answer, named as in the fault corpus."""
    for choice in choices:
        yield from _call_flags(choice)
        yield from _stop_flags(choice, asked.stop)
        yield from logprob_flags(choice, asked.top_logprobs)
    yield from _usage_flags(choices, usage)
    yield from _cap_flags(asked, choices, usage)
    if choices:
        yield from _model_flags(asked.model, models)


def _model_flags(asked: str | None, models: Sequence[str]) -> Iterator[str]:
    """What the names of the model in the answer say. Where none is known to be asked for, the first stands for it."""
    wanted = asked if asked is not None else models[0] if models else None
    if wanted is None:
        return
    for answered in models or (None,):
        naming = compare_models(wanted, answered)
        if naming in _NAMING_FLAGS:
            yield _NAMING_FLAGS[naming]


def _call_flags(choice: Choice) -> Iterator[str]:
    if choice.tool_calls and choice.finish == "stop":
        yield "stop_with_tool_calls"
    if not choice.tool_calls:
        if choice.finish == "tool_calls":
            yield "tool_calls_without_call"
        if _CALL_AS_TEXT.search(choice.content):
            yield "tool_call_as_text"


def _stop_flags(choice: Choice, stops: Sequence[str]) -> Iterator[str]:
    """Stop texts that leaked, whole or in part, or did not stop the answer."""
    for stop in stops:
        if stop and stop in choice.content:
            yield "stop_ignored" if choice.finish == "length" else "stop_leak"
        elif choice.finish == "stop" and any(choice.content.endswith(stop[:n]) for n in range(1, len(stop))):
            yield "stop_partial_leak"


def _usage_flags(choices: Sequence[Choice], usage: UsageReading | None) -> Iterator[str]:
    if usage is None:
        return
    yield from usage.flags
    if is_implausible(choices, usage):
        yield "usage_implausible"
    if usage.completion and not any(choice.content or choice.reasoning or choice.tool_calls for choice in choices):
        yield "empty_billed"


def is_implausible(choices: Sequence[Choice], usage: UsageReading) -> bool:
    """Whether zeros in the usage contradict what was seen."""
    seen = any(choice.content or choice.reasoning or choice.tool_calls for choice in choices)
    return (seen and usage.completion == 0) or (usage.prompt == 0 and bool(usage.completion))


def _cap_flags(asked: Asked, choices: Sequence[Choice], usage: UsageReading | None) -> Iterator[str]:
    by_length = any(choice.finish == "length" for choice in choices)
    if asked.cap_known and asked.max_tokens is None and by_length:
        yield "hidden_cap"
    if asked.max_tokens is None or usage is None or usage.completion is None:
        return
    if usage.completion > asked.max_tokens * len(choices) + 1:
        yield "cap_ignored"


def spent_on_reasoning(choices: Sequence[Choice], usage: UsageReading | None) -> bool:
    """Whether the answer was cut by length before anything but reasoning came."""
    cut = [choice for choice in choices if choice.finish == "length" and not (choice.content or choice.tool_calls)]
    return any(choice.reasoning for choice in cut) or (bool(cut) and usage is not None and bool(usage.reasoning))
