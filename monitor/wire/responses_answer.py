"""Reads the events and whole answers of OpenAI's Responses API."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from monitor.wire.delta import Delta
from monitor.wire.error_body import find_error
from monitor.wire.single import SingleAnswer, number
from monitor.wire.tool_calls import CallDelta

_LAST = frozenset({"response.completed", "response.incomplete", "response.failed", "response.cancelled"})
_HEADS = frozenset({"response.created", "response.in_progress", "response.queued"})
_SILENT = frozenset({
    "response.content_part.added", "response.content_part.done", "response.refusal.done",
    "response.reasoning_text.done", "response.reasoning_part.added", "response.reasoning_part.done",
    "response.reasoning_summary_part.added", "response.reasoning_summary_part.done",
    "response.reasoning_summary_text.done", "response.output_text.annotation.added",
})  # fmt: skip
_REASONING = {
    "response.reasoning_text.delta": "reasoning_text",
    "response.reasoning_summary_text.delta": "reasoning_summary",
}


@dataclass(slots=True)
class ResponsesAnswer(SingleAnswer):
    """An answer made of output items. ``written`` are the (item, part) numbers whose text came in pieces."""

    written: set[tuple[int | None, int | None]] = field(default_factory=set)
    called: set[int | None] = field(default_factory=set)

    def take_event(self, value: Mapping[str, Any], name: str | None, at_ns: int) -> None:
        """Take one event, by its own type first."""
        kind = value.get("type", name)
        if kind == "response.output_text.delta":
            self._text_piece(value, self.text(value, "delta"), at_ns)
        elif kind in _REASONING:
            self._reasoning(self.text(value, "delta"), _REASONING[kind], at_ns)
        elif kind in {"response.output_item.added", "response.output_item.done"}:
            self._item_event(self.part(value, "item"), number(value, "output_index"), at_ns)
        elif kind in _LAST:
            self._last(self.part(value, "response"), at_ns)
        elif kind in _HEADS:
            self._read_names(self.part(value, "response"))
        else:
            self._rarer_event(kind, value, at_ns)

    def take_whole(self, value: Mapping[str, Any]) -> None:
        """Take a response that was not streamed."""
        self.error = find_error(value)
        if "output" in value or "status" in value:
            self._read_names(value)
            self._output(value)
            self._finish(value)

    def _rarer_event(self, kind: Any, value: Mapping[str, Any], at_ns: int) -> None:
        index = number(value, "output_index")
        if kind == "response.function_call_arguments.delta":
            self._arguments(index, self.text(value, "delta"), at_ns)
        elif kind == "response.function_call_arguments.done":
            if (index, None) not in self.written:
                self._arguments(index, self.text(value, "arguments"), at_ns)
        elif kind == "response.output_text.done":
            if (index, number(value, "content_index")) not in self.written:
                self._text_piece(value, self.text(value, "text"), at_ns)
        elif kind == "response.refusal.delta":
            self.flags["refusal"] = None
            self.take(Delta(self.text(value, "delta")), at_ns)
        elif kind not in _SILENT:
            self.ignored_events += 1

    def _text_piece(self, value: Mapping[str, Any], text: str, at_ns: int) -> None:
        n_entries = 0
        if value.get("logprobs"):
            n_entries = self.state.add_logprobs({"content": value["logprobs"]})
        self.written.add((number(value, "output_index"), number(value, "content_index")))
        self.take(Delta(text), at_ns, n_entries)

    def _arguments(self, index: int | None, piece: str, at_ns: int) -> None:
        self.written.add((index, None))
        self.take(Delta(calls=(CallDelta(index, "", "", piece),)), at_ns)

    def _reasoning(self, text: str, where: str, at_ns: int | None) -> None:
        """Take reasoning; a summary of what was already said in full is left out."""
        if where == "reasoning_summary" and "reasoning_field:reasoning_text" in self.flags:
            self.flags["reasoning_summary_too"] = None
        else:
            self.take_reasoning(text, where, at_ns)

    def _item_event(self, item: Mapping[str, Any], index: int | None, at_ns: int) -> None:
        """Take the start or the end of an item: a call's name stands here, the rest comes in events of its own."""
        if item.get("type") == "function_call":
            if index not in self.called:
                self.called.add(index)
                call = self._call(item, index)
                if call.arguments:
                    self.written.add((index, None))
                self.take(Delta(calls=(call,)), at_ns)
        elif item.get("type") == "reasoning":
            if item.get("encrypted_content"):
                self.flags["encrypted_reasoning"] = None
        elif item.get("type") != "message":
            self.flags["unknown_part"] = None

    def _call(self, item: Mapping[str, Any], index: int | None) -> CallDelta:
        return CallDelta(index, self.text(item, "call_id"), self.text(item, "name"), self.text(item, "arguments"))

    def _last(self, response: Mapping[str, Any], at_ns: int) -> None:
        """Take the final event. Its copy of the answer counts only when nothing was streamed, else it is compared."""
        self._read_names(response)
        if response.get("error"):
            self.error = self.error or find_error(response)
        if not self.state.has_delta_text:
            self._output(response)
        elif self._visible(response) not in {"", "".join(self.state.content)}:
            self.flags["message_differs"] = None
        self._finish(response)
        self.end(at_ns)

    def _finish(self, response: Mapping[str, Any]) -> None:
        """Take status and usage. A completed answer with calls ended for them, though the status does not say so."""
        self.merge_usage(response.get("usage"))
        status = self.text(response, "status")
        if status == "incomplete":
            self.state.add_finish(self.text(self.part(response, "incomplete_details"), "reason") or status)
        elif status and status not in {"in_progress", "queued"}:
            self.state.add_finish(status)
        if status == "completed" and self.state.calls.slots:
            self.state.finish = "tool_calls"

    def _output(self, response: Mapping[str, Any]) -> None:
        for item in self.parts(response, "output"):
            kind = item.get("type")
            if kind == "message":
                self._message(item)
            elif kind == "function_call":
                self.take(Delta(calls=(self._call(item, None),)), None)
            elif kind == "reasoning":
                self._reasoning_item(item)
            else:
                self.flags["unknown_part"] = None

    def _message(self, item: Mapping[str, Any]) -> None:
        for part in self.parts(item, "content"):
            if part.get("type") == "refusal":
                self.flags["refusal"] = None
            if part.get("logprobs"):
                self.state.add_logprobs({"content": part["logprobs"]})
            self.take(Delta(self.text(part, "text") or self.text(part, "refusal")), None)

    def _reasoning_item(self, item: Mapping[str, Any]) -> None:
        for name, where in (("content", "reasoning_text"), ("summary", "reasoning_summary")):
            for part in self.parts(item, name):
                self._reasoning(self.text(part, "text"), where, None)
        if item.get("encrypted_content"):
            self.flags["encrypted_reasoning"] = None

    def _visible(self, response: Mapping[str, Any]) -> str:
        items = [item for item in self.parts(response, "output") if item.get("type") == "message"]
        parts = [part for item in items for part in self.parts(item, "content")]
        return "".join(self.text(part, "text") or self.text(part, "refusal") for part in parts)
