"""Real traffic in numbers. Oracles: what the lines were written to say; the secret word, which must be nowhere."""

from datetime import timedelta
from typing import Any

import orjson
import pytest

from monitor.codec import encode
from monitor.faults.find import find
from monitor.faults.profiles import PROFILES
from monitor.shape import event_of
from monitor.shape_spans import from_spans
from monitor.shape_traffic import NoEventError, from_log, moment
from monitor.types import Exchange
from tests.shape.logs import LOOP, SECRET, START, document, line, reply, span


def logged(value: Any, *, keep: bool = False) -> Exchange:
    return from_log(orjson.dumps(value), keep=keep)


def test_a_line_in_numbers() -> None:
    one = logged(line(at=3, retries=2))
    event = event_of(one)
    assert (one.outcome, event.tokens, event.cut, event.called, event.retried) == ("ok", 9, False, False, True)
    assert (one.eof_ms, one.started_at, one.models) == (412.5, START + timedelta(minutes=3), ("model",))
    assert (event.looped, event.mixed, event.empty, event.only_reasoning, event.called) == (False,) * 5


@pytest.mark.parametrize(
    ("sign", "body"),
    [
        ("looped", reply(LOOP, "length", 64)),
        ("mixed", reply(f"{SECRET} \u4e00\u516c\u65a4")),
        ("empty", reply("")),
        ("only_reasoning", reply("", reasoning_content=f"hm, {SECRET}")),
        ("called", reply("", "tool_calls", tool_calls=[{"id": "1", "function": {"name": SECRET, "arguments": "{}"}}])),
        ("cut", reply(finish="length", tokens=64)),
    ],
)
def test_signs_come_through_and_the_words_do_not(sign: str, body: dict[str, Any]) -> None:
    one = logged(line(body=body))
    assert getattr(event_of(one), sign) is True
    assert SECRET.encode() not in encode(one)
    kept = logged(line(body=body), keep=True)
    assert SECRET.encode() in encode(kept) or sign == "empty"
    assert find(one, PROFILES["openai"]) == (), "without the words, their absence is no fault"


@pytest.mark.parametrize(
    ("value", "outcome"),
    [
        ({"custom_id": "a", "created_at": 1793520000, "response": {"status_code": 200, "body": reply()}}, "ok"),
        ({**reply(), "input": [{"role": "user", "content": SECRET}]}, "ok"),
        (line(body={"error": {"message": f"{SECRET} is full", "code": 429}}, status=429), "rate_limited"),
        ({"time": "2026-11-01T08:00:00Z", "status": 503, "request": {}}, "http_5xx"),
        (line(body=reply(finish="content_filter")), "filtered"),
    ],
)
def test_shapes_of_lines(value: dict[str, Any], outcome: str) -> None:
    one = logged(value)
    assert one.outcome == outcome
    assert one.started_at is not None
    assert SECRET.encode() not in encode(one)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"nonsense", "not JSON"),
        (b"[1]", "not an object"),
        (b'{"time": 1, "status": 200}', "neither an answer"),
        (b'{"response": {"object": "chat.completion", "choices": []}, "status": 200}', "no time"),
        *((b'{"time": "2026-11-01T08:00:00Z", "response": ' + body + b"}", "no answer of a known API") for body in (
            b'{"object": "list", "data": [{"object": "embedding", "embedding": [0.5]}], "usage": {"prompt_tokens": 3}}',
            b'{"object": "list", "data": [{"id": "m", "object": "model"}]}', b"{}", b'{"choices": {"0": {}}}',
            b'{"choices": [null]}', b'{"candidates": [{"content": {"parts": [{"text": "hi"}]}}]}',
        )),
    ],
)
def test_what_tells_nothing_says_why(data: bytes, why: str) -> None:
    with pytest.raises(NoEventError, match=why):
        from_log(data)


