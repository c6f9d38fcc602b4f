"""A response means the same live and recorded. Oracle: each other, since one parser is llhttp and the other ours."""

import pytest

from monitor.wire.files import load
from tests.probes.transport.servers import HEAD, ask_once, sends, serving

BODY = b'data: {"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
SIZE = len(BODY)
CHUNKS = b"%x\r\n%b\r\n0\r\n" % (SIZE, BODY)
TE = b"Transfer-Encoding: chunked\r\n"

RESPONSES = [
    HEAD + b"Content-Length: %d\r\nContent-Length: %d\r\n\r\n" % (SIZE, SIZE) + BODY,
    *[
        HEAD + b"Content-Length:" + length + b"\r\n\r\n" + BODY
        for length in (b" -5", b" +5", b"", b" abc", b" 9, 9", b" " + b"9" * 23, b" 1" + b"0" * 18, b" %d " % SIZE)
    ],
    HEAD + b"Content-Length: 5\r\n" + TE + b"\r\n" + CHUNKS + b"\r\n",
    HEAD + TE + b"Content-Length: 5\r\n" + b"\r\n" + CHUNKS + b"\r\n",
    *[
        HEAD + b"Transfer-Encoding: " + coding + b"\r\n\r\n" + body
        for coding in (b"xchunked", b"gzip, chunked", b"chunked, gzip", b"identity", b"CHUNKED")
        for body in (BODY, CHUNKS + b"\r\n")
    ],
    HEAD + b"Transfer-Encoding: gzip\r\n" + TE + b"\r\n" + CHUNKS + b"\r\n",
    *[
        HEAD + TE + b"\r\n" + body
        for body in (
            CHUNKS, CHUNKS + b"X: y\r\n\r\n", CHUNKS + b"garbage\r\n\r\n", b"0x" + CHUNKS + b"\r\n", b"zz\r\n" + BODY,
            b"-5\r\n" + BODY, b"1_0\r\n" + BODY, b"f" * 40 + b"\r\n" + BODY, b"\r\n" + CHUNKS + b"\r\n", b"%x" % SIZE,
            (CHUNKS + b"\r\n").replace(b"\r\n", b"\n"), (CHUNKS + b"\r\n").replace(b"\r\n", b";a=b\r\n", 1),
            (CHUNKS + b"\r\n").replace(b"\r\n", b"  \r\n", 1), b"%x\r\n%bXX0\r\n\r\n" % (SIZE, BODY),
        )
    ],
    *[
        line + b"\r\n\r\n" + BODY
        for line in (
            b"HTTP/1.1 204 N\r\nContent-Length: 9", b"HTTP/1.1 304 N\r\nContent-Length: 9", b"HTTP/1.1 999999 N",
            b"HTTP/1.1 20 N", b"HTTP/1.1 600 N", b"HTTP/1.1", b"HTTP/1.1 200", b"HTTP/1.9 200 OK", b"HTTP/1.0 200 OK",
            b"HTTP/1.1 101 S", b"HTTP/1.1 100 C\r\n\r\nHTTP/1.1 200 OK", b"HTTP/1.1  200 OK", b"HTTP/1.1 200 OK\r\nX",
            b"HTTP/1.1 200 OK\r\nX: a\0b", b"HTTP/1.1 200 OK\r\nX : y", b"HTTP/1.1 200 OK\r\nX: y\r\n z",
            b"HTTP/1.1 200 OK\r\n: y", b"HTTP/1.1 200 OK\r\nX Y: y", b"HTTP/1.1 200 OK\r\nX: \xff",
            b"HTTP/1.1 200 OK\nX: y",
        )
    ],
    b"\r\n" + HEAD + b"\r\n" + BODY,
    HEAD + b"Content-Length: %d\r\n\r\n" % SIZE + BODY + HEAD + b"\r\n",
    b"HTTP/1.", HEAD,
]  # fmt: skip


async def test_live_and_recorded_agree() -> None:
    differ = []
    for raw in RESPONSES:
        async with serving(sends([raw])) as url:
            live = await ask_once(url)
        recorded = load(raw, "http")
        if (live.status, live.end, b"".join(live.bodies)) != (recorded.status, recorded.end, recorded.body):
            differ.append(raw)
    assert differ == []


@pytest.mark.parametrize("raw", [b"SSH-2.0-OpenSSH_9\r\n", b"http/1.1 200 OK\r\n\r\n", b"\x15\x03\x03\x00\x02\x02\x28"])
async def test_what_does_not_speak_http_is_no_endpoint(raw: bytes) -> None:
    async with serving(sends([raw])) as url:
        attempt = await ask_once(url)
    assert (attempt.end, attempt.status) == ("connect_error", None)
    assert (attempt.error or "").startswith("no HTTP answer")
