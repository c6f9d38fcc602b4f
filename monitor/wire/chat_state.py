"""A chat answer while its events come in: one mutable record, filled field by field and never by early exit."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from monitor.wire.bounds import MAX_CHOICES, MAX_NAMES, NAME_CHARS
from monitor.wire.choice_state import ChoiceState
from monitor.wire.error_body import ErrorBody, find_error, plain_error
from monitor.wire.lenient import NotJsonError, loads
from monitor.wire.repeats import Repeats, same, spoken_by
from monitor.wire.sse import Event, Framing
from monitor.wire.usage import completion_count, is_shallow

_ABSENT = object()
_FIELD_CHARS = 40

Reader = Callable[..., "Answer"]
"""Makes an empty `Answer` of a protocol, told whether it is ``streamed``."""

Told = Callable[["Answer", Event], None]
"""Hears of an event and of the answer with it."""


@dataclass(slots=True)
class Answer:
    """What has been read so far. Stamps are of the reads that completed the events; None where nothing was seen.

    ``first_tokens`` is the number of tokens in the first token event, if the endpoint said so. ``cut_tail`` says that
    the body ended within an event. ``told`` hears of every event of a stream once it is read.
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
    told: Told | None = None
    _billed: float | None = None
    _rest: dict[str, Any] | None = None
    _repeats: Repeats = field(default_factory=Repeats)

    def read_stream(self, framing: Framing) -> None:
        """Read all events of a stream."""
        whole = len(framing.events) - framing.unterminated
        for event in framing.events[:whole]:
            self._read_event(event)
            if self.told is not None:
                self.told(self, event)
        for event in framing.events[whole:]:
            self.flags["unterminated_final_event"] = None
            self._read_event(event, unfinished=True)
            if self.told is not None:
                self.told(self, event)

    def _read_event(self, event: Event, *, unfinished: bool = False) -> None:
        at_ns, name, data = event
        if name is None and self._repeats.take(data, at_ns):
            self.last_token_ns = at_ns
            self.token_events += 1
            return
        try:
            value = orjson.loads(data)
        except orjson.JSONDecodeError:
            value = self._read_odd(event, data.strip(), unfinished=unfinished)
            if value is _ABSENT:
                return
        if self.first_event_ns is None:
            self.first_event_ns = at_ns
        if not isinstance(value, dict):
            self.ignored_events += 1
            self.flags["odd_type:event"] = None
            return
        self._read_object(event, value)

    def _read_object(self, event: Event, value: dict[str, Any]) -> None:
        at_ns, name, data = event
        choices, usage = value.pop("choices", _ABSENT), value.pop("usage", _ABSENT)
        # What stands beside them is the same in nearly all events, so it is read only when it changes.
        known = name is None and choices is not _ABSENT and same(value, self._rest)
        if not known and not self._read_rest(event, value, choices, usage):
            return
        if self.done:
            self.flags["events_after_done"] = None
        if usage is not _ABSENT and usage is not None:
            self._read_usage(usage)
        if choices is not _ABSENT:
            self._read_choices(choices, usage, at_ns)
        if known and not self.done and spoken_by(choices) is not None:
            self._repeats.learn(data, self._opened(choices[0]["index"]), self._read_usage)

    def _read_odd(self, event: Event, data: bytes, *, unfinished: bool) -> Any:
        """Take data that are no strict JSON: the end marker, nothing, a comment, or JSON with something to forgive."""
        if data == b"[DONE]":
            self.done = True
            self._repeats = Repeats()  # what comes now is flagged
            if self.done_ns is None:
                self.done_ns = event.at_ns
        elif not data or data.startswith(b":"):
            self.ignored_events += 1
            if data:
                self.flags["rewrapped_comment"] = None
        else:
            return self._read_lenient(event, data, unfinished=unfinished)
        return _ABSENT

    def _read_lenient(self, event: Event, data: bytes, *, unfinished: bool) -> Any:
        try:
            value, forgiven = loads(data)
        except NotJsonError:
            self.parse_errors += 1
            self.cut_tail = unfinished
            if event.name == "error" and self.error is None:
                self.error = plain_error(data)
            return _ABSENT
        for flag in forgiven:
            self.flags[flag] = None
        return value

    def _read_rest(self, event: Event, value: dict[str, Any], choices: Any, usage: Any) -> bool:
        """Take what stands beside choices and usage; return whether the event is about the answer at all."""
        named = value.get("object") == "error" or value.get("type") == "error" or event.name == "error"
        failed = bool(named or value.get("error"))
        if failed and self.error is None:
            whole = value if choices is _ABSENT else value | {"choices": choices}
            self.error = find_error(whole) or find_error({"error": whole}) or plain_error(event.data)
        if not failed and choices is _ABSENT and usage is _ABSENT:
            self.ignored_events += 1
            return False
        self._rest = None if failed else value
        self._read_names(value)
        if not isinstance(usage, dict):
            self._read_stray_usage(value)
        return True

    def _read_stray_usage(self, value: Mapping[str, Any]) -> None:
        """Take usage out of a vendor's own object, such as ``x_groq``, while there is none in its place."""
        for name, inner in value.items() if self.usage is None else ():
            if isinstance(inner, dict) and isinstance(inner.get("usage"), dict):
                self.flags[f"usage_in:{name[:_FIELD_CHARS]}"] = None
                self._read_usage(inner["usage"])

    def _read_stray_parts(self, raw: Mapping[str, Any], beside: Any) -> None:
        """Take error and usage out of a choice; usage only when there is none `beside` the choices."""
        if (error := raw.get("error")) and self.error is None:
            self.error = find_error({"error": error})
        if (usage := raw.get("usage")) is not None and not isinstance(beside, dict):
            self.flags["usage_in_choice"] = None
            self._read_usage(usage)

    def read_whole(self, value: Mapping[str, Any]) -> None:
        """Read an answer that came as one JSON object."""
        self.error = find_error(value)
        self._read_names(value)
        if (usage := value.get("usage")) is not None:
            self._read_usage(usage)
        self._read_stray_usage(value)
        for raw in self._listed(value.get("choices")):
            state = self._opened(raw.get("index"))
            self._read_stray_parts(raw, usage)
            state.add_message(raw.get("message", raw.get("delta")))
            state.add_finish(raw.get("finish_reason"))
            state.add_logprobs(raw.get("logprobs"))

    def _read_names(self, value: Mapping[str, Any]) -> None:
        """Take model, provider, fingerprint and id."""
        for seen, name in ((self.models, "model"), (self.providers, "provider")):
            if (text := self._text(value, name)) is not None and len(seen) < MAX_NAMES:
                seen[text] = None
        self.response_id = self.response_id or self._text(value, "id")
        fingerprint = self._text(value, "system_fingerprint")
        if self.fingerprint and fingerprint and fingerprint != self.fingerprint:
            self.flags["fingerprint_changed"] = None
        self.fingerprint = self.fingerprint or fingerprint

    def _text(self, value: Mapping[str, Any], name: str) -> str | None:
        """The name under `name`, as long as any real one."""
        text = value.get(name)
        if text is not None and not isinstance(text, str):
            self.flags[f"odd_type:{name}"] = None
            return None
        return text[:NAME_CHARS] if text else None

    def _read_usage(self, usage: Any) -> None:
        """Keep the last usage that is not null; counts are cumulative, never added."""
        if not isinstance(usage, dict) or not is_shallow(usage):
            self.flags["odd_type:usage"] = None
            return
        before, now = self._billed, completion_count(usage)
        if before is not None and now is not None and now < before:
            self.flags["usage_not_monotone"] = None
        self.usage, self._billed = usage, now

    def _read_choices(self, choices: Any, usage: Any, at_ns: int) -> None:
        token, n_entries = False, 0
        for raw in self._listed(choices):
            index = raw.get("index")
            state = self.choices.get(index) if type(index) is int else None
            if state is None:
                state = self._opened(index)
            delta = raw.get("delta")
            if delta is not None or "delta" in raw or "message" not in raw:
                token |= state.add_delta(delta, at_ns)
            if (message := raw.get("message")) is not None:
                state.message = message if isinstance(message, dict) else state.message
            if (finish := raw.get("finish_reason")) is not None:
                state.add_finish(finish)
            if (logprobs := raw.get("logprobs")) is not None:
                n_entries += state.add_logprobs(logprobs)
            if "usage" in raw or "error" in raw:
                self._read_stray_parts(raw, usage)
        if not token:
            return
        if self.ttft_ns is None:
            self.ttft_ns = at_ns
            reported = completion_count(usage) if isinstance(usage, dict) else None
            self.first_tokens = reported or n_entries or None
        self.last_token_ns = at_ns
        self.token_events += 1

    def _listed(self, choices: Any) -> list[dict[str, Any]]:
        """The choices that are objects; anything else is flagged."""
        if not isinstance(choices, list):
            if choices is not None:
                self.flags["odd_type:choices"] = None
            return []
        for item in choices:
            if not isinstance(item, dict):
                self.flags["odd_type:choices"] = None
                return [item for item in choices if isinstance(item, dict)]
        return choices

    def _opened(self, index: Any) -> ChoiceState:
        """The state of the choice of this index (0 if it is none), new if need be."""
        if type(index) is not int:
            self.flags["missing_choice_index"] = None
            index = 0
        state = self.choices.get(index)
        if state is None:
            state = ChoiceState(index, self.flags)
            if len(self.choices) >= MAX_CHOICES:
                self.flags["too_many_choices"] = None
                return state  # and forgotten
            self.choices[index] = state
        return state
