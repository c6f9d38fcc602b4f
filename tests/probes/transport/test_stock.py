"""The stock transport behind the same client: what it keeps, and how failures are named. Same oracle as for ours."""

import asyncio

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
from tests.probes.transport.servers import HEAD, read_request, serving

EVENT = b'data: {"choices":[{"index":0,"delta":{"content":"hi"},"finish_reason":"stop"}]}\n\n'
GOOD = Script(chunks=(Chunk(0, EVENT), Chunk(20, b"data: [DONE]\n\n")))
ASK = Request(prompt_id="p", messages=({"role": "user", "content": "hi"},), max_tokens=4)
SHORT = Limits(connect_s=2, first_byte_s=0.3, stall_s=0.3, total_s=1.0, max_events=5)


async def ask(url: str, *, proxy: str | None = None, n: int = 1) -> list[Capture]:
    clock = SystemClock()
    endpoint = Endpoint(name="test/one", provider="test", base_url=url, model="m")
    async with Heartbeat(clock).beating() as heartbeat:
        client = HttpClient(
            endpoint, speaker(endpoint), key="k", clock=clock, heartbeat=heartbeat, limits=SHORT,
            sender=StockSender(clock.monotonic_ns, proxy=proxy),
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
        (Script(chunks=tuple(Chunk(at, EVENT) for at in range(0, 200, 2))), "client_limit"),
    ],
)
async def test_ways_to_fail(served: Script, end: str) -> None:
    async with ReplayServer([served]) as server:
        (capture,) = await ask(server.url)
    assert capture.end == end


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


async def test_http2_needs_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_h2(**_: object) -> httpx.AsyncClient:
        raise ImportError("no h2")

    monkeypatch.setattr("probes.transport.stock.httpx.AsyncClient", no_h2)
    with pytest.raises(UsageError, match=r"pip install .weighmaster\[http2\]"):
        StockSender(SystemClock().monotonic_ns, http2=True)


def test_proxy_address_must_be_one() -> None:
    with pytest.raises(UsageError, match="proxy"):
        StockSender(SystemClock().monotonic_ns, proxy="nonsense")
