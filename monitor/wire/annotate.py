"""What each event of an answer contributed: while the events are read, the record is watched."""

from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

from monitor.types import Capture, Exchange
from monitor.wire.asked import asked_for
from monitor.wire.body import Body, read_body
from monitor.wire.chat_state import Answer
from monitor.wire.choice_state import ChoiceState
from monitor.wire.outcome import transport_outcome
from monitor.wire.speaker import Speaker
from monitor.wire.sse import Event
from monitor.wire.timing import since

_WATCHED = 64
"""So many choices, and calls of each, are watched: a hostile answer may open one with every event."""


class Note(NamedTuple):
    """One event. ``at_ms`` is from t0, None without a clock; ``size`` is the bytes of its data.

    ``kind`` is ``token``, ``done``, ``error``, ``finish``, ``usage``, ``ignored``, ``unreadable``, ``whole`` (an answer
    that was not streamed) or ``silent``. ``said`` holds what it added: text per channel, ``calls``, ``finish``,
    ``usage``, ``n_logprobs``, ``error``. ``flags`` were first raised by this event; those that need the whole answer
    are in the record only.
    """

    at_ms: float | None
    kind: str
    name: str | None
    size: int
    said: dict[str, Any]
    flags: tuple[str, ...]


def explained(capture: Capture, speaker: Speaker) -> tuple[Exchange, tuple[Note, ...]]:
    """Return the record of `capture`, and a note on each of its events, in order; none where there was no body to read.

    `speaker` knows the protocol of `capture`.
    """
    found, seen = list[Note](), _Seen()

    def told(answer: Answer, event: Event) -> None:
        kind, said, flags = seen.news(answer)
        found.append(Note(since(capture.t0_ns, event.at_ns), kind, event.name, len(event.data), said, flags))

    exchange = speaker.decode(capture, told=told)
    if exchange.events is not None:
        return exchange, tuple(found)
    if transport_outcome(capture) is not None:
        return exchange, ()
    return exchange, _whole(capture, read_body(capture, asked_for(capture), speaker.reader, ndjson=speaker.ndjson))


def _whole(capture: Capture, body: Body) -> tuple[Note, ...]:
    if not capture.reads or (body.verdict is not None and body.answer.parse_errors == 0):
        return ()
    _, said, flags = _Seen().news(body.answer)
    return (
        Note(
            at_ms=since(capture.t0_ns, capture.reads[-1].at_ns),
            kind="unreadable" if body.answer.parse_errors else "whole",
            name=None,
            size=sum(len(read.data) for read in capture.reads),
            said=said,
            flags=flags,
        ),
    )


@dataclass(slots=True)
class _SeenChoice:
    """How far a choice had come: lengths, and per call id, name and number of pieces."""

    content: int = 0
    reasoning: int = 0
    calls: list[tuple[str, str, int]] = field(default_factory=list)
    message: bool = False
    finish: str | None = None
    logprobs: int = 0

    def news(self, state: ChoiceState) -> dict[str, Any]:
        """Return what `state` holds beyond that, and come as far."""
        added: dict[str, Any] = {}
        if len(state.content) > self.content:
            added["content"] = "".join(state.content[self.content :])
            self.content = len(state.content)
        if len(state.reasoning) > self.reasoning:
            added["reasoning"] = "".join(state.reasoning[self.reasoning :])
            self.reasoning = len(state.reasoning)
        if state.calls.slots and (grown := self._new_calls(state)):
            added["calls"] = grown
        if state.message is not None and not self.message:
            added["message"] = self.message = True
        if state.finish_raw != self.finish:
            added["finish"] = self.finish = state.finish_raw
        if state.logprobs is not None and len(state.logprobs) > self.logprobs:
            added["n_logprobs"] = len(state.logprobs) - self.logprobs
            self.logprobs = len(state.logprobs)
        return added

    def _new_calls(self, state: ChoiceState) -> list[dict[str, Any]]:
        """The calls that grew: their number, id and name where new, and the piece of arguments that came."""
        grown = []
        slots = state.calls.slots[:_WATCHED]
        for number, slot in enumerate(slots):
            call_id, name, parts = self.calls[number] if number < len(self.calls) else ("", "", 0)
            added = {
                "id": slot.id if slot.id != call_id else None,
                "name": slot.name if slot.name != name else None,
                "arguments": "".join(slot.parts[parts:]),
            }
            if any(added.values()):
                grown.append({"call": number} | {key: value for key, value in added.items() if value})
        self.calls = [(slot.id, slot.name, len(slot.parts)) for slot in slots]
        return grown


@dataclass(slots=True)
class _Seen:
    """How far an answer had come."""

    choices: dict[int, _SeenChoice] = field(default_factory=dict)
    usage: dict[str, Any] | None = None
    failed: bool = False
    tokens: int = 0
    ignored: int = 0
    unreadable: int = 0
    done: bool = False
    flags: int = 0

    def news(self, answer: Answer) -> tuple[str, dict[str, Any], tuple[str, ...]]:
        """Return kind, contribution and flags of what `answer` holds beyond that, and come as far."""
        said = self._said(answer)
        kind = self._kind(answer, said)
        self.tokens, self.ignored, self.unreadable = answer.token_events, answer.ignored_events, answer.parse_errors
        self.done = answer.done
        before, self.flags = self.flags, len(answer.flags)
        return kind, said, tuple(answer.flags)[before:] if self.flags > before else ()

    def _said(self, answer: Answer) -> dict[str, Any]:
        """What was said. Keys of further choices end in their index, as in ``content_1``."""
        said: dict[str, Any] = {}
        for index, state in islice(answer.choices.items(), _WATCHED):
            seen = self.choices.get(index)
            if seen is None:
                seen = self.choices[index] = _SeenChoice()
            added = seen.news(state)
            said |= {f"{key}_{index}": value for key, value in added.items()} if index else added
        if answer.usage is not self.usage:
            said["usage"] = self.usage = answer.usage
        if answer.error is not None and not self.failed:
            said["error"], self.failed = answer.error.message, True
        return said

    def _kind(self, answer: Answer, said: dict[str, Any]) -> str:
        if answer.parse_errors > self.unreadable:
            kind = "unreadable"
        elif "error" in said:
            kind = "error"
        elif answer.token_events > self.tokens:
            kind = "token"
        elif answer.done and not self.done:
            kind = "done"
        elif any(key.startswith("finish") for key in said):
            kind = "finish"
        elif "usage" in said:
            kind = "usage"
        else:
            kind = "ignored" if answer.ignored_events > self.ignored else "silent"
        return kind
