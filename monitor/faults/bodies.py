"""Finders of faults in the body as a whole: framing, errors, endings, usage, model names."""

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from monitor.faults.kinds import Found
from monitor.faults.seen import Seen
from monitor.tools.layers import cut_early
from monitor.wire.model_names import compare_models
from monitor.wire.usage import adds_up, read_usage

_FRAMING = (
    "stream_ignored", "stream_unasked", "wrong_content_type", "unterminated_final_event", "rewrapped_comment",
    "unframed_error", "events_after_done", "nonstandard_json", "odd_type:event",
)  # fmt: skip
_USAGE = (
    "usage_not_monotone", "usage_implausible", "usage_ambiguous", "usage_fractional", "usage_string",
    "negative_prompt_tokens", "negative_completion_tokens", "odd_type:usage",
)  # fmt: skip
_IN_BAND = frozenset({"error_in_stream", "rate_limited", "quota_exhausted", "http_4xx", "http_5xx", "auth_error"})
CUT_SHARE = 0.1
"""A prompt is cut when so much of it is missing, and `CUT_TOKENS` tokens at least."""

CUT_TOKENS = 32


def find_in_body(seen: Seen) -> Iterator[Found]:
    """Yield what is wrong with the transport, the framing, or in place of an answer."""
    exchange = seen.exchange
    if exchange.status == 200 and exchange.outcome in _IN_BAND:
        yield seen.found("error_in_200", "body", f"{exchange.outcome}, status 200")
    elif exchange.outcome == "truncated":
        yield seen.found("truncated_answer", "body", "no finish reason, no end marker")
        return
    if flag := seen.has(*_FRAMING):
        yield seen.found("bad_framing", "body", flag)
    elif exchange.outcome in {"non_json_200", "undecodable_encoding"}:
        yield seen.found("bad_framing", "body", exchange.outcome)
    elif exchange.unknown_lines or (exchange.parse_errors and exchange.outcome != "error_in_stream"):
        yield seen.found("bad_framing", "body", "lines or events that cannot be read")


def find_in_usage(seen: Seen) -> Iterator[Found]:
    """Yield what is wrong with the counts of a complete answer."""
    usage = seen.exchange.usage
    if not usage and not seen.has("odd_type:usage"):
        yield seen.found("usage_wrong", "usage", "missing")
        return
    flag = seen.has(*_USAGE)
    if flag is None and usage is not None and adds_up(usage) is False:
        flag = "total_tokens is not the sum"
    if flag is None and usage is not None and _thinks_more_than_it_says(usage):
        flag = "more reasoning than completion tokens"
    if flag is not None:
        yield seen.found("usage_wrong", "usage", flag)
    elif usage is not None and seen.golden_prompt is not None:
        yield from _prompt(seen, usage, seen.golden_prompt)


def _thinks_more_than_it_says(usage: Mapping[str, Any]) -> bool:
    """Whether reasoning is counted within the completion, and is more than all of it."""
    read = read_usage(usage)
    return read.shape == "folded" and (read.reasoning or 0) > (read.completion or 0)


def _prompt(seen: Seen, usage: Mapping[str, Any], golden: int) -> Iterator[Found]:
    counted = read_usage(usage).input_total
    if counted is None or counted == golden:
        return
    missing = golden - counted
    if missing >= CUT_TOKENS and missing > CUT_SHARE * golden:
        yield seen.found("context_cut", "usage.prompt_tokens", f"{counted:g} of {golden} tokens counted")
    else:
        yield seen.found("template_drift", "usage.prompt_tokens", f"{-missing:+g} tokens beside golden")


def find_symptoms(seen: Seen) -> Iterator[Found]:
    """Yield symptoms of behavioural kinds: signs that alone prove nothing, so always notes."""
    if sign := cap_broken(seen):
        yield Found(name="cap_ignored", standing="note", where="usage", sign=sign)
    if seen.has("stop_leak", "stop_ignored"):
        yield Found(name="stop_ignored", standing="note", where="content", sign="a stop text")
    if seen.has("model_mismatch") or renamed(seen.exchange.models):
        sign = "changes within the answer" if renamed(seen.exchange.models) else "another name"
        yield Found(name="other_model", standing="note", where="model", sign=sign)


def cap_broken(seen: Seen) -> str | None:
    """Return how the cap was not kept, None when it was or when that cannot be told."""
    if seen.has("cap_ignored"):
        return "more tokens than the cap"
    if seen.has("hidden_cap"):
        return "cut by a cap that nobody set"
    if not cut_early(seen.exchange):
        return None
    counted = read_usage(seen.exchange.usage or {})
    full = seen.context is not None and (counted.input_total or 0) + (counted.generated or 0) >= seen.context - 1
    return None if full else "cut well before the cap"


def renamed(models: tuple[str, ...]) -> bool:
    """Whether an answer names different models; dates and variants of one name are no difference."""
    return any(compare_models(one, other) == "mismatch" for one, other in pairwise(models))


def find_in_history(seen: Seen) -> Iterator[Found]:
    """Yield a breach of the contract about reasoning of earlier turns."""
    bare = any(
        message.get("role") == "assistant" and message.get("tool_calls") and not message.get("reasoning_content")
        for message in seen.request.messages
    )
    if not bare or seen.request.reasoning_off:
        return
    refused = seen.exchange.status is not None and 400 <= seen.exchange.status < 500
    about = "reasoning" in (seen.exchange.error or "")
    if refused and about and not seen.profile.history:
        yield seen.found("history_contract", "status", "a turn without its reasoning was refused")
    elif seen.exchange.answered and seen.profile.history:
        yield seen.found("history_contract", "status", "a turn without its reasoning was taken")
