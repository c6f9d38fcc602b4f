"""Reads the events and whole answers of Anthropic's Messages API."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from monitor.wire.delta import Delta
from monitor.wire.error_body import find_error
from monitor.wire.single import SingleAnswer, number
from monitor.wire.sse import Framing
from monitor.wire.tool_calls import CallDelta, read_call

_SILENT = frozenset({"signature_delta", "citations_delta"})


@dataclass(slots=True)
class MessagesAnswer(SingleAnswer):
    """An answer made of content blocks. ``given`` holds the input of calls that came with their start."""

    given: dict[int | None, CallDelta] = field(default_factory=dict)

    def read_stream(self, framing: Framing) -> None:
        """Read all events. Of a stream that ends without a word, inputs that came with a start and say something."""
        SingleAnswer.read_stream(self, framing)
        for index, call in tuple(self.given.items()):
            if call.arguments not in {"", "{}"}:
                self._block_end(index)

    def take_event(self, value: Mapping[str, Any], name: str | None, at_ns: int) -> None:
        """Take one event, by its own type first: some servers leave the event's name out."""
        kind = value.get("type", name)
        if kind == "content_block_delta":
            self._block_delta(value, at_ns)
        elif kind == "content_block_start":
            self._block(self.part(value, "content_block"), number(value, "index"), at_ns)
        elif kind == "content_block_stop":
            self._block_end(number(value, "index"))
        elif kind == "message_start":
            self._message_start(self.part(value, "message"), at_ns)
        elif kind == "message_delta":
            self.state.add_finish(reason := self.part(value, "delta").get("stop_reason"))
            self.merge_usage(value.get("usage"))
            if reason:
                self._end_blocks()
        elif kind == "message_stop":
            self._end_blocks()
            self.end(at_ns)
        else:
            self.ignored_events += 1

    def take_whole(self, value: Mapping[str, Any]) -> None:
        """Take a message that was not streamed."""
        self.error = find_error(value)
        if self.error is not None or "content" not in value:
            return
        self._read_names(value)
        for block in self.parts(value, "content"):
            self._block(block, None, None)
        self.state.add_finish(value.get("stop_reason"))
        self.merge_usage(value.get("usage"))

    def _message_start(self, message: Mapping[str, Any], at_ns: int) -> None:
        """Take the head of a stream. Its ``output_tokens`` are those so far, and no count of the answer."""
        self._read_names(message)
        usage = message.get("usage")
        if isinstance(usage, dict):
            usage = {key: count for key, count in usage.items() if key != "output_tokens"}
        self.merge_usage(usage)
        for block in self.parts(message, "content"):
            self._block(block, None, at_ns)

    def _block(self, block: Mapping[str, Any], index: int | None, at_ns: int | None) -> None:
        """Take the start of a block, or a whole one."""
        kind = block.get("type")
        if kind == "text":
            self.take_text(self.text(block, "text"), at_ns)
        elif kind == "thinking":
            self.take_reasoning(self.text(block, "thinking"), "thinking", at_ns)
        elif kind == "tool_use":
            self._call(block, index, at_ns)
        else:
            self.flags["encrypted_reasoning" if kind == "redacted_thinking" else "unknown_part"] = None

    def _call(self, block: Mapping[str, Any], index: int | None, at_ns: int | None) -> None:
        """Take a call. In streams its input follows in pieces, and the one at the start is a placeholder."""
        noted: dict[str, None] = {}
        function = {"name": block.get("name"), "arguments": block.get("input")}
        call = read_call({"index": index, "id": block.get("id"), "function": function}, noted)
        noted.pop("arguments_object", None)  # this protocol's own form
        self.flags.update(noted)
        if call is None:
            return
        if at_ns is not None:
            self._block_end(index)
            self.given[index] = call._replace(id="", name="")
            call = call._replace(arguments="")
        self.take(Delta(calls=(call,)), at_ns)

    def _block_delta(self, value: Mapping[str, Any], at_ns: int) -> None:
        delta = self.part(value, "delta")
        kind = delta.get("type")
        if kind == "text_delta":
            self.take_text(self.text(delta, "text"), at_ns)
        elif kind == "thinking_delta":
            self.take_reasoning(self.text(delta, "thinking"), "thinking", at_ns)
        elif kind == "input_json_delta":
            piece, index = self.text(delta, "partial_json"), number(value, "index")
            if piece:
                self.given.pop(index, None)
            self.take(Delta(calls=(CallDelta(index, "", "", piece),)), at_ns)
        elif kind not in _SILENT:
            self.flags["unknown_part"] = None

    def _end_blocks(self) -> None:
        """End the blocks that did not say so themselves."""
        for index in tuple(self.given):
            self._block_end(index)

    def _block_end(self, index: int | None) -> None:
        """Use the input that came with the start of a call when no piece of it followed."""
        if (call := self.given.pop(index, None)) is not None:
            self.state.add(Delta(calls=(call,)), None, whole=False)
