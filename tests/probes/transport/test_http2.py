"""HTTP/2 over the stock transport, against a server made of the package h2. Oracle: what that server sent and saw."""

import asyncio

import pytest

from jobs.clock import SystemClock
from monitor.types import Capture, Endpoint, Request
from monitor.wire.dispatch import decode, speaker
from probes.client import HttpClient
from probes.heartbeat import Heartbeat
from probes.limits import Limits
from probes.transport.stock import StockSender
from tests.probes.transport.http2_server import Http2Server, serving_http2
from tests.probes.transport.servers import HEAD, client_tls, read_request, server_tls, serving

EVENT = b'data: {"choices":[{"index":0,"delta":{"content":"hi"},"finish_reason":%b}]}\n\n'
STEPS = [(0.0, EVENT % b"null"), (0.03, EVENT % b'"stop"'), (0.0, b"data: [DONE]\n\n")]
ASK = Request(prompt_id="p", messages=({"role": "user", "content": "hi"},), max_tokens=4)
SHORT = Limits(connect_s=2, first_byte_s=0.3, stall_s=0.3, total_s=2)


async def ask(url: str, *, n: int = 1, at_once: bool = False) -> list[Capture]:
    clock = SystemClock()
    endpoint = Endpoint(name="test/one", provider="test", base_url=f"{url}/v1", model="m")
    async with Heartbeat(clock).beating() as heartbeat:
        client = HttpClient(
            endpoint, speaker(endpoint), key="k", clock=clock, heartbeat=heartbeat, limits=SHORT, tls=client_tls(),
            sender=StockSender(clock.monotonic_ns, http2=True, tls=client_tls()),
        )  # fmt: skip
        try:
            if at_once:
                async with asyncio.TaskGroup() as group:
                    tasks = [group.create_task(client.send(ASK)) for _ in range(n)]
                return [task.result() for task in tasks]
            return [await client.send(ASK) for _ in range(n)]
        finally:
            await client.aclose()


async def test_the_record_says_http2_and_is_stamped() -> None:
    server = Http2Server(STEPS)
    async with serving_http2(server) as url:
        first, second = await ask(url, n=2)
    assert (first.transport, second.transport) == ("httpx+http2", "httpx+http2")
    assert (first.status, first.end, first.error) == (200, "complete", None)
    assert (first.reused, second.reused, server.connections) == (False, True, 1)
    assert (first.connect_ns or 0) > 0
    assert (first.tls_ns or 0) > 0
    assert second.connect_ns is None
    stamps = [first.t0_ns, first.sent_ns, first.first_byte_ns, *(read.at_ns for read in first.reads), first.eof_ns]
    assert None not in stamps
    assert stamps == sorted(stamp for stamp in stamps if stamp is not None)
    exchange = decode(first)
    assert (exchange.outcome, exchange.choice.content, exchange.transport) == ("ok", "hihi", "httpx+http2")
    assert exchange.ttft_ms is not None
    assert exchange.last_token_ms is not None
    assert exchange.last_token_ms - exchange.ttft_ms >= 25  # the server waits 30 ms between the two


async def test_the_request_is_one_that_http2_allows() -> None:
    """RFC 9113, section 8.2.2: no connection-specific header may be sent."""
    server = Http2Server(STEPS)
    async with serving_http2(server) as url:
        await ask(url)
    (seen,) = server.seen
    assert (seen[":method"], seen[":path"], seen["authorization"]) == ("POST", "/v1/chat/completions", "Bearer k")
    assert not {"connection", "host", "transfer-encoding", "keep-alive"} & set(seen)


async def test_requests_at_the_same_time() -> None:
    server = Http2Server(STEPS)
    async with serving_http2(server) as url:
        captures = await ask(url, n=4, at_once=True)
    assert [decode(capture).outcome for capture in captures] == ["ok"] * 4
    assert len(server.seen) == 4


@pytest.mark.parametrize(
    ("steps", "end", "named"),
    [
        (STEPS[:1], "rst", "unclean"),
        (STEPS[:1], "drop", "unclean"),
        ([*STEPS[:1], (1.0, b"")], "fin", "stalled"),
        ([(1.0, b"")], "fin", "timeout_first_byte"),
    ],
)
async def test_ways_to_fail(steps: list[tuple[float, bytes]], end: str, named: str) -> None:
    """Named, never an exception."""
    async with serving_http2(Http2Server(steps, end=end)) as url:
        (capture,) = await ask(url)
    assert (capture.end, capture.status) == (named, 200)
    assert decode(capture).outcome in {"truncated", "stalled", "timeout_first_byte"}


async def test_what_is_no_http2_at_all() -> None:
    """A peer that agreed to HTTP/2 and then speaks something else."""

    async def babble(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(10)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n" * 3)
        await writer.drain()

    tls = server_tls()
    tls.set_alpn_protocols(["h2"])
    async with serving(babble, tls) as url:
        (capture,) = await ask(url)
    assert capture.status is None
    assert decode(capture).outcome == "connect_error"


async def test_where_http2_was_offered_and_not_taken_the_record_says_so() -> None:
    """The transport is named after what was spoken, not after what was offered."""

    async def http1(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        body = b"".join(data for _, data in STEPS)
        writer.write(HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        await writer.drain()

    async with serving(http1, server_tls()) as url:
        (capture,) = await ask(url)
    assert (capture.transport, capture.end) == ("httpx", "complete")
