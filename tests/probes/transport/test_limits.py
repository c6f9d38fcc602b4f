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


TOKEN = b'data: {"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}\n\n'
ROLE = b'data: {"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}\n\n'
PING = b": ping\n\n"
DONE = b"data: [DONE]\n\n"


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
        (endless(CHUNKED, chunk(TOKEN), 0.02), "client_limit", "in all"),
        (endless(CHUNKED, chunk(PING), 0.02), "stalled", "without a token"),
        (endless(CHUNKED, chunk(ROLE), 0.02), "stalled", "without a token"),
        (endless(CHUNKED + chunk(TOKEN), chunk(PING), 0.02), "stalled", "0.3 s since the last token"),
        (endless(CHUNKED + chunk(TOKEN), chunk(ROLE), 0.02), "stalled", "0.3 s since the last token"),
        (endless(CHUNKED + chunk(TOKEN), chunk(b"\n"), 0.02), "stalled", "0.3 s since the last token"),
        (endless(CHUNKED + chunk(TOKEN), chunk(b": pi") + chunk(b"ng\n\n"), 0.02), "stalled", "since the last token"),
        (endless(HEAD + b'\r\n{"choices":', b"1", 0.02), "client_limit", "in all"),
        (sends([CHUNKED], pause_s=5), "timeout_first_byte", "without a byte"),
        (sends([], pause_s=5, close=False), "timeout_first_byte", "without a byte"),
        (sends([CHUNKED + chunk(TOKEN)], pause_s=5), "stalled", "0.3 s since the last token"),
        (sends([CHUNKED + chunk(DONE)], pause_s=5), "stalled", "0.1 s after the end marker"),
        (sends([CHUNKED + chunk(DONE[:-5]) + chunk(DONE[-5:] + PING)], pause_s=5), "stalled", "after the end marker"),
    ],
)
async def test_every_limit_has_a_named_end(handler: Handler, end: str, error: str) -> None:
    limits = replace(SHORT, total_s=0.8, max_bytes=100_000, max_events=5000, max_header_bytes=20_000)
    async with serving(handler) as url:
        attempt = await ask_once(url, limits=limits)
    assert attempt.end == end
    assert error in (attempt.error or "")
    assert sum(map(len, attempt.bodies)) <= limits.max_bytes + 64 * 1024  # the read that went over


@pytest.mark.parametrize("sign", [PING, ROLE])
async def test_signs_of_life_before_the_first_token_are_patience_not_progress(sign: bytes) -> None:
    """Case TR-10: the wait for the first token is longer than the one between tokens, whatever comes meanwhile."""
    slow = [CHUNKED, *[chunk(sign)] * 4, chunk(TOKEN), b"0\r\n\r\n"]
    async with serving(sends(slow, pause_s=0.1)) as url:
        attempt = await ask_once(url, limits=replace(SHORT, first_token_s=5))
    assert attempt.end == "complete"


async def test_no_token_within_the_whole_time_is_a_stall_of_the_endpoint() -> None:
    async with serving(endless(CHUNKED, chunk(ROLE), 0.02)) as url:
        attempt = await ask_once(url, limits=replace(SHORT, first_token_s=9, total_s=0.3))
    assert (attempt.end, attempt.error) == ("stalled", attempt.error)
    assert "0.3 s in all" in (attempt.error or "")


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
