"""The stock transport behind the same client: what it keeps, and how failures are named. Same oracle as for ours."""

import asyncio
import base64

import httpx
import pytest

from jobs.clock import SystemClock
from jobs.replay import Chunk, ReplayServer, Script
from monitor.errors import UsageError
from monitor.types import Capture, Endpoint, Request
from monitor.wire.dispatch import decode, speaker
from probes.client import HttpClient
from probes.heartbeat import Heartbeat
from probes.limits import Limits
from probes.transport.stock import StockSender
from tests.probes.transport.servers import CHUNKED, HEAD, Handler, client_tls, read_request, sends, serving
from tests.probes.transport.test_limits import DONE, PING, ROLE, TOKEN, chunk, endless

EVENT = b'data: {"choices":[{"index":0,"delta":{"content":"hi"},"finish_reason":"stop"}]}\n\n'
GOOD = Script(chunks=(Chunk(0, EVENT), Chunk(20, b"data: [DONE]\n\n")))
ASK = Request(prompt_id="p", messages=({"role": "user", "content": "hi"},), max_tokens=4)
SHORT = Limits(
    connect_s=0.5, first_byte_s=0.3, first_token_s=0.5, stall_s=0.3, linger_s=0.1, total_s=1.0, max_events=50
)  # fmt: skip


async def ask(url: str, *, proxy: str | None = None, n: int = 1) -> list[Capture]:
    clock, tls = SystemClock(), client_tls()
    endpoint = Endpoint(name="test/one", provider="test", base_url=url, model="m")
    async with Heartbeat(clock).beating() as heartbeat:
        client = HttpClient(
            endpoint, speaker(endpoint), key="k", clock=clock, heartbeat=heartbeat, limits=SHORT,
            sender=StockSender(clock.monotonic_ns, proxy=proxy, tls=tls), tls=tls,
        )  # fmt: skip
        try:
            return [await client.send(ASK) for _ in range(n)]
        finally:
            await client.aclose()


async def test_keeps_bytes_stamps_and_its_name() -> None:
    async with ReplayServer([GOOD]) as server:
        first, second = await ask(server.url, n=2)
    assert (first.transport, first.end, first.status) == ("httpx", "complete", 200)
    assert first.body == EVENT + b"data: [DONE]\n\n"
    assert (first.reused, second.reused) == (False, True)
    assert (first.connect_ns or 0) > 0
    stamps = [first.t0_ns, first.sent_ns, first.first_byte_ns, *(read.at_ns for read in first.reads), first.eof_ns]
    assert stamps == sorted(stamp for stamp in stamps if stamp is not None)
    assert decode(first).outcome == "ok"


@pytest.mark.parametrize(
    ("served", "end"),
    [
        (Script(chunks=(Chunk(0, EVENT),), close="rst"), "reset"),
        (Script(chunks=(Chunk(0, EVENT),), close="cut"), "unclean"),
        (Script(chunks=(Chunk(0, EVENT), Chunk(900, EVENT))), "stalled"),
        (Script(chunks=(Chunk(900, EVENT),)), "timeout_first_byte"),
        (Script(chunks=tuple(Chunk(at, EVENT) for at in range(0, 400, 2))), "client_limit"),
    ],
)
async def test_ways_to_fail(served: Script, end: str) -> None:
    async with ReplayServer([served]) as server:
        (capture,) = await ask(server.url)
    assert capture.end == end


