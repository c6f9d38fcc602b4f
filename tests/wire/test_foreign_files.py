"""Captures of other tools. Oracles: HAR 1.2 by its definition, and what curl prints of a real server."""

import base64
import shutil
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.replay import Chunk, ReplayServer, Script, scripts_from
from monitor.errors import UsageError
from monitor.types import Capture, Read
from monitor.wire.dispatch import decode
from monitor.wire.files import load

WHOLE = b'{"choices":[{"index":0,"message":{"content":"7 kg"},"finish_reason":"stop"}]}'
EVENT = b'data: {"choices":[{"index":0,"delta":{"content":"7 kg"},"finish_reason":"stop"}]}\n\n'
STREAM = EVENT + b"data: [DONE]\n\n"


def entry(text: str, **more: Any) -> dict[str, Any]:
    headers = [{"name": "Content-Type", "value": "application/json"}, {"name": "Content-Encoding", "value": "br"}]
    return {
        "startedDateTime": "2026-03-01T10:00:00.250Z",
        "request": {
            "headers": [{"name": "Authorization", "value": "Bearer sesame"}],
            "postData": {"text": '{"model":"scale-1","stream":false}'},
        },
        "response": {"status": 200, "headers": headers, "content": {"text": text}},
        "timings": {"blocked": 3, "dns": 5, "connect": 60, "ssl": 40, "send": 1, "wait": 200.5, "receive": 8},
    } | more


def har(*entries: Any) -> bytes:
    return orjson.dumps({"log": {"version": "1.2", "entries": list(entries)}})


def test_har_of_a_whole_answer() -> None:
    exchange = decode(load(har(entry(WHOLE.decode())), "har"))
    assert (exchange.outcome, exchange.choice.content, exchange.status, exchange.flags) == (
        "ok",
        "7 kg",
        200,
        ("model_unnamed",),
    )
    assert (exchange.dns_ms, exchange.connect_ms, exchange.tls_ms) == (5, 20, 40), "HAR counts TLS within connect"
    assert (exchange.sent_ms, exchange.first_byte_ms, exchange.eof_ms, exchange.ttft_ms) == (1, 201.5, 209.5, None)
    assert exchange.started_at == datetime(2026, 3, 1, 10, 0, 0, 250_000, tzinfo=UTC)


def test_a_har_has_no_times_within_a_stream() -> None:
    exchange = decode(load(har(entry(STREAM.decode())), "har"))
    assert (exchange.choice.content, exchange.ttft_ms, exchange.first_byte_ms, exchange.tls_ms) == (
        "7 kg",
        None,
        None,
        40,
    )
    assert exchange.measurement == "no clock"


def test_the_entries_of_a_har_are_served_in_turn(tmp_path: Path) -> None:
    path = tmp_path / "two.har"
    path.write_bytes(har(entry(WHOLE.decode()), entry("", response={"status": 503, "content": {"text": "busy"}})))
    scripts = scripts_from(path)
    assert [(one.status, b"".join(chunk.data for chunk in one.chunks)) for one in scripts] == [
        (200, WHOLE), (503, b"busy")]  # fmt: skip
    assert scripts_from(tmp_path) == scripts


def test_har_keeps_no_key() -> None:
    assert b"sesame" not in repr(load(har(entry(STREAM.decode())), "har")).encode()


def test_har_entries_are_chosen_by_index() -> None:
    data = har(entry("{}"), entry(WHOLE.decode()))
    assert load(data, "har", index=1).body == WHOLE
    for wrong, words in (
        (None, "2 entries: say which one with --index, 0 to 1"),
        (2, "no entry 2: there are 2"),
        (-1, "no entry"),
    ):
        with pytest.raises(UsageError, match=words):
            load(data, "har", index=wrong)
    with pytest.raises(UsageError, match="only a har holds several entries"):
        load(STREAM, "sse", index=0)


@pytest.mark.parametrize(
    ("changed", "want"),
    [
        ({"response": {"status": 0, "_error": "net::ERR_FAILED"}}, ("connect_error", None, "net::ERR_FAILED")),
        ({"response": None, "_error": "gone"}, ("connect_error", None, "gone")),
        ({"response": {"status": 503, "content": {"text": "<p>"}}}, ("http_5xx", 503, "no content type: <p>")),
        ({"response": {"status": 503}}, ("http_5xx", 503, None)),
        ({"response": {"status": 200, "content": {"size": 0}}, "startedDateTime": "now", "timings": {"dns": -1}},
         ("empty", 200, None)),
    ],
)  # fmt: skip
def test_odd_entries(changed: dict[str, Any], want: tuple[str, int | None, str | None]) -> None:
    exchange = decode(load(har(entry("", **changed)), "har"))
    assert (exchange.outcome, exchange.status, exchange.error) == want


@pytest.mark.parametrize(
    ("content", "words"),
    [(None, "is missing: the body was not saved"), ({}, "is missing"), ({"size": 812}, "is missing"),
     ({"text": 5}, "is no text"), ({"text": {"a": 1}, "size": 0}, "is no text")],
)  # fmt: skip
def test_a_body_that_was_not_saved_is_not_an_empty_one(content: Any, words: str) -> None:
    with pytest.raises(UsageError, match=r"log\.entries\[0\]\.response\.content\.text " + words):
        load(har(entry("", response={"status": 200, "content": content})), "har")


