"""Finders of faults in finish reasons, text and reasoning."""

import re
from collections.abc import Iterator

from monitor.faults.kinds import Found
from monitor.faults.seen import Seen
from monitor.tools.thinking import is_in_tags, is_leak
from monitor.types import Choice
from monitor.wire.finish import normalised

_BROKEN = "\ufffd"
_THINKING = "thinking_leak"


def find_in_answer(seen: Seen) -> Iterator[Found]:
    """Yield what is wrong with a complete answer, apart from its calls."""
    yield from _finish(seen)
    yield from _text(seen)
    leaked = list(_thinking(seen))
    yield from leaked
    for choice in seen.exchange.choices:
        yield from _nothing_visible(seen, choice, leaked=bool(leaked))
    yield from _fields(seen)
    if _logprobs_missing(seen):
        yield seen.found("logprobs_ignored", "logprobs", f"top_logprobs {seen.request.top_logprobs} was asked for")


def _finish(seen: Seen) -> Iterator[Found]:
    if any(choice.finish == "content_filter" for choice in seen.exchange.choices):
        yield seen.found("filter_injected", "finish_reason", "content_filter")
    if seen.exchange.outcome == "unconfirmed":
        yield seen.found("bad_finish", "finish_reason", "none to the end")
    elif flag := seen.has("unknown_finish_reason", "several_finish_reasons", "odd_type:finish_reason"):
        yield seen.found("bad_finish", "finish_reason", flag)
    elif any(choice.finish_raw and _is_raw_token(choice.finish_raw) for choice in seen.exchange.choices):
        yield seen.found("bad_finish", "finish_reason", "a token of the engine")


def _is_raw_token(raw: str) -> bool:
    return re.fullmatch(r"stop_\d+|<.*>", raw) is not None and normalised(raw) is not None


def _text(seen: Seen) -> Iterator[Found]:
    if seen.has("invalid_utf8"):
        yield seen.found("broken_text", "body", "bytes that are no UTF-8")
        return
    if any(_BROKEN in str(message.get("content")) for message in seen.request.messages):
        return
    for choice in seen.exchange.choices:
        text = choice.content
        if choice.finish == "length":
            text = text.rstrip(_BROKEN)  # the cap may cut within a character
        joined = text + choice.reasoning + "".join(call.arguments for call in choice.tool_calls)
        if _BROKEN in joined:
            yield seen.found("broken_text", "content", f"{joined.count(_BROKEN)} x U+FFFD")


def _thinking(seen: Seen) -> Iterator[Found]:
    for choice in seen.exchange.choices:
        if is_leak(seen.exchange.flags, choice):
            sign = "a closing tag without an opening one" if seen.has("think_orphan_close") else "a thinking block"
            yield seen.found(_THINKING, "content", sign)


def _nothing_visible(seen: Seen, choice: Choice, *, leaked: bool) -> Iterator[Found]:
    if choice.content or choice.tool_calls or choice.finish != "stop":
        return
    if choice.reasoning:
        if not leaked and not is_in_tags(seen.exchange.flags):
            yield seen.found("only_reasoning", "content", "reasoning, then stop")
    else:
        yield seen.found("empty_stop", "choices", "nothing at all, then stop")


def _fields(seen: Seen) -> Iterator[Found]:
    if seen.has("mixed_delta"):
        yield seen.found("mixed_delta", "delta", "content and reasoning in one delta")
    told = {flag.partition(":")[2] for flag in seen.exchange.flags if flag.startswith("reasoning_field:")}
    fields = told - {"think_tags"}
    strange = sorted(fields - seen.profile.reasoning_in)
    if strange:
        yield seen.found("reasoning_field", "delta", f"in {', '.join(strange)}")
    elif len(fields) > 1:
        yield seen.found("reasoning_field", "delta", f"now in {', now in '.join(sorted(fields))}")


def _logprobs_missing(seen: Seen) -> bool:
    asked = seen.request.top_logprobs
    if not asked or seen.has("not_sent:top_logprobs", "lowered:top_logprobs"):
        return False
    texts = [choice for choice in seen.exchange.choices if choice.content]
    return bool(texts) and all(
        not choice.logprobs or not any(entry.top for entry in choice.logprobs) for choice in texts
    )
