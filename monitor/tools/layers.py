"""Which layer a failure belongs to, with the words that show it.

A failure is named once, at the layer that explains it: a call that was left in the text also lacks in ``tool_calls``,
and a stream that was cut also lacks its end.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from monitor.tools.calls import CallVerdict
from monitor.tools.case import Case
from monitor.tools.markup import Textual, call_in_text
from monitor.tools.thinking import is_in_tags, is_leak
from monitor.types import ANSWERED, NOT_THE_ENDPOINTS_FAULT, Exchange
from monitor.wire.usage import read_usage

Layer = Literal["transport", "framing", "protocol", "parser", "template", "schema", "decision", "content", "suite"]
"""From the wire to the meaning. ``suite``: a mistake of the one who asks, never the vendor's."""

LAYERS: tuple[Layer, ...] = get_args(Layer)

_FRAMING_OUTCOMES = frozenset({"non_json_200", "undecodable_encoding"})
_FRAMING_FLAGS = ("invalid_utf8", "nonstandard_json", "stream_ignored", "stream_unasked")
_PROTOCOL_FLAGS = (
    "missing_index", "index_reused", "id_unstable", "name_in_parts", "name_repeated", "name_changed",
    "call_without_name", "arguments_object", "odd_type:tool_calls", "odd_type:function", "odd_type:arguments",
    "odd_type:id", "odd_type:name", "unknown_finish_reason", "several_finish_reasons", "finish_empty_string",
)  # fmt: skip
NOTES = frozenset({"arguments_empty", "dialect_sensitive"})
"""Findings that are reported and count as no failure."""

