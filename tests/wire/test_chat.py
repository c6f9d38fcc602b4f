"""The chat protocol beyond the corpus: what is sent, how transports end, what the request says about the answer."""

from dataclasses import replace
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

import orjson
import pytest

from monitor.types import Capture, End, Exchange, Read, Request
from monitor.wire.dispatch import decode, protocols
from monitor.wire.openai_chat import PROTOCOL
from monitor.wire.record import record

HELLO = Request(prompt_id="p1", messages=({"role": "user", "content": "weigh it"},), max_tokens=32)
MS = 1_000_000


def chunk(delta: dict[str, Any] | None = None, finish: str | None = None, **more: Any) -> bytes:
    choice = {"index": 0, "delta": delta or {}, "finish_reason": finish}
    return b"data: " + orjson.dumps({"model": "scale-1", "choices": [choice], **more}) + b"\n\n"


DONE = b"data: [DONE]\n\n"
TEXT = chunk({"content": "12"}) + chunk({"content": " kg"})
WHOLE = TEXT + chunk(finish="stop") + DONE


def stream(body: bytes, **fields: Any) -> Exchange:
    headers = (("Content-Type", "text/event-stream"),)
    whole: dict[str, Any] = {"status": 200, "headers": headers, "reads": (Read(0, body),), **fields}
    return decode(Capture(**whole))


