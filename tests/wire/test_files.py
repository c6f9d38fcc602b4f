"""Capture files. Oracles: the format definitions by hand, and reading back what was written."""

import contextlib
import gzip
from datetime import UTC, datetime, timedelta
from typing import get_args

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.errors import UsageError
from monitor.types import Capture, End, Read, Request
from monitor.wire.files import FORMATS, dump, load

SPAN = 10**13
NS = st.integers(0, 2**62 - SPAN)
CAPTURES = st.builds(
    Capture,
    request=st.none()
    | st.builds(
        Request,
        prompt_id=st.text(max_size=5),
        messages=st.just(({"role": "user", "content": "é"},)),
        max_tokens=st.integers(1, 9),
        temperature=st.none() | st.floats(0, 2),
    ),
    protocol=st.just("openai_chat"),
    sent=st.binary(max_size=20),
    started_at=st.none() | st.datetimes(timezones=st.just(UTC)),
    attempt=st.integers(1, 3),
    status=st.none() | st.integers(100, 599),
    headers=st.lists(st.tuples(st.text(max_size=5), st.text(max_size=5)), max_size=3).map(tuple),
    end=st.sampled_from(get_args(End)),
    error=st.none() | st.text(max_size=5),
    eof_ns=st.none() | NS,
    reused=st.none() | st.booleans(),
    lag_ms=st.none() | st.floats(0, 1e6),
)


@settings(max_examples=150, deadline=None)
@given(CAPTURES, st.none() | NS, st.lists(st.tuples(st.integers(-SPAN, SPAN), st.binary(max_size=9)), max_size=4))
def test_a_capture_reads_back_identically(capture: Capture, t0: int | None, reads: list[tuple[int, bytes]]) -> None:
    from dataclasses import replace

    base = t0 if t0 is not None else 10**15
    whole = replace(capture, t0_ns=t0, reads=tuple(Read(base + at, data) for at, data in reads))
    assert load(dump(whole), "capture") == whole


def test_timed() -> None:
    text = (
        b'{"at_ms": 0.5, "send": "data: \\u00e9"}\n\n'
        b'{"at_ms": 12, "b64": "/w==", "variant": "A"}\r\n{"at_ms": 40, "close": "rst"}'
    )
    capture = load(text, "timed")
    assert capture.reads == (Read(500_000, "data: é".encode()), Read(12_000_000, b"\xff"))
    assert (capture.t0_ns, capture.eof_ns, capture.end, capture.status) == (0, 40_000_000, "reset", 200)


def test_a_body_that_begins_with_a_brace_is_json() -> None:
    for form, data in (("sse", b' {"a":1}'), ("reads", b'{"b64":"IA=="}\n{"b64":"ew=="}')):
        assert load(data, form).header("content-type") == "application/json"
    assert load(b"", "sse").header("content-type") == "text/event-stream"


def _damaged(field: str, value: object) -> bytes:
    """A capture file with another value in one field."""
    document = orjson.loads(dump(Capture(status=200, reads=(Read(5, b"x"),), t0_ns=0, sent=b"{}")))
    return orjson.dumps(document | {field: value})


@pytest.mark.parametrize("form", ["sse", "http", "reads", "timed"])
def test_a_response_in_any_format(form: str) -> None:
    raw = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Fine\r\nX-A:  b \r\nContent-Length: 3\r\n\r\nabcdef"
    pieces = [raw[:4], raw[4:60], raw[60:]]
    lines = b"".join(orjson.dumps({"at_ms": 5 * n, "send": piece.decode()}) + b"\n" for n, piece in enumerate(pieces))
    if form == "reads":
        import base64

        lines = b"".join(orjson.dumps({"b64": base64.b64encode(piece).decode()}) + b"\n" for piece in pieces)
    capture = load(lines if form in {"reads", "timed"} else raw, form)
    assert (capture.status, capture.headers, capture.body) == (201, (("X-A", "b"), ("Content-Length", "3")), b"abc")
    assert capture.end == "complete"
    if form == "timed":
        assert [read.at_ns for read in capture.reads] == [10_000_000]
        assert capture.first_byte_ns == 0


CHUNKED = (
    b"HTTP/1.1 200 OK\nTransfer-Encoding: Chunked\n\n"
    b"4;x=y\r\nab\r\n\r\n00A\r\n0123456789\r\n0\r\nTrailer: 1\r\n\r\n"
)


def test_chunks() -> None:
    capture = load(CHUNKED, "http")
    assert (capture.body, capture.end) == (b"ab\r\n0123456789", "complete")


