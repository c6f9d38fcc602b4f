"""Reads the lines and whole answers of Ollama's native API, chat and generate alike."""

from collections.abc import Mapping
from typing import Any

from monitor.wire.delta import Delta
from monitor.wire.error_body import find_error
from monitor.wire.single import SingleAnswer
from monitor.wire.tool_calls import CallDelta, read_call

_COUNTS = (
    "prompt_eval_count", "eval_count", "total_duration", "load_duration", "prompt_eval_duration", "eval_duration",
)  # fmt: skip
"""What stands beside the last piece; durations in ns, by the server's own clock."""


_GENERATED = (("response", "content"), ("thinking", "thinking"))
"""What generate calls the parts of a message."""

_PLAIN = {"role", "content"}


class OllamaAnswer(SingleAnswer):
    """An answer whose pieces are whole objects of the same shape as the answer itself."""

    def take_event(self, value: Mapping[str, Any], name: str | None, at_ns: int) -> None:
        """Take one line."""
        del name
        if "message" in value or "response" in value or "done" in value:
            self._piece(value, at_ns)
        else:
            self.ignored_events += 1

    def take_whole(self, value: Mapping[str, Any]) -> None:
        """Take an answer that was not streamed. ``message`` is part of it, and no sign of an error."""
        if value.get("error") or not ("done" in value or "response" in value):
            self.error = find_error(value)
        else:
            self._piece(value, None)

    def _piece(self, value: Mapping[str, Any], at_ns: int | None) -> None:
        if (model := value.get("model")) is not None and (type(model) is not str or model not in self.models):
            self._read_names(value)
        message = self.part(value, "message") or {name: value[key] for key, name in _GENERATED if key in value}
        if message.keys() <= _PLAIN and "logprobs" not in value:  # nearly all pieces
            self.take_text(self.text(message, "content"), at_ns)
        else:
            self._rich_piece(message, value.get("logprobs"), at_ns)
        if value.get("done") is True:
            self._last(value, at_ns)

    def _rich_piece(self, message: Mapping[str, Any], logprobs: Any, at_ns: int | None) -> None:
        n_entries = self.state.add_logprobs({"content": logprobs}) if logprobs else 0
        thought = self.text(message, "thinking")
        if thought:
            self.flags["reasoning_field:thinking"] = None
        calls = tuple(call for entry in self.parts(message, "tool_calls") if (call := self._call(entry)) is not None)
        delta = Delta(self.text(message, "content"), thought, calls)
        self.take(delta, at_ns, n_entries, whole_calls=True)  # each call comes whole in one piece

    def _call(self, entry: Mapping[str, Any]) -> CallDelta | None:
        noted: dict[str, None] = {}
        call = read_call(entry, noted)
        noted.pop("arguments_object", None)  # this protocol's own form
        self.flags.update(noted)
        return call

    def _last(self, value: Mapping[str, Any], at_ns: int | None) -> None:
        """Take the end. Calls are no reason to stop in this protocol's words, but they are in the record's."""
        self.state.add_finish(value.get("done_reason"))
        if self.state.finish == "stop" and self.state.calls.slots:
            self.state.finish = "tool_calls"
        self.merge_usage({name: value[name] for name in _COUNTS if value.get(name) is not None} or None)
        self.end(at_ns)