def test_body_says_only_what_was_asked() -> None:
    assert orjson.loads(PROTOCOL.body(HELLO, "scale-1")) == {
        "model": "scale-1",
        "messages": [{"role": "user", "content": "weigh it"}],
        "max_tokens": 32,
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_body_with_everything() -> None:
    tool = MappingProxyType({"type": "function", "function": MappingProxyType({"name": "weigh"})})
    asked = replace(HELLO, temperature=0.0, top_p=0.5, seed=0, top_logprobs=0, stream=False, tools=(tool,))
    assert orjson.loads(PROTOCOL.body(asked, "m")) == {
        "model": "m",
        "messages": [{"role": "user", "content": "weigh it"}],
        "max_tokens": 32,
        "stream": False,
        "temperature": 0.0,
        "top_p": 0.5,
        "seed": 0,
        "logprobs": True,
        "top_logprobs": 0,
        "tools": [{"type": "function", "function": {"name": "weigh"}}],
    }


def test_protocols_are_found() -> None:
    assert protocols()["openai_chat"].path == "/chat/completions"


@pytest.mark.parametrize(
    ("end", "partial", "finished"),
    [
        ("complete", "truncated", "ok"), ("unclean", "truncated", "ok"), ("reset", "truncated", "ok"),
        ("stalled", "stalled", "ok"), ("timeout_first_byte", "timeout_first_byte", "ok"),
        ("tls_dropped", "tls_dropped", "ok"), ("client_limit", "client_limit", "client_limit"),
        ("cancelled", "not_run", "not_run"),
    ],
)  # fmt: skip
def test_ends(end: End, partial: str, finished: str) -> None:
    assert stream(TEXT, end=end).outcome == partial
    assert stream(TEXT, end=end).choice.content == ("12 kg" if end != "cancelled" else "")
    assert stream(WHOLE, end=end).outcome == finished


@pytest.mark.parametrize(
    ("end", "first_byte_ns", "want"),
    [
        ("connect_error", None, "connect_error"), ("tls_trust", None, "tls_trust"),
        ("address_refused", None, "address_refused"),
        ("tls_dropped", None, "tls_dropped"), ("timeout_first_byte", None, "timeout_first_byte"),
        ("cancelled", None, "not_run"), ("complete", None, "connect_error"), ("reset", None, "connect_error"),
        ("unclean", None, "connect_error"), ("reset", 7, "truncated"), ("client_limit", 7, "client_limit"),
    ],
)  # fmt: skip
def test_no_response(end: End, first_byte_ns: int | None, want: str) -> None:
    exchange = decode(Capture(end=end, error="OSError: no", t0_ns=0, first_byte_ns=first_byte_ns))
    assert (exchange.outcome, exchange.error, exchange.ttft_ms) == (want, "OSError: no", None)


def test_a_status_decides_before_the_end_of_its_body() -> None:
    assert stream(b"", status=503, end="stalled").outcome == "http_5xx"
    assert stream(b"<html>", status=404, end="unclean").outcome == "http_4xx"
    assert stream(b"", status=301).outcome == "redirect"


@pytest.mark.parametrize("held", ["stalled", "unclean"])
def test_an_answer_that_was_complete_stays_complete(held: End) -> None:
    flag = {"stalled": "held_open", "unclean": "unclean_close"}[held]
    assert flag in stream(WHOLE, end=held).flags
    no_done = stream(TEXT + chunk(finish="stop"), end=held)
    assert (no_done.outcome, set(no_done.flags)) == ("ok", {flag, "no_done"})


def test_phases_and_bound() -> None:
    """Oracle: the definitions, on stamps chosen by hand; the connection is outside the TTFT."""
    base = 10**12
    reads = (Read(base + 200 * MS, chunk({"role": "assistant", "content": ""})), Read(base + 300 * MS, WHOLE))
    exchange = stream(
        b"", reads=reads, t0_ns=base, sent_ns=base + MS, first_byte_ns=base + 190 * MS, eof_ns=base + 301 * MS,
        dns_ns=20 * MS, connect_ns=170 * MS, tls_ns=350 * MS, reused=False, lag_ms=15.1, attempt=2, sent=b"{}",
        started_at=datetime(2026, 3, 1, 10, tzinfo=UTC),
    )  # fmt: skip
    assert (exchange.first_event_ms, exchange.ttft_ms, exchange.ttfo_ms, exchange.done_ms) == (200, 300, 300, 300)
    assert (exchange.sent_ms, exchange.first_byte_ms, exchange.eof_ms, exchange.reused) == (1, 190, 301, False)
    assert (exchange.dns_ms, exchange.connect_ms, exchange.tls_ms) == (20, 170, 350)
    assert (exchange.error_bound_ms, exchange.measurement) == (15.1, "error bound above 5%")
    assert exchange.attempt == 2
    assert exchange.sent_sha256 == "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"  # sha256 of {}


def test_stamps_do_not_matter_without_t0() -> None:
    assert record(stream(WHOLE, reads=(Read(99, WHOLE),))) == record(stream(WHOLE))


@pytest.mark.parametrize(
    ("sent", "end", "want"),
    [
        ({}, chunk(finish="length"), {"hidden_cap"}),
        ({"max_tokens": 32}, chunk(finish="length"), set()),
        ({"max_tokens": 32}, chunk(finish="stop", usage={"completion_tokens": 160}), {"cap_ignored"}),
        ({"max_tokens": 32}, chunk(finish="stop", usage={"completion_tokens": 33}), set()),
        ({"max_completion_tokens": 32}, chunk(finish="length", usage={"completion_tokens": 32}), set()),
        ({"max_tokens": 9, "stop": ["kg"]}, chunk(finish="stop"), {"stop_leak"}),
        ({"max_tokens": 9, "stop": " kgs"}, chunk(finish="stop"), {"stop_partial_leak"}),
        ({"max_tokens": 9, "stop": ["2 k"]}, chunk(finish="length"), {"stop_ignored"}),
        ({"max_tokens": 9, "stop": ["END"]}, chunk(finish="stop"), set()),
        ({"max_tokens": 9, "model": "vendor/scale-1"}, chunk(finish="stop"), set()),
        ({"max_tokens": 9, "model": "scale-2"}, chunk(finish="stop"), {"model_mismatch"}),
        ({"max_tokens": 9, "model": "scale-1:free"}, chunk(finish="stop"), {"model_variant_dropped"}),
    ],
)  # fmt: skip
def test_flags_that_need_the_request(sent: dict[str, Any], end: bytes, want: set[str]) -> None:
    assert set(stream(TEXT + end + DONE, sent=orjson.dumps({"stream": True, **sent})).flags) == want


def test_the_request_behind_a_capture_is_used_when_the_sent_bytes_are_gone() -> None:
    unary = orjson.dumps({"choices": [{"index": 0, "message": {"content": "12"}, "finish_reason": "stop"}]})
    headers = (("content-type", "application/json"),)
    assert stream(unary, headers=headers, request=HELLO).flags == ("stream_ignored",)
    assert stream(unary, headers=headers, request=replace(HELLO, stream=False)).flags == ()


def test_fewer_alternatives_than_asked() -> None:
    entry = {"token": "12", "logprob": -0.1, "bytes": [49, 50], "top_logprobs": [{"token": "12", "logprob": -0.1}] * 1}
    choice = {"index": 0, "delta": {"content": "12"}, "finish_reason": "stop", "logprobs": {"content": [entry]}}
    body = b"data: " + orjson.dumps({"choices": [choice]}) + b"\n\n" + DONE
    assert "fewer_alternatives" in stream(body, request=replace(HELLO, top_logprobs=5)).flags
    assert "fewer_alternatives" not in stream(body, request=replace(HELLO, top_logprobs=1)).flags


def test_a_bomb_is_our_limit() -> None:
    import zlib

    bomb = zlib.compress(b" " * (65 * 2**20), 9)
    assert stream(bomb, headers=(("content-encoding", "deflate"),)).outcome == "client_limit"


def test_gzip_members_and_raw_deflate() -> None:
    import gzip
    import zlib

    members = gzip.compress(TEXT) + gzip.compress(chunk(finish="stop") + DONE)
    assert stream(members, headers=(("content-encoding", "x-gzip"),)).outcome == "ok"
    packer = zlib.compressobj(wbits=-15)
    raw = packer.compress(WHOLE) + packer.flush()
    assert stream(raw, headers=(("content-encoding", "deflate"),)).choice.content == "12 kg"


def test_record_of_an_attempt_without_an_answer_keeps_its_nulls() -> None:
    flat = record(decode(Capture(end="connect_error")))
    assert (flat["outcome"], flat["content"], flat["finish"], flat["usage"]) == ("connect_error", "", None, None)
    assert flat["choices"] == []
    assert flat["ttft_ms"] is None
    assert flat["token_events"] is None


def test_request_id_prefers_the_header() -> None:
    assert stream(chunk({"content": "a"}, id="c9")).request_id == "c9"
    assert stream(chunk({"content": "a"}, id="c9"), headers=(("X-Request-Id", "h1"),)).request_id == "h1"