def test_chunks_cut_anywhere_give_what_came() -> None:
    """Oracle: a prefix of the body, complete only with the blank line behind the trailers."""
    for at in range(len(b"HTTP/1."), len(CHUNKED)):
        capture = load(CHUNKED[:at], "http")
        assert b"ab\r\n0123456789".startswith(capture.body)
        assert capture.end == "unclean"
        assert (capture.status == 200) == (at >= CHUNKED.index(b"4;x"))


@pytest.mark.parametrize(
    ("rest", "body", "end"),
    [
        (b"Content-Length: 9\r\n\r\nabc", b"abc", "unclean"),
        (b"Transfer-Encoding: chunked\r\n\r\nzz\r\nabc", b"", "unclean"),
        (b"Transfer-Encoding: chunked\r\n\r\n-5\r\nabc", b"", "unclean"),
        (b"Transfer-Encoding: xchunked\r\n\r\nabc", b"abc", "complete"),
    ],
)
def test_odd_framing(rest: bytes, body: bytes, end: str) -> None:
    capture = load(b"HTTP/1.0 200\r\n" + rest, "http")
    assert (capture.status, capture.body, capture.end) == (200, body, end)


def test_a_head_that_is_none() -> None:
    assert load(b"HTTP/1.1 abc\r\n\r\nx", "http").status is None
    assert load(b"HTTP/1.1 204 No\r\n\r\nx", "http").body == b""


@pytest.mark.parametrize(
    ("data", "form", "words"),
    [
        (b"", "pcap", "unknown capture format 'pcap': use one of sse, http, reads, timed, capture, curl, har"),
        (b"data: x", "http", "line 1: an http capture begins with a status line"),
        (b'{"b64":"YQ=="}\nnope', "reads", "line 2: not JSON"),
        (b"[]", "timed", "line 1: not an object"),
        (b'{"at_ms":0}', "timed", 'line 1: nothing to send: give "send" (text) or "b64" (base64)'),
        (b'{"b64":"YQ"}', "reads", 'line 1: "b64" is not base64'),
        (b'{"b64":7}', "reads", "line 1: nothing to send"),
        (b'{"send":"x"}', "timed", 'line 1: "at_ms" must be a number'),
        (b'{"at_ms":-1,"send":"x"}', "timed", 'line 1: "at_ms" must be a number'),
        (b'{"at_ms":true,"send":"x"}', "timed", 'line 1: "at_ms" must be a number'),
        (b'{"at_ms":5,"send":"x"}\n\n{"at_ms":4,"send":"x"}', "timed", 'line 3: "at_ms" goes back: sort'),
        (b'{"at_ms":5,"close":"bang"}', "timed", 'line 1: "close" must be "fin" or "rst"'),
        (b'{"at_ms":5,"close":"fin"}\n{"at_ms":6,"send":"x"}', "timed", "line 2: nothing can follow a close"),
        (b"x", "capture", "not a capture file"),
        (b'{"a":1}', "capture", 'not a capture file (no object with "weighmaster": "capture")'),
        (b"[]", "capture", "not a capture file (no object"),
        (b'{"weighmaster":"capture"}', "capture", "damaged capture file: base_ns: no number"),
        (_damaged("reads", 1), "capture", "damaged capture file: reads: no list"),
        (_damaged("reads", [1]), "capture", 'damaged capture file: reads.0: no object with the number "at_ms"'),
        (_damaged("reads", [{"at_ms": 1, "b64": "%"}]), "capture", "damaged capture file: reads.0.b64: not base64"),
        (_damaged("sent", None), "capture", "damaged capture file: sent: no text"),
        (_damaged("sent_b64", 5), "capture", "damaged capture file: sent_b64: not base64"),
    ],
)  # fmt: skip
def test_errors_name_line_and_remedy(data: bytes, form: str, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        load(data, form)
    assert words in str(caught.value)


def test_a_damaged_capture_names_the_field() -> None:
    document = orjson.loads(dump(Capture(status=200)))
    for key, value, word in (("status", "many", "status"), ("end", "odd", "end"), ("colour", 1, "colour")):
        with pytest.raises(UsageError, match=word):
            load(orjson.dumps(document | {key: value}), "capture")


@given(st.binary(max_size=200), st.sampled_from(FORMATS))
def test_any_file_loads_or_is_a_usage_error(data: bytes, form: str) -> None:
    with contextlib.suppress(UsageError):
        assert load(data, form).protocol == "openai_chat"


def test_compressed_bodies_stay_as_they_were_sent() -> None:
    packed = gzip.compress(b"data: 1\n\n")
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n"
    assert load(head + packed, "http").body == packed


def test_started_at_keeps_its_instant() -> None:
    at = datetime(2026, 5, 1, 12, 0, 0, 123456, tzinfo=UTC)
    assert load(dump(Capture(started_at=at)), "capture").started_at == at + timedelta(0)