def test_har_bodies_may_be_base64() -> None:
    content = {"text": base64.b64encode(WHOLE).decode(), "encoding": "base64"}
    assert load(har(entry("", response={"status": 200, "content": content})), "har").body == WHOLE
    with pytest.raises(UsageError, match=r"log\.entries\[0\]\.response\.content\.text is not base64"):
        load(har(entry("", response={"status": 200, "content": content | {"text": "%"}})), "har")


@pytest.mark.parametrize("data", [b"", b"[]", b'{"log":{}}', b'{"log":{"entries":[]}}', b'{"log":{"entries":{}}}'])
def test_what_is_no_har(data: bytes) -> None:
    with pytest.raises(UsageError, match=r"HAR 1\.2"):
        load(data, "har")


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers(-(2**40), 2**40) | st.text(max_size=4), st.lists, max_leaves=4
)


@given(
    st.dictionaries(
        st.sampled_from(["request", "response", "timings", "startedDateTime", "_error"]),
        JSON
        | st.dictionaries(
            st.sampled_from(["status", "headers", "content", "send", "wait", "receive", "connect", "ssl", "postData"]),
            JSON,
        ),
    )
)
def test_any_entry_decodes(changed: dict[str, Any]) -> None:
    try:
        capture = load(har(entry("", **changed)), "har")
    except UsageError as error:
        assert str(error).startswith("log.entries[0].response")  # noqa: PT017  # most of them decode
        return
    assert decode(capture).outcome


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (har("x"), r"log\.entries\[0\] is no object.*HAR 1\.2"),
        (har({"response": "x"}), r"log\.entries\[0\]\.response is no object.*HAR 1\.2"),
        (har({"response": {"status": "200"}}), r"response\.status is no whole number.*HAR 1\.2"),
    ],
)
def test_malformed_entries_are_refused(data: bytes, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        load(data, "har")


HEADS = [
    b"HTTP/2 200 \r\ncontent-type: text/event-stream\r\nx-request-id: r7\r\n\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-Request-Id: r7\r\n\r\n",
    b"HTTP/1.1 200 Connection established\n\nHTTP/1.1 307 Moved\nLocation: /x\n\nHTTP/3 200\nx-request-id: r7\n\n",
    b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 40\r\nX-Request-Id: r7\r\n\r\n",
]


@pytest.mark.parametrize("head", HEADS)
def test_curl(head: bytes) -> None:
    exchange = decode(load(head + STREAM, "curl"))
    assert (exchange.outcome, exchange.choice.content, exchange.request_id) == ("ok", "7 kg", "r7")
    assert (exchange.measurement, exchange.flags) == ("no clock", ())


@pytest.mark.parametrize(
    "head", [b"content-type: text/plain\r\n", b"content-length: 29\r\n", b"transfer-encoding: chunked\r\n"]
)
@pytest.mark.parametrize("body", [b"HTTP/1.1 is what I speak, sir", b"HTTP/1.1 404 No\r\n\r\n"])
def test_a_body_that_looks_like_a_head_is_the_body(head: bytes, body: bytes) -> None:
    capture = load(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/2 200\r\n" + head + b"\r\n" + body, "curl")
    assert (capture.status, capture.body) == (200, body)
    assert load(b"HTTP/2 502\r\n\r\n" + body, "curl").body == body


def test_curl_that_was_cut_or_failed() -> None:
    assert load(b"HTTP/2 200\r\ncontent-length: 99\r\n\r\n{}", "curl").end == "unclean"
    for cut in (b"HTTP/2 200", b"HTTP/2 200\r\ncontent-le", b"HTTP/2 ok\r\n\r\n"):
        with pytest.raises(UsageError, match=r"line 1: a head that is not whole.*curl -i"):
            load(cut, "curl")
    assert decode(load(b"HTTP/2 429\r\nretry-after: 7\r\n\r\n", "curl")).retry_after_s == 7
    assert (
        decode(load(b"HTTP/2 200\r\ncontent-encoding: br\r\n\r\n\x8b\x02\x80", "curl")).outcome
        == "undecodable_encoding"
    )
    with pytest.raises(UsageError, match="line 1: not a status line"):
        load(STREAM, "curl")


def test_curl_itself(tmp_path: Any) -> None:
    """The real program, where there is one: else its output by hand, above, is the only oracle."""
    curl = shutil.which("curl")
    if curl is None:
        return

    async def printed() -> bytes:
        import asyncio

        async with ReplayServer([Script(chunks=(Chunk(0, EVENT), Chunk(5, STREAM[len(EVENT) :])))]) as server:
            process = await asyncio.create_subprocess_exec(
                curl, "-isN", "-d", "{}", f"{server.url}/chat/completions", stdout=subprocess.PIPE
            )
            output, _ = await process.communicate()
            return output

    import asyncio

    capture = load(asyncio.run(printed()), "curl")
    assert (capture.status, capture.body) == (200, STREAM)


def test_foreign_captures_know_no_more_than_they_say() -> None:
    assert load(HEADS[0] + STREAM, "curl") == Capture(
        status=200,
        headers=(("content-type", "text/event-stream"), ("x-request-id", "r7")),
        reads=(Read(0, STREAM),),
    )
