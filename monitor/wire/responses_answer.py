"""Reads the events and whole answers of OpenAI's Responses API.

The same text may come in pieces, again in the event that ends its part, in the one that ends its item, and in the copy
of the whole answer at the end. Whatever comes first counts, place by place; what came in no piece is filled in from
the later copies.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from monitor.wire.delta import Delta
from monitor.wire.error_body import find_error
from monitor.wire.single import SingleAnswer, number
from monitor.wire.tool_calls import CallDelta

_LAST = frozenset({"response.completed", "response.incomplete", "response.failed", "response.cancelled"})
_HEADS = frozenset({"response.created", "response.in_progress", "response.queued"})
_SILENT = frozenset({
    "response.content_part.added", "response.reasoning_part.added", "response.reasoning_summary_part.added",
    "response.output_text.annotation.added",
})  # fmt: skip
_PIECES = {
    "response.output_text.delta": "text",
    "response.refusal.delta": "refusal",
    "response.reasoning_text.delta": "reasoning_text",
    "response.reasoning_summary_text.delta": "reasoning_summary",
}
_WHOLES = {
    "response.output_text.done": ("text", "text"),
    "response.refusal.done": ("refusal", "refusal"),
    "response.reasoning_text.done": ("reasoning_text", "text"),
    "response.reasoning_summary_text.done": ("reasoning_summary", "text"),
}
"""Channel, and the field that holds the text."""

_PARTS = {
    "response.content_part.done": "text",
    "response.reasoning_part.done": "reasoning_text",
    "response.reasoning_summary_part.done": "reasoning_summary",
}
"""Channel of a part that does not say its own type."""

_TYPES = {"output_text": "text", "refusal": "refusal", "reasoning_text": "reasoning_text",
          "summary_text": "reasoning_summary"}  # fmt: skip
_VISIBLE = ("text", "refusal")


class _Place(NamedTuple):
    """Where a text belongs: channel, number of the item, number of the part (None where the event does not say)."""

    channel: str
    item: int | None
    part: int | None


@dataclass(slots=True)
class ResponsesAnswer(SingleAnswer):
    """An answer made of output items.

    ``heard`` holds the pieces of text by place, ``scored`` the places whose logprobs came, ``called`` the ids of the
    calls by item, ``argued`` the items whose arguments came.
    """

    heard: dict[_Place, list[str]] = field(default_factory=dict)
    scored: set[_Place] = field(default_factory=set)
    called: dict[int | None, str] = field(default_factory=dict)
    argued: set[int | None] = field(default_factory=set)

    def take_event(self, value: Mapping[str, Any], name: str | None, at_ns: int) -> None:
        """Take one event, by its own type first."""
        kind = value.get("type", name)
        kind = kind if isinstance(kind, str) else None
        if kind in _PIECES:
            self._piece(_place(_PIECES[kind], value), self.text(value, "delta"), value.get("logprobs"), at_ns)
        elif kind in {"response.output_item.added", "response.output_item.done"}:
            self._item(self.part(value, "item"), number(value, "output_index"), at_ns)
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
            self._output(value, None)
            self._finish(value)

    def _rarer_event(self, kind: str | None, value: Mapping[str, Any], at_ns: int) -> None:
        index = number(value, "output_index")
        if kind == "response.function_call_arguments.delta":
            self._arguments(index, self.text(value, "delta"), at_ns)
        elif kind == "response.function_call_arguments.done":
            if index not in self.argued:
                self._arguments(index, self.text(value, "arguments"), at_ns)
        elif kind in _WHOLES:
            channel, text = _WHOLES[kind]
            self._fill(_place(channel, value), self.text(value, text), value.get("logprobs"), at_ns)
        elif kind in _PARTS:
            part = self.part(value, "part")
            self._part(_place(self._channel(part, _PARTS[kind]), value), part, at_ns)
        elif kind not in _SILENT:
            self.ignored_events += 1

    def _piece(self, place: _Place, text: str, logprobs: Any, at_ns: int | None) -> None:
        """Take text where it belongs."""
        if text:
            self.heard.setdefault(place, []).append(text)
        n_entries = self._logprobs(place, logprobs)
        if place.channel in _VISIBLE:
            if place.channel == "refusal":
                self.flags["refusal"] = None
            self.take(Delta(text), at_ns, n_entries)
        elif place.channel == "reasoning_summary" and "reasoning_field:reasoning_text" in self.flags:
            self.flags["reasoning_summary_too"] = None  # of what was already said in full
        else:
            self.take_reasoning(text, place.channel, at_ns)

    def _logprobs(self, place: _Place, logprobs: Any) -> int:
        if not logprobs:
            return 0
        self.scored.add(place)
        return self.state.add_logprobs({"content": logprobs})

    def _fill(self, place: _Place, text: str, logprobs: Any, at_ns: int | None) -> None:
        """Take a text that is whole, and its logprobs, as far as they did not come before."""
        unplaced = _Place(place.channel, None, None)
        if place in self.heard or unplaced in self.heard:
            if place not in self.scored and unplaced not in self.scored:
                self._logprobs(place, logprobs)
        elif text:
            self._piece(place, text, logprobs, at_ns)

    def _part(self, place: _Place, part: Mapping[str, Any], at_ns: int | None) -> None:
        self._fill(place, self._said(part), part.get("logprobs"), at_ns)

    def _channel(self, part: Mapping[str, Any], usual: str) -> str:
        kind = part.get("type")
        return _TYPES.get(kind, usual) if isinstance(kind, str) else usual

    def _arguments(self, index: int | None, piece: str, at_ns: int | None) -> None:
        self.argued.add(index)
        self.take(Delta(calls=(CallDelta(index, "", "", piece),)), at_ns)

    def _item(self, item: Mapping[str, Any], index: int | None, at_ns: int | None) -> None:
        """Take an item: its start, which is mostly empty but names a call, its end, or one of a whole answer."""
        kind = item.get("type")
        if kind == "function_call":
            self._call(item, index, at_ns)
        elif kind == "reasoning":
            self._parts_of(item, "content", "reasoning_text", index, at_ns)
            self._parts_of(item, "summary", "reasoning_summary", index, at_ns)
            if item.get("encrypted_content"):
                self.flags["encrypted_reasoning"] = None
        elif kind == "message":
            self._parts_of(item, "content", "text", index, at_ns)
        else:
            self.flags["unknown_part"] = None

    def _parts_of(self, item: Mapping[str, Any], name: str, usual: str, index: int | None, at_ns: int | None) -> None:
        for at, part in enumerate(self.parts(item, name)):
            self._part(_Place(self._channel(part, usual), index, at), part, at_ns)

    def _call(self, item: Mapping[str, Any], index: int | None, at_ns: int | None) -> None:
        call_id, arguments = self.text(item, "call_id"), self.text(item, "arguments")
        known = index in self.called and (not call_id or self.called[index] in {"", call_id})
        if not known:
            call = CallDelta(index, call_id, self.text(item, "name"), arguments)
            self.take(Delta(calls=(call,)), at_ns, whole_calls=index in self.called)
            self.called[index] = call_id
            if arguments:
                self.argued.add(index)
        elif arguments and index not in self.argued:
            self._arguments(index, arguments, at_ns)

    def _last(self, response: Mapping[str, Any], at_ns: int) -> None:
        """Take the final event. Of its copy of the answer, what did not come before; a copy that differs is flagged."""
        self._read_names(response)
        if response.get("error"):
            self.error = self.error or find_error(response)
        if not self.done:
            streamed = self.state.has_delta_text
            self._recognise(response)
            self._output(response, at_ns if streamed else None)
            if streamed and self._visible(response) not in {"", "".join(self.state.content)}:
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

    def _output(self, response: Mapping[str, Any], at_ns: int | None) -> None:
        for index, item in enumerate(self.parts(response, "output")):
            self._item(item, index, at_ns)

    def _recognise(self, response: Mapping[str, Any]) -> None:
        """Note what the copy at the end repeats under another number: not all servers count their items alike."""
        known = {(place.channel, "".join(pieces)) for place, pieces in self.heard.items()}
        scored = {place.channel for place in self.scored}
        as_streamed = self._visible(response) == "".join(self.state.content)
        ids = set(self.called.values()) - {""}
        for index, item in enumerate(self.parts(response, "output")):
            call_id = self.text(item, "call_id")
            if call_id in ids and self.called.get(index) != call_id:
                self.called[index] = call_id
                self.argued.add(index)
            for at, part in enumerate(self.parts(item, "content")):
                channel = self._channel(part, "reasoning_text" if item.get("type") == "reasoning" else "text")
                if (channel in _VISIBLE and as_streamed) or (channel, self._said(part)) in known:
                    place = _Place(channel, index, at)
                    self.heard.setdefault(place, [])
                    if channel in scored:
                        self.scored.add(place)
            for at, part in enumerate(self.parts(item, "summary")):
                if ("reasoning_summary", self._said(part)) in known:
                    self.heard.setdefault(_Place("reasoning_summary", index, at), [])

    def _said(self, part: Mapping[str, Any]) -> str:
        return self.text(part, "text") or self.text(part, "refusal")

    def _visible(self, response: Mapping[str, Any]) -> str:
        items = [item for item in self.parts(response, "output") if item.get("type") == "message"]
        return "".join(self._said(part) for item in items for part in self.parts(item, "content"))


def _place(channel: str, value: Mapping[str, Any]) -> _Place:
    """Where the event `value` puts a text of `channel`."""
    part = number(value, "content_index")
    return _Place(channel, number(value, "output_index"), number(value, "summary_index") if part is None else part)