@pytest.mark.parametrize(
    "body",
    [
        {"object": "response", "status": "completed", "output": [
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": SECRET}]}]},
        {"type": "message", "role": "assistant", "content": [{"type": "text", "text": SECRET}],
         "stop_reason": "end_turn", "usage": {"input_tokens": 3, "output_tokens": 4}},
        {"object": "text_completion", "choices": [{"index": 0, "text": SECRET, "finish_reason": "stop"}]},
    ],
)  # fmt: skip
def test_answers_of_other_protocols_are_read_as_what_they_are(body: dict[str, Any]) -> None:
    one = logged(line(body=body))
    assert one.outcome == "ok"
    assert event_of(one).empty is False
    assert SECRET.encode() not in encode(one)


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize(("finish", "outcome"), [("stop", "ok"), ("length", "ok_length"), (None, "unconfirmed")])
def test_words_that_were_taken_out_are_no_empty_answer(finish: str | None, outcome: str, keep: bool) -> None:
    for without in ({"role": "assistant"}, {"role": "assistant", "content": None}):
        body = reply() | {"choices": [{"index": 0, "message": without, "finish_reason": finish}]}
        one = logged(line(body=body), keep=keep)
        assert one.outcome == outcome
        assert not event_of(one).empty
        assert find(one, PROFILES["openai"]) == ()


@pytest.mark.parametrize(
    ("message", "tokens"), [({"content": ""}, 40), ({"content": None}, 0), ({"content": []}, 40)]
)
def test_an_empty_answer_stays_one(message: dict[str, Any], tokens: int) -> None:
    body = reply(tokens=tokens) | {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
    assert logged(line(body=body)).outcome == "empty"


@pytest.mark.parametrize("stamp", ["2026-11-01T08:00:00Z", "2026-11-01T09:00:00+01:00", "2026-11-01 08:00:00",
                                   START.timestamp(), START.timestamp() * 1000])  # fmt: skip
def test_times(stamp: object) -> None:
    assert moment(stamp) == START


@pytest.mark.parametrize(
    "stamp", [None, True, -1, 5, "soon", "9999-12-31T23:59:59Z", "0001-01-01T00:00:00+14:00", float("nan"), 1e30, {}]
)
def test_no_times(stamp: object) -> None:
    assert moment(stamp) is None


def spans(*some: dict[str, Any], keep: bool = False) -> list[Exchange]:
    return list(from_spans(document(*some), keep=keep))


def test_a_span_in_numbers() -> None:
    (one,) = spans(span(at=2, gen_ai__response__time_to_first_chunk=0.25))
    assert (one.outcome, one.eof_ms, one.first_event_ms, one.models) == ("ok", 412.5, 250.0, ("model",))
    assert one.ttft_ms is None, "the first chunk need not hold a token"
    assert one.usage == {"prompt_tokens": 12, "completion_tokens": 9}
    assert one.started_at == START + timedelta(minutes=2)
    event = event_of(one)
    assert (event.empty, event.looped, event.mixed) == (False, None, None), "nobody recorded the words"


@pytest.mark.parametrize(
    ("finish", "cut", "called"), [(["stop"], False, False), (["tool_calls"], False, True), (None, None, None)]
)
def test_what_a_span_without_words_tells_of_its_end(
    finish: list[str] | None, cut: bool | None, called: bool | None
) -> None:
    """Without a finish reason nobody knows whether it was cut, and without words and reason nobody whether it calls."""
    (one,) = spans(span(gen_ai__response__finish_reasons=finish))
    event = event_of(one)
    assert (one.outcome, event.cut, event.called) == ("ok", cut, called)


def message(text: str, kind: str = "text") -> str:
    return orjson.dumps([{"role": "assistant", "parts": [{"type": kind, "content": text}]}]).decode()


@pytest.mark.parametrize(
    ("sign", "more"),
    [
        ("looped", {"gen_ai__output__messages": message(LOOP)}),
        ("only_reasoning", {"gen_ai__output__messages": message(SECRET, "reasoning")}),
        ("called", {"gen_ai__output__messages": message("", "tool_call")}),
        ("mixed", {"gen_ai__output__messages": message("\u516c\u65a4"), "gen_ai__input__messages": message(SECRET)}),
        ("cut", {"gen_ai__response__finish_reasons": ["length"]}),
        ("empty", {"gen_ai__usage__output_tokens": 0}),
    ],
)
def test_signs_of_spans(sign: str, more: dict[str, Any]) -> None:
    (one,) = spans(span(**more))
    assert getattr(event_of(one), sign) is True
    assert SECRET.encode() not in encode(one)


@pytest.mark.parametrize(
    ("kind", "outcome"),
    [("openai.RateLimitError", "rate_limited"), ("timeout", "stalled"), ("503", "http_5xx"), ("404", "http_4xx"),
     ("AuthenticationError", "auth_error"), ("ConnectError", "connect_error"), ("InternalServerError", "http_5xx"),
     ("RemoteProtocolError", "truncated"), ("ValueError", "not_run"), ("", "not_run")],
)  # fmt: skip
def test_failed_spans(kind: str, outcome: str) -> None:
    (one,) = spans(span(status=2, error__type=kind))
    assert one.outcome == outcome


def test_other_spans_and_nonsense_are_passed_over() -> None:
    embedding = span(gen_ai__operation__name="embeddings")
    database = {"startTimeUnixNano": "1", "attributes": [{"key": "db.system", "value": {"stringValue": "sql"}}]}
    assert spans(embedding, database, {"attributes": 3}, {"startTimeUnixNano": "x"}) == []
    nonsense: list[Any] = [None, [], {}, {"resourceSpans": 1}, {"resourceSpans": [{"scopeSpans": [{"spans": [1]}]}]}]
    assert not any(list(from_spans(one)) for one in nonsense)
