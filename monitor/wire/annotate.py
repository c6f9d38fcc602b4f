"""What each event of an answer contributed: the events are read again one by one, and the record is watched."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

from monitor.types import Capture
from monitor.wire.asked import asked_for
from monitor.wire.body import Body, read_body
from monitor.wire.chat_state import Answer
from monitor.wire.choice_state import ChoiceState
from monitor.wire.outcome import transport_outcome
from monitor.wire.sse import Framing
from monitor.wire.timing import since

_WATCHED = 64
"""So many choices, and calls of each, are watched: a hostile answer may open one with every event."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
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


class _Seen(NamedTuple):
    """How far an answer had come."""

    choices: dict[int, tuple[int, int, int, int, str | None]]
    calls: dict[int, list[tuple[str, str, int]]]
    usage: dict[str, Any] | None
    counts: tuple[int, int, int]
    done: bool
    failed: bool
    flags: int


def notes(capture: Capture, reader: type[Answer], *, ndjson: bool = False) -> tuple[Note, ...]:
    """Return a note on each event of `capture`, in order; none where there was no body to read.

    `reader` and `ndjson` are those of the protocol (see `monitor.wire.speaker.Speaker`).
    """
    if transport_outcome(capture) is not None:
        return ()
    body = read_body(capture, asked_for(capture), reader, ndjson=ndjson)
    if body.framing is not None:
        return tuple(_streamed(capture, body.framing, reader(streamed=True)))
    return _whole(capture, body, reader(streamed=False))


def _streamed(capture: Capture, framing: Framing, answer: Answer) -> list[Note]:
    found = []
    for number, event in enumerate(framing.events, 1):
        before = _seen(answer)
        unterminated = framing.unterminated and number == len(framing.events)
        answer.read_stream(Framing(events=(event,), comments=0, unknown_lines=0, unknown=(), unterminated=unterminated))
        said = _said(before, answer)
        found.append(
            Note(
                at_ms=since(capture.t0_ns, event.at_ns),
                kind=_kind(before, answer, said),
                name=event.name,
                size=len(event.data),
                said=said,
                flags=tuple(answer.flags)[before.flags :],
            )
        )
    return found


def _whole(capture: Capture, body: Body, empty: Answer) -> tuple[Note, ...]:
    if not capture.reads or (body.verdict is not None and body.answer.parse_errors == 0):
        return ()
    before = _seen(empty)
    return (
        Note(
            at_ms=since(capture.t0_ns, capture.reads[-1].at_ns),
            kind="unreadable" if body.answer.parse_errors else "whole",
            name=None,
            size=sum(len(read.data) for read in capture.reads),
            said=_said(before, body.answer),
            flags=tuple(body.answer.flags),
        ),
    )


def _seen(answer: Answer) -> _Seen:
    return _Seen(
        choices={index: _lengths(state) for index, state in _watched(answer)},
        calls={index: _calls(state) for index, state in _watched(answer)},
        usage=answer.usage,
        counts=(answer.token_events, answer.ignored_events, answer.parse_errors),
        done=answer.done,
        failed=answer.error is not None,
        flags=len(answer.flags),
    )


def _watched(answer: Answer) -> Iterator[tuple[int, ChoiceState]]:
    return islice(answer.choices.items(), _WATCHED)


def _lengths(state: ChoiceState) -> tuple[int, int, int, int, str | None]:
    message = 0 if state.message is None else 1
    return len(state.content), len(state.reasoning), len(state.logprobs or ()), message, state.finish_raw


def _calls(state: ChoiceState) -> list[tuple[str, str, int]]:
    return [(slot.id, slot.name, len(slot.parts)) for slot in state.calls.slots[:_WATCHED]]


def _kind(before: _Seen, answer: Answer, said: dict[str, Any]) -> str:
    tokens, ignored, unreadable = before.counts
    grown = {
        "unreadable": answer.parse_errors > unreadable,
        "error": "error" in said,
        "token": answer.token_events > tokens,
        "done": answer.done and not before.done,
        "finish": any(key.startswith("finish") for key in said),
        "usage": "usage" in said,
        "ignored": answer.ignored_events > ignored,
    }
    return next((kind for kind, is_so in grown.items() if is_so), "silent")


def _said(before: _Seen, answer: Answer) -> dict[str, Any]:
    """What `answer` holds beyond `before`. Keys of further choices end in their index, as in ``content_1``."""
    said: dict[str, Any] = {}
    for index, state in _watched(answer):
        content, reasoning, logprobs, message, finish = before.choices.get(index, (0, 0, 0, 0, None))
        added = {
            "content": "".join(state.content[content:]),
            "reasoning": "".join(state.reasoning[reasoning:]),
            "calls": _new_calls(state, before.calls.get(index, [])),
            "message": state.message is not None and not message,
            "finish": state.finish_raw if state.finish_raw != finish else None,
            "n_logprobs": len(state.logprobs or ()) - logprobs,
        }
        said |= {f"{key}_{index}" if index else key: value for key, value in added.items() if value}
    if answer.usage is not before.usage:
        said["usage"] = answer.usage
    if answer.error is not None and not before.failed:
        said["error"] = answer.error.message
    return said


def _new_calls(state: ChoiceState, before: list[tuple[str, str, int]]) -> list[dict[str, Any]]:
    """The calls that grew: their number, id and name where new, and the piece of arguments that came."""
    grown = []
    for number, slot in enumerate(state.calls.slots[:_WATCHED]):
        call_id, name, parts = before[number] if number < len(before) else ("", "", 0)
        added = {
            "id": slot.id if slot.id != call_id else None,
            "name": slot.name if slot.name != name else None,
            "arguments": "".join(slot.parts[parts:]),
        }
        if any(added.values()):
            grown.append({"call": number} | {key: value for key, value in added.items() if value})
    return grown
