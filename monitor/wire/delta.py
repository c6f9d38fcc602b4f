"""What one delta (or whole message) carries, per channel. The one place that decides what a token payload is."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from monitor.wire.tool_calls import CallDelta, read_call

_THINKING = frozenset({"thinking", "reasoning"})
_VISIBLE = frozenset({"text", "output_text", "refusal"})


class Delta(NamedTuple):
    """Text per channel and call pieces; empty where the delta is silent."""

    content: str = ""
    reasoning: str = ""
    calls: tuple[CallDelta, ...] = ()

    @property
    def is_token(self) -> bool:
        """Whether anything was generated: non-empty content, reasoning, or a call's name or arguments."""
        return bool(self.content or self.reasoning) or any(call.name or call.arguments for call in self.calls)


def read_delta(raw: Mapping[str, Any], flags: dict[str, None]) -> Delta:
    """Return what `raw` carries. Every field is read on its own; odd types are flagged and left out."""
    content = raw.get("content")
    if len(raw) == 1 and isinstance(content, str):
        return Delta(content)  # nearly all deltas
    reasoning = ""
    if not isinstance(content, str):
        content, reasoning = _parts(content, flags) if content is not None else ("", "")
    refusal = raw.get("refusal")
    if isinstance(refusal, str) and refusal:
        flags["refusal"] = None
        content += refusal
    return Delta(content, _reasoning(raw, flags) or reasoning, _calls(raw, flags))


def _reasoning(raw: Mapping[str, Any], flags: dict[str, None]) -> str:
    """The reasoning text, from the first field that has one: the same words often come in two."""
    for name in ("reasoning_content", "reasoning"):
        text = raw.get(name)
        if text and isinstance(text, str):
            flags[f"reasoning_field:{name}"] = None
            return text
        if text:
            flags[f"odd_type:{name}"] = None
    details = raw.get("reasoning_details")
    return _details(details, flags) if isinstance(details, list) else ""


def _details(details: list[Any], flags: dict[str, None]) -> str:
    texts = []
    for detail in details:
        if not isinstance(detail, dict):
            flags["odd_type:reasoning_details"] = None
        elif isinstance(text := detail.get("text", detail.get("summary")), str):
            texts.append(text)
        elif detail.get("data"):
            flags["encrypted_reasoning"] = None
    joined = "".join(texts)
    if joined:
        flags["reasoning_field:reasoning_details"] = None
    return joined


def _parts(content: Any, flags: dict[str, None]) -> tuple[str, str]:
    """Content as a list of typed parts: visible text and thinking."""
    if not isinstance(content, list):
        flags["odd_type:content"] = None
        return "", ""
    flags["content_parts"] = None
    visible, thinking = [], []
    for part in content:
        kind = part.get("type") if isinstance(part, dict) else None
        if isinstance(kind, str) and kind in _VISIBLE:
            visible.append(_part_text(part, ("text", "refusal")))
        elif isinstance(kind, str) and kind in _THINKING:
            thinking.append(_part_text(part, ("thinking", "reasoning", "text")))
        else:
            flags["unknown_part"] = None
    if any(thinking):
        flags["reasoning_field:content_parts"] = None
    return "".join(visible), "".join(thinking)


def _part_text(part: Mapping[str, Any], names: tuple[str, ...]) -> str:
    """Text of a part: a string, or a list of text parts one level down."""
    for name in names:
        value = part.get(name)
        if isinstance(value, str):
            return value
        if isinstance(value, list):
            inner = [item.get("text") for item in value if isinstance(item, dict)]
            return "".join(text for text in inner if isinstance(text, str))
    return ""


def _calls(raw: Mapping[str, Any], flags: dict[str, None]) -> tuple[CallDelta, ...]:
    listed = raw.get("tool_calls")
    calls: tuple[CallDelta, ...] = ()
    if isinstance(listed, list):
        calls = tuple(call for entry in listed if (call := read_call(entry, flags)) is not None)
    elif listed is not None:
        flags["odd_type:tool_calls"] = None
    legacy = raw.get("function_call")
    if isinstance(legacy, dict) and (call := read_call({"index": 0, "function": legacy}, flags)) is not None:
        flags["legacy_function_call"] = None
        calls += (call,)
    return calls
