"""What a request may cost: every limit ends in a named end, and nothing grows past it."""

import asyncio
from dataclasses import replace

import pytest

from probes.limits import Limits
from tests.probes.transport.servers import CHUNKED, HEAD, SHORT, Handler, ask_once, read_request, sends, serving


def endless(start: bytes, more: bytes, pause_s: float = 0.0) -> Handler:
    """Answers with `start`, then `more` again and again."""

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(start)
        while not writer.is_closing():
            writer.write(more)
            await writer.drain()
            await asyncio.sleep(pause_s)

    return handler


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


@pytest.mark.parametrize(
    ("handler", "end", "error"),
    [
        (endless(b"HTTP/1.1 200 OK\r\n", b"X-Pad: " + b"y" * 1000 + b"\r\n"), "client_limit", "headers or framing"),
        (endless(b"HTTP/1.1 200 OK\r\nX: ", b"y" * 1000), "client_limit", "headers or framing"),
        (endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 50), "client_limit", "headers or framing"),
        (endless(CHUNKED + b"1;", b"z" * 1000), "client_limit", "headers or framing"),
        (endless(CHUNKED + b"0\r\n", b"X-Trailer: " + b"y" * 1000 + b"\r\n"), "client_limit", "headers or framing"),
        (endless(CHUNKED, chunk(b"data: x\n\n" * 100)), "client_limit", "events"),
        (endless(HEAD + b"\r\n", b"{" * 1000), "client_limit", "bytes"),
        (endless(CHUNKED, chunk(b"data: x\n\n"), 0.02), "client_limit", "in all"),
        (endless(CHUNKED, chunk(b": ping\n\n"), 0.02), "stalled", "of comments only"),
        (endless(CHUNKED + chunk(b"data: x\n\n"), chunk(b": ping\n\n"), 0.02), "stalled", "since the last data"),
        (sends([CHUNKED], pause_s=5), "timeout_first_byte", "without a byte"),
        (sends([], pause_s=5, close=False), "timeout_first_byte", "without a byte"),
        (sends([CHUNKED + chunk(b"data: x\n\n")], pause_s=5), "stalled", "0.3 s since the last data"),
        (sends([CHUNKED + chunk(b"data: [DONE]\n\n")], pause_s=5), "stalled", "0.1 s after [DONE]"),
    ],
)
async def test_every_limit_has_a_named_end(handler: Handler, end: str, error: str) -> None:
    limits = replace(SHORT, total_s=0.8, max_bytes=100_000, max_events=5000, max_header_bytes=20_000)
    async with serving(handler) as url:
        attempt = await ask_once(url, limits=limits)
    assert attempt.end == end
    assert error in (attempt.error or "")
    assert sum(map(len, attempt.bodies)) <= limits.max_bytes + 64 * 1024  # the read that went over


async def test_comments_before_the_first_event_are_patience_not_progress() -> None:
    """Case TR-10: comments prove that the endpoint lives, not that it generates."""
    slow = [CHUNKED, *[chunk(b": ping\n\n")] * 4, chunk(b"data: x\n\n"), b"0\r\n\r\n"]
    async with serving(sends(slow, pause_s=0.1)) as url:
        attempt = await ask_once(url, limits=replace(SHORT, first_event_s=5))
    assert attempt.end == "complete"


async def test_no_connection_in_time() -> None:
    """A listener whose queue is full answers no handshake."""
    import socket

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        port = listener.getsockname()[1]
        fillers = [socket.socket() for _ in range(4)]
        for filler in fillers:
            filler.settimeout(0)
            filler.connect_ex(("127.0.0.1", port))
        attempt = await ask_once(f"http://127.0.0.1:{port}", limits=Limits(connect_s=0.2))
        for filler in fillers:
            filler.close()
    assert attempt.end == "connect_error"
    assert attempt.t0_ns is None
