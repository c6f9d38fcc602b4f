"""What the protocols with one choice per answer share: each event is one object that says what it is."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from monitor.wire.chat_state import Answer
from monitor.wire.choice_state import ChoiceState
from monitor.wire.delta import Delta
from monitor.wire.error_body import find_error, plain_error
from monitor.wire.sse import Event
from monitor.wire.usage import completion_count, is_shallow


class SingleAnswer(Answer, ABC):
    """An answer with one choice. Subclasses take events in `take_event` and whole answers in `take_whole`."""

    @abstractmethod
    def take_event(self, value: Mapping[str, Any], name: str | None, at_ns: int) -> None:
        """Take one event that is no error; `name` is that of the event, if it had one."""

    @abstractmethod
    def take_whole(self, value: Mapping[str, Any]) -> None:
        """Take an answer that came as one JSON object."""

    def _read_object(self, event: Event, value: dict[str, Any]) -> None:
        if value.get("type") == "error" or event.name == "error" or value.get("error"):
            self.error = self.error or find_error(value) or find_error({"error": value}) or plain_error(event.data)
            return
        if self.done:
            self.flags["events_after_done"] = None
        self.take_event(value, event.name, event.at_ns)

    def read_whole(self, value: Mapping[str, Any]) -> None:
        """Read an answer that came as one JSON object."""
        self.take_whole(value)

    @property
    def state(self) -> ChoiceState:
        """The one choice, opened when first asked for."""
        found = self.choices.get(0)
        if found is None:
            found = self.choices[0] = ChoiceState(0, self.flags)
        return found

    def take(self, delta: Delta, at_ns: int | None, n_tokens: int = 0, *, whole_calls: bool = False) -> None:
        """Add what an event carries; None for `at_ns` where it came with a whole answer. `n_tokens` 0: not known.

        `whole_calls` says that none of its calls continues an earlier one.
        """
        self.state.add(delta, at_ns, whole=whole_calls or at_ns is None)
        if at_ns is not None and delta.is_token:
            self._count(at_ns, n_tokens)

    def take_text(self, text: str, at_ns: int | None) -> None:
        """Add visible text: what `take` does for nearly all events, at less cost."""
        if text:
            self.state.add_content(text, at_ns)
            if at_ns is not None:
                self._count(at_ns, 0)

    def _count(self, at_ns: int, n_tokens: int) -> None:
        """Note a token event."""
        if self.ttft_ns is None:
            self.ttft_ns = at_ns
            self.first_tokens = n_tokens or None
        self.last_token_ns = at_ns
        self.token_events += 1

    def take_reasoning(self, text: str, where: str, at_ns: int | None) -> None:
        """Add reasoning, and note the field or part that it came in."""
        if text:
            self.flags[f"reasoning_field:{where}"] = None
        self.take(Delta(reasoning=text), at_ns)

    def end(self, at_ns: int | None) -> None:
        """Note the end marker of the protocol; None for a whole answer, which has none."""
        if at_ns is not None and not self.done:
            self.done, self.done_ns = True, at_ns

    def part(self, value: Mapping[str, Any], name: str) -> Mapping[str, Any]:
        """The object under `name`, or an empty one; anything else but null is flagged."""
        inner = value.get(name)
        if isinstance(inner, dict):
            return inner
        if inner is not None:
            self.flags[f"odd_type:{name}"] = None
        return {}

    def parts(self, value: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
        """The objects in the list under `name`; anything else but null is flagged."""
        listed = value.get(name)
        kept: list[Mapping[str, Any]] = []
        if isinstance(listed, list):
            kept.extend(item for item in listed if isinstance(item, dict))
        if listed is not None and (not isinstance(listed, list) or len(kept) < len(listed)):
            self.flags[f"odd_type:{name}"] = None
        return kept

    def text(self, value: Mapping[str, Any], name: str) -> str:
        """The text under `name`, whole, or ""; anything else but null is flagged."""
        text = value.get(name)
        if text is None or isinstance(text, str):
            return text or ""
        self.flags[f"odd_type:{name}"] = None
        return ""

    def merge_usage(self, raw: Any) -> None:
        """Add what `raw` reports to what is known; a null reports nothing."""
        if raw is None:
            return
        if not isinstance(raw, dict) or not is_shallow(raw):
            self.flags["odd_type:usage"] = None
            return
        merged = {**(self.usage or {}), **{key: value for key, value in raw.items() if value is not None}}
        if not is_shallow(merged):
            self.flags["odd_type:usage"] = None
            return
        before, now = completion_count(self.usage or {}), completion_count(merged)
        self.usage = merged
        if before is not None and now is not None and now < before:
            self.flags["usage_not_monotone"] = None


def number(value: Mapping[str, Any], name: str) -> int | None:
    """The whole number under `name`, else None."""
    found = value.get(name)
    return found if type(found) is int else None