SHOWN_CHARS = 200
EARLY_SHARE = 0.9
"""An answer that ends by length before this share of the cap ended early."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Symptom:
    """One finding: the layer, its name, and the piece of the answer that shows it (model text: for people only)."""

    layer: Layer
    name: str
    shown: str = ""

    @property
    def is_fault(self) -> bool:
        """Whether it counts against the endpoint."""
        return self.layer != "suite" and self.name not in NOTES


def symptoms(exchange: Exchange, case: Case, calls: Sequence[CallVerdict]) -> tuple[Symptom, ...]:
    """Return all that is wrong with choice 0 of `exchange` as an answer to `case`, in the order of the layers."""
    if exchange.outcome in NOT_THE_ENDPOINTS_FAULT:
        return ()
    if exchange.outcome not in ANSWERED | {"empty", "unconfirmed"}:
        layer: Layer = "framing" if exchange.outcome in _FRAMING_OUTCOMES else "transport"
        return (Symptom(layer=layer, name=exchange.outcome, shown=_excerpt(exchange.error or "")),)
    found = [
        *_framing(exchange), *_protocol(exchange, case), *_parser(exchange, case, calls), *_schema(exchange, calls),
        *_decision(exchange, case, calls), *_content(exchange),
    ]  # fmt: skip
    return tuple(sorted(found, key=lambda one: LAYERS.index(one.layer)))


def ended_by_length(exchange: Exchange) -> bool:
    """Whether a token limit ended the answer, whoever set it, so that what lacks in it has that one cause."""
    return exchange.outcome == "ok_length"


def was_cut(exchange: Exchange) -> bool:
    """Whether the asker's own token limit ended the answer, so that what lacks in it is nobody's fault."""
    return ended_by_length(exchange) and not cut_early(exchange)


def cut_early(exchange: Exchange) -> bool:
    """Whether an answer says that it ended by length, and its own count of tokens is well below what was allowed."""
    counted = read_usage(exchange.usage or {}).generated
    cap = exchange.request.max_tokens if exchange.request else 0
    if not ended_by_length(exchange) or len(exchange.choices) != 1 or not cap:
        return False
    return counted is not None and counted < EARLY_SHARE * cap and not leaves_thought_out(exchange)


def leaves_thought_out(exchange: Exchange) -> bool:
    """Whether the count of tokens may be that of the visible part only, as some have it."""
    return bool(exchange.choice.reasoning) and read_usage(exchange.usage or {}).reasoning is None


def _framing(exchange: Exchange) -> Iterator[Symptom]:
    if exchange.parse_errors:
        yield Symptom(layer="framing", name="unreadable_events", shown=str(exchange.parse_errors))
    for flag in _FRAMING_FLAGS:
        if flag in exchange.flags:
            yield Symptom(layer="framing", name=flag)


def _protocol(exchange: Exchange, case: Case) -> Iterator[Symptom]:
    choice, flags = exchange.choice, exchange.flags
    shown = _excerpt(" ".join(f"{call.id} {call.name} {call.arguments}" for call in choice.tool_calls))
    if exchange.outcome == "unconfirmed":
        yield Symptom(layer="protocol", name="finish_missing", shown=shown)
    if cut_early(exchange):
        yield Symptom(layer="protocol", name="length_before_cap", shown=shown or _excerpt(choice.content))
    for flag in _PROTOCOL_FLAGS:
        if flag in flags:
            yield Symptom(layer="protocol", name=flag, shown=choice.finish_raw or "" if "finish" in flag else shown)
    # A named choice ends in `stop` at OpenAI's own models, in `tool_calls` at newer ones: both are right.
    if choice.tool_calls and choice.finish == "stop" and case.named is None:
        yield Symptom(layer="protocol", name="stop_with_tool_calls", shown=shown)
    if choice.finish == "tool_calls" and not choice.tool_calls and not _leak(exchange, case):
        yield Symptom(layer="protocol", name="tool_calls_without_call", shown=_excerpt(choice.content))
    ids = [call.id for call in choice.tool_calls]
    if None in ids:
        yield Symptom(layer="protocol", name="id_missing", shown=shown)
    if len({one for one in ids if one is not None}) < len([one for one in ids if one is not None]):
        yield Symptom(layer="protocol", name="duplicate_id", shown=" ".join(map(str, ids))[:SHOWN_CHARS])
    if "arguments_empty" in flags:
        yield Symptom(layer="protocol", name="arguments_empty")


def _leak(exchange: Exchange, case: Case) -> Textual | None:
    """The call that was left in the text. Without tools, or with none allowed, text is text."""
    if not case.tools or case.tool_choice == "none":
        return None
    return call_in_text(exchange.choice.content, case.parameters)


def _parser(exchange: Exchange, case: Case, calls: Sequence[CallVerdict]) -> Iterator[Symptom]:
    leak = _leak(exchange, case)
    if leak is not None:
        shown = _excerpt(exchange.choice.content[leak.at :])
        # What the model wrote so that no parser can read it is no fault of the parser; nor is half a call: vLLM leaves
        # in the text what the cap cut, and golden's own calls say whether it is too often (`golden_side`).
        if leak.readable:
            yield Symptom(layer="parser", name="markup_leak", shown=shown)
        elif not ended_by_length(exchange):
            yield Symptom(layer="schema", name="unreadable_call", shown=shown)
    for call in calls:
        if call.glued is not None:
            yield Symptom(layer="parser", name="special_token_in_call", shown=call.glued)
    if "think_orphan_close" in exchange.flags and is_leak(exchange.flags, exchange.choice):
        yield Symptom(layer="parser", name="think_leak", shown="</think>")


def _schema(exchange: Exchange, calls: Sequence[CallVerdict]) -> Iterator[Symptom]:
    cut = ended_by_length(exchange)
    for call, said in zip(calls, exchange.choice.tool_calls, strict=True):
        if call.json_fault is not None and not cut and call.glued is None:
            yield Symptom(layer="schema", name=call.json_fault, shown=_excerpt(said.arguments, call.at))
        schema = call.schema
        if schema is None:
            continue
        if schema.status == "unusable":
            yield Symptom(layer="suite", name="schema_unusable", shown=schema.problem or "")
        elif schema.dialect_sensitive:
            yield Symptom(layer="suite", name="dialect_sensitive", shown=f"draft {schema.draft} against draft 7")
        elif schema.status == "invalid" and not cut:
            place = f"{schema.where}: {_excerpt(said.arguments)}"
            yield Symptom(layer="schema", name=f"schema_{schema.keyword}", shown=place)


def _decision(exchange: Exchange, case: Case, calls: Sequence[CallVerdict]) -> Iterator[Symptom]:
    """What was demanded of the decision and not done; what is merely hoped for is counted elsewhere."""
    names = [call.name for call in calls]
    shown = _excerpt(" ".join(map(str, names)) or exchange.choice.content)
    if case.tools and any(not call.declared and call.glued is None and call.name for call in calls):
        yield Symptom(layer="decision", name="undeclared_tool", shown=shown)
    if case.tool_choice == "none" and calls:
        yield Symptom(layer="decision", name="choice_none_ignored", shown=shown)
    if case.parallel is False and len(calls) > 1:
        yield Symptom(layer="decision", name="parallel_off_ignored", shown=shown)
    if ended_by_length(exchange) or _leak(exchange, case) is not None or exchange.outcome == "empty":
        return
    if case.tool_choice == "required" and not calls:
        yield Symptom(layer="decision", name="choice_required_ignored", shown=shown)
    if case.named is not None and set(names) != {case.named}:
        yield Symptom(layer="decision", name="choice_named_ignored", shown=shown)


def _content(exchange: Exchange) -> Iterator[Symptom]:
    choice = exchange.choice
    if choice.finish == "tool_calls" or ended_by_length(exchange):
        return
    if exchange.outcome == "empty":
        yield Symptom(layer="content", name="empty_billed" if "empty_billed" in exchange.flags else "empty")
    elif choice.reasoning and not choice.content and not choice.tool_calls and not is_in_tags(exchange.flags):
        yield Symptom(layer="content", name="only_reasoning", shown=_excerpt(choice.reasoning))


def _excerpt(text: str, at: int | None = None) -> str:
    """At most `SHOWN_CHARS` characters of `text`, around `at` where a place is known."""
    begin = 0 if at is None else max(0, at - SHOWN_CHARS // 2)
    return text[begin : begin + SHOWN_CHARS]
