"""Exchanges out of access logs of real traffic, in numbers only: the text is looked at once and dropped.

A log line holds what was asked and what came back, in one of these shapes:

* ``{"request": {...}, "response": {...}, "status": 200, "time": ...}`` as proxies log it;
* an output line of the OpenAI batch API: ``{"response": {"status_code": 200, "body": {...}}, "error": null}``;
* a stored chat completion by itself: ``{"object": "chat.completion", ...}``.

The answer may be of any protocol that tells itself (`monitor.wire.guess`). One whose words were taken out counts by its
ending and its tokens.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import orjson

from monitor.shape import CALLED, question_of, sign_flags, text_signs
from monitor.shape_bodies import holds_words, protocol_of
from monitor.shape_words import counts_alone, finish_named, flag_alone, named_alone
from monitor.types import Capture, Choice, Exchange, Outcome, Read, Request
from monitor.wire.dispatch import decode

_AT = ("time", "timestamp", "created_at", "started_at", "start_time", "startTime")
_ELAPSED_MS = ("duration_ms", "latency_ms", "elapsed_ms", "response_time_ms")
_TTFT_MS = ("ttft_ms", "time_to_first_token_ms")
_STATUS = ("status", "status_code", "http_status")
_DIGITS = re.compile(r"[0-9]{3}")
EARLIEST, LATEST = 946_684_800, 4_000_000_000
"""Seconds since 1970 of times that are believed: 2000 to 2096. A run of year 9999 would be the newest for ever."""


class NoEventError(ValueError):
    """A line holds no answer; the message says why."""


def from_log(line: bytes, *, keep: bool = False) -> Exchange:
    """Return the exchange that a line of a log tells of, without its text unless `keep`.

    Raises
    ------
    NoEventError
        When it tells of none.
    """
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError:
        raise NoEventError("not JSON") from None
    if not isinstance(value, dict):
        raise NoEventError("not an object")
    asked, body, status = _parts(value)
    if body is None and (status is None or status < 400):
        raise NoEventError("neither an answer nor a status that says why there is none")
    exchange = _decoded(asked, body, status)
    worded = (not exchange.answered and exchange.outcome != "empty") or holds_words(body)
    if not worded:
        exchange = _without_words(exchange)
    exchange = replace(
        exchange, started_at=_time(value, body), eof_ms=_number(value, _ELAPSED_MS), ttft_ms=_number(value, _TTFT_MS),
        attempt=_attempt(value),
    )  # fmt: skip
    return exchange if keep and worded else bare(exchange, worded=worded)


def _without_words(exchange: Exchange) -> Exchange:
    """An answer whose words were taken out: its ending tells of it, and that it looks empty tells nothing."""
    finish = exchange.choice.finish
    outcome: Outcome = "unconfirmed" if finish is None else "ok_length" if finish == "length" else "ok"
    flags = tuple(flag for flag in exchange.flags if flag != "empty_billed")
    return replace(exchange, outcome=outcome, flags=flags)


def bare(exchange: Exchange, *, worded: bool = True) -> Exchange:
    """Return `exchange` without any word of question and answer; its signs stay as flags.

    `worded` says that the words were recorded at all: else that there are none shows nothing, and of calls only the
    finish reason tells.
    """
    choice = exchange.choice
    question = question_of(exchange.request) if exchange.request else ""
    told = exchange.answered or exchange.outcome == "empty"
    signs = text_signs(
        choice.content, choice.reasoning, question, n_calls=len(choice.tool_calls), finish=choice.finish
    )
    called: bool | None = bool(choice.tool_calls)
    if not worded:
        signs = {"empty": exchange.outcome == "empty"}
        called = None if choice.finish is None else choice.finish == "tool_calls"
    kept = tuple(
        flag for flag in exchange.flags if not flag.startswith(("model_", "shape:")) and flag_alone(flag)
    )
    return replace(
        exchange, request=None, error=None, request_id=None, sent_sha256=None,
        choices=tuple(Choice(index=one.index, finish=finish_named(one.finish)) for one in exchange.choices),
        usage=counts_alone(exchange.usage), fingerprint=named_alone(exchange.fingerprint),
        models=_names(exchange.models), providers=_names(exchange.providers),
        flags=(*kept, *sign_flags({**signs, CALLED: called} if told else {})),
    )  # fmt: skip


def _names(said: Sequence[str]) -> tuple[str, ...]:
    return tuple(name for one in said if (name := named_alone(one)) is not None)


def _parts(value: Mapping[str, Any]) -> tuple[Mapping[str, Any], Any, int | None]:
    """What was asked, the body of the answer, and the status."""
    reply = value.get("response")
    asked = value.get("request")
    asked = asked.get("body", asked) if isinstance(asked, dict) else {}
    status = _status(value)
    if value.get("object") == "chat.completion":
        return {"messages": value.get("input")}, value, 200
    if isinstance(reply, dict) and "body" in reply:
        return asked, reply.get("body"), _status(reply) or status
    body = reply if isinstance(reply, dict) else None
    return asked, body, status if status is not None else 200 if body is not None else None


def _decoded(asked: Mapping[str, Any], body: Any, status: int | None) -> Exchange:
    messages = asked.get("messages")
    listed = tuple(one for one in messages if isinstance(one, dict)) if isinstance(messages, list) else ()
    cap = next((asked[name] for name in ("max_completion_tokens", "max_tokens") if type(asked.get(name)) is int), None)
    data = b"" if body is None else orjson.dumps(body)
    capture = Capture(
        sent=orjson.dumps({"stream": False, **({} if cap is None else {"max_tokens": cap})}), status=status or 200,
        headers=(("content-type", "application/json"),), reads=(Read(0, data),),
    )  # fmt: skip
    protocol = "openai_chat" if (status or 200) >= 300 else protocol_of(body, capture)
    if protocol is None:
        raise NoEventError("no answer of a known API: chat, completions, Responses, Messages or Ollama")
    exchange = decode(replace(capture, protocol=protocol))
    return replace(exchange, request=Request(prompt_id="", messages=listed, max_tokens=cap or 1))


def _status(value: Mapping[str, Any]) -> int | None:
    """The HTTP status, in quotes too, as some proxies write all fields."""
    said = [value.get(name) for name in _STATUS]
    whole = (one for one in said if type(one) is int or (isinstance(one, str) and _DIGITS.fullmatch(one)))
    found = next(map(int, whole), None)
    return found if found is not None and 100 <= found < 600 else None


def _number(value: Mapping[str, Any], names: tuple[str, ...]) -> float | None:
    found = next((value[name] for name in names if type(value.get(name)) in {int, float}), None)
    return float(found) if found is not None and found >= 0 else None


def _attempt(value: Mapping[str, Any]) -> int:
    retries = next((value[name] for name in ("retries", "num_retries") if type(value.get(name)) is int), 0)
    return 1 + max(0, min(int(retries), 1000))


def _time(value: Mapping[str, Any], body: Any) -> datetime:
    """When it was asked, in UTC. Raises NoEventError when the line does not say."""
    stamps = [value.get(name) for name in _AT]
    stamps.append(body.get("created") if isinstance(body, dict) else None)
    for stamp in stamps:
        if (at := moment(stamp)) is not None:
            return at
    raise NoEventError("no time: give one of " + ", ".join(_AT))


def moment(stamp: Any) -> datetime | None:
    """Return an instant given as ISO 8601 text, or as seconds or milliseconds since 1970; None for anything else."""
    if isinstance(stamp, str):
        try:
            at = datetime.fromisoformat(stamp)
            at = at.replace(tzinfo=at.tzinfo or UTC).astimezone(UTC)
        except (ValueError, OverflowError):  # the first and the last day of the calendar, seen from elsewhere
            return None
        return at if EARLIEST <= at.timestamp() < LATEST else None
    if isinstance(stamp, bool) or not isinstance(stamp, int | float):
        return None
    seconds = stamp / 1000 if stamp > LATEST else stamp
    return datetime.fromtimestamp(seconds, UTC) if EARLIEST <= seconds < LATEST else None