@pytest.mark.parametrize(
    ("handler", "end", "error"),
    [
        (endless(CHUNKED, chunk(PING), 0.02), "stalled", "0.5 s without a token"),
        (endless(CHUNKED, chunk(ROLE), 0.02), "stalled", "0.5 s without a token"),
        (endless(CHUNKED + chunk(TOKEN), chunk(PING), 0.02), "stalled", "0.3 s since the last token"),
        (endless(CHUNKED, chunk(TOKEN), 0.03), "client_limit", "1 s in all"),
        (sends([CHUNKED + chunk(TOKEN) + chunk(DONE)], pause_s=5), "stalled", "0.1 s after the end marker"),
        (sends([], pause_s=5, close=False), "timeout_first_byte", "0.3 s without a byte"),
        (endless(b"HTTP/1.1 200 OK\r\n", b"X-Pad: " + b"y" * 1000 + b"\r\n"), "client_limit", "too long"),
    ],
)
async def test_limits_are_those_of_our_own_transport(handler: Handler, end: str, error: str) -> None:
    """Oracle: the same servers and ends as in test_limits."""
    async with serving(handler) as url:
        (capture,) = await ask(url)
    assert (capture.end, error in (capture.error or "")) == (end, True)


async def silent(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    await asyncio.sleep(5)


async def dropping(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")


async def refusing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await read_request(reader)
    writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
    await writer.drain()


@pytest.mark.parametrize(
    ("proxy", "target", "error"),
    [
        (silent, "https://endpoint.invalid/v1", "no connection within 0.5 s"),
        (dropping, "https://endpoint.invalid/v1", "disconnected"),
        (refusing, "https://endpoint.invalid/v1", "ProxyError: 407"),
        (refusing, "http://endpoint.invalid/v1", "ProxyError: 407"),
    ],
)
async def test_what_a_proxy_does_is_not_blamed_on_the_endpoint(proxy: Handler, target: str, error: str) -> None:
    """Nothing was sent to the endpoint, so nothing is stamped, and the end is that of a connection."""
    async with serving(proxy) as url:
        (capture,) = await ask(target, proxy=url)
    assert (capture.end, capture.status, capture.headers) == ("connect_error", None, ())
    assert (capture.t0_ns, capture.sent_ns, capture.first_byte_ns, capture.eof_ns) == (None, None, None, None)
    assert error in (capture.error or "")
    assert decode(capture).outcome == "connect_error"


async def test_dead_endpoint_is_a_connect_error() -> None:
    (capture,) = await ask("http://127.0.0.1:1/v1")
    assert (capture.end, capture.status) == ("connect_error", None)


async def test_through_a_proxy_and_the_record_says_so() -> None:
    seen: list[bytes] = []

    async def proxy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(await read_request(reader))
        writer.write(HEAD + b"Content-Length: %d\r\n\r\n" % len(EVENT) + EVENT)
        await writer.drain()

    async with serving(proxy) as url:
        (capture,) = await ask("http://endpoint.invalid/v1", proxy=url)
    assert seen[0].startswith(b"POST http://endpoint.invalid/v1/chat/completions HTTP/1.1\r\n")
    assert (capture.transport, capture.end) == ("httpx+proxy", "complete")


async def test_what_a_proxy_repeats_of_its_password_is_masked() -> None:
    async def proxy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await read_request(reader)).lower()
        sign = head.partition(b"proxy-authorization: ")[2].partition(b"\r\n")[0]
        assert sign == base64.b64encode(b"me:pass/word-123").lower().join([b"basic ", b""])
        told = base64.b64encode(b"me:pass/word-123") + b" pass/word-123"
        writer.write(HEAD + b"X-Told: %b\r\nContent-Length: %d\r\n\r\n%b" % (told, len(told), told))
        await writer.drain()

    async with serving(proxy) as url:
        (capture,) = await ask("http://endpoint.invalid/v1", proxy=url.replace("//", "//me:pass%2Fword-123@"))
    assert dict(capture.headers)["x-told"] == "[key] [key]"
    assert set(capture.body) == set(b"* ")


async def test_http2_needs_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_h2(**_: object) -> httpx.AsyncClient:
        raise ImportError("no h2")

    monkeypatch.setattr("probes.transport.stock.httpx.AsyncClient", no_h2)
    with pytest.raises(UsageError, match=r"pip install .weighmaster\[http2\]"):
        StockSender(SystemClock().monotonic_ns, http2=True)


def test_proxy_address_must_be_one() -> None:
    with pytest.raises(UsageError, match="proxy"):
        StockSender(SystemClock().monotonic_ns, proxy="nonsense")
