"""A chat answer while its events come in: one mutable record, filled field by field and never by early exit."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from monitor.wire.choice_state import ChoiceState
from monitor.wire.error_body import ErrorBody, find_error, plain_error
from monitor.wire.lenient import NotJsonError, loads
from monitor.wire.sse import Event, Framing
from monitor.wire.usage import completion_count, is_shallow


@dataclass(slots=True)
class Answer:
    """What has been read so far. Stamps are of the reads that completed the events; None where nothing was seen.

    ``first_tokens`` is the number of tokens in the first token event, if the endpoint said so. ``cut_tail`` says that
    the body ended within an event.
    """

    streamed: bool
    flags: dict[str, None] = field(default_factory=dict)
    choices: dict[int, ChoiceState] = field(default_factory=dict)
    models: dict[str, None] = field(default_factory=dict)
    providers: dict[str, None] = field(default_factory=dict)
    fingerprint: str | None = None
    response_id: str | None = None
    usage: dict[str, Any] | None = None
    error: ErrorBody | None = None
    first_event_ns: int | None = None
    ttft_ns: int | None = None
    last_token_ns: int | None = None
    done_ns: int | None = None
    done: bool = False
    first_tokens: float | None = None
    token_events: int = 0
    ignored_events: int = 0
    parse_errors: int = 0
    cut_tail: bool = False
    last_named: list[Any] = field(default_factory=list)

    def read_stream(self, framing: Framing) -> None:
        """Read all events of a stream."""
        last = len(framing.events) - 1
        for position, event in enumerate(framing.events):
            unfinished = framing.unterminated and position == last
            if unfinished:
                self.flags["unterminated_final_event"] = None
            self._read_event(event, unfinished=unfinished)

    def _read_event(self, event: Event, *, unfinished: bool) -> None:
        data = event.data.strip()
        if data == b"[DONE]":
            self.done = True
            if self.done_ns is None:
                self.done_ns = event.at_ns
        elif not data or data.startswith(b":"):
            self.ignored_events += 1
            if data:
                self.flags["rewrapped_comment"] = None
        else:
            self._read_json(event, data, unfinished=unfinished)

    def _read_json(self, event: Event, data: bytes, *, unfinished: bool) -> None:
        try:
            value, forgiven = loads(data)
        except NotJsonError:
            self.parse_errors += 1
            self.cut_tail = unfinished
            if event.name == "error" and self.error is None:
                self.error = plain_error(data)
            return
        for flag in forgiven:
            self.flags[flag] = None
        if self.first_event_ns is None:
            self.first_event_ns = event.at_ns
        if isinstance(value, dict):
            self._read_object(event, value)
        else:
            self.ignored_events += 1
            self.flags["odd_type:event"] = None

    def _read_object(self, event: Event, value: dict[str, Any]) -> None:
        named_error = value.get("object") == "error" or value.get("type") == "error" or event.name == "error"
        if named_error or value.get("error"):
            self.error = self.error or find_error(value) or find_error({"error": value}) or plain_error(event.data)
        elif "choices" not in value and "usage" not in value:
            self.ignored_events += 1
            return
        if self.done:
            self.flags["events_after_done"] = None
        self._read_envelope(value)
        self._read_choices(value, event.at_ns)

    def read_whole(self, value: Mapping[str, Any]) -> None:
        """Read an answer that came as one JSON object."""
        self.error = find_error(value)
        self._read_envelope(value)
        for raw in self._listed_choices(value):
            state = self._choice(raw)
            state.add_message(raw.get("message", raw.get("delta")))
            state.add_finish(raw.get("finish_reason"))
            state.add_logprobs(raw.get("logprobs"))

    def _read_envelope(self, value: Mapping[str, Any]) -> None:
        """Take what stands beside the choices: model, provider, fingerprint, id, usage."""
        if (usage := value.get("usage")) is not None:
            self._read_usage(usage)
        named = [value.get("id"), value.get("model"), value.get("provider"), value.get("system_fingerprint")]
        if named == self.last_named:
            return  # nearly all chunks of a stream
        self.last_named = named
        for seen, name in ((self.models, "model"), (self.providers, "provider")):
            if (text := self._text(value, name)) is not None:
                seen[text] = None
        self.response_id = self.response_id or self._text(value, "id")
        fingerprint = self._text(value, "system_fingerprint")
        if self.fingerprint and fingerprint and fingerprint != self.fingerprint:
            self.flags["fingerprint_changed"] = None
        self.fingerprint = self.fingerprint or fingerprint

    def _text(self, value: Mapping[str, Any], name: str) -> str | None:
        text = value.get(name)
        if text is not None and not isinstance(text, str):
            self.flags[f"odd_type:{name}"] = None
            return None
        return text or None

    def _read_usage(self, usage: Any) -> None:
        """Keep the last usage that is not null; counts are cumulative, never added."""
        if not isinstance(usage, dict) or not is_shallow(usage):
            self.flags["odd_type:usage"] = None
            return
        before = completion_count(self.usage) if self.usage else None
        now = completion_count(usage)
        if before is not None and now is not None and now < before:
            self.flags["usage_not_monotone"] = None
        self.usage = usage

    def _read_choices(self, value: Mapping[str, Any], at_ns: int) -> None:
        token, n_entries = False, 0
        for raw in self._listed_choices(value):
            state = self._choice(raw)
            if "delta" in raw or "message" not in raw:
                token |= state.add_delta(raw.get("delta"), at_ns)
            if isinstance(message := raw.get("message"), dict):
                state.message = message
            if (finish := raw.get("finish_reason")) is not None:
                state.add_finish(finish)
            if (logprobs := raw.get("logprobs")) is not None:
                n_entries += state.add_logprobs(logprobs)
        if token:
            self._count_token_event(value, at_ns, n_entries)

    def _count_token_event(self, value: Mapping[str, Any], at_ns: int, n_entries: int) -> None:
        if self.ttft_ns is None:
            self.ttft_ns = at_ns
            usage = value.get("usage")
            reported = completion_count(usage) if isinstance(usage, dict) else None
            self.first_tokens = reported or n_entries or None
        self.last_token_ns = at_ns
        self.token_events += 1

    def _listed_choices(self, value: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The choices that are objects; anything else is flagged."""
        choices = value.get("choices")
        if not isinstance(choices, list):
            if choices is not None:
                self.flags["odd_type:choices"] = None
            return []
        kept = [item for item in choices if isinstance(item, dict)]
        if len(kept) < len(choices):
            self.flags["odd_type:choices"] = None
        return kept

    def _choice(self, raw: Mapping[str, Any]) -> ChoiceState:
        """The state of the choice that `raw` names by its index (0 if it names none)."""
        index = raw.get("index", 0)
        if "index" not in raw or not isinstance(index, int) or isinstance(index, bool):
            self.flags["missing_choice_index"] = None
            index = 0
        state = self.choices.get(index)
        if state is None:
            state = self.choices[index] = ChoiceState(index, self.flags)
        return state
