"""The capturing client against real servers on port 0: what it keeps, and how each way to fail is named."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from jobs.clients import http_client
from jobs.clock import SystemClock
from jobs.replay import Chunk, ReplayServer, Script
from monitor.errors import UsageError
from monitor.types import Capture, Endpoint, Exchange, Request
from monitor.wire.dispatch import decode
from monitor.wire.progress import Progress
from monitor.wire.record import record
from probes.client import HttpClient
from probes.heartbeat import Heartbeat
from probes.limits import Limits

KEY = "sk-very-secret-0123456789"
ASK = Request(prompt_id="p", messages=({"role": "user", "content": "hi"},), max_tokens=4, temperature=0.0, seed=7)
JSON = "application/json"
SHORT = Limits(connect_s=2, first_byte_s=0.3, stall_s=0.3, total_s=1.0)

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def event(text: str, finish: str | None = None) -> bytes:
    chunk = {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": finish}]}
    return b"data: " + orjson.dumps(chunk) + b"\n\n"


GOOD = (Chunk(0, event("Hel")), Chunk(20, event("lo", "stop")), Chunk(25, b"data: [DONE]\n\n"))


def script(*chunks: Chunk, status: int = 200, close: str = "none", content_type: str = "text/event-stream") -> Script:
    return Script(status=status, headers=(("content-type", content_type),), chunks=chunks, close=close)  # type: ignore[arg-type]  # a literal as text


def endpoint_at(url: str) -> Endpoint:
    return Endpoint(name="test/one", provider="test", base_url=url, model="m")


async def send(
    url: str, *, limits: Limits = SHORT, n: int = 1, key: str | None = KEY, asks: Sequence[Request] = ()
) -> list[Capture]:
    clock = SystemClock()
    async with Heartbeat(clock).beating() as heartbeat:
        client = http_client(endpoint_at(url), key, clock, heartbeat, limits)
        try:
            return [await client.send(ask) for ask in asks or [ASK] * n]
        finally:
            await client.aclose()


@asynccontextmanager
async def raw_server(handler: Handler, ssl_context: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    """A server that is only its `handler`; yields the base URL."""
    server = await asyncio.start_server(handler, "127.0.0.1", 0, ssl=ssl_context)
    scheme = "https" if ssl_context else "http"
    try:
        yield f"{scheme}://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    finally:
        server.close()


async def read_request(reader: asyncio.StreamReader) -> None:
    head = await reader.readuntil(b"\r\n\r\n")
    lines = head.lower().split(b"\r\n")
    await reader.readexactly(next(int(line.split(b":")[1]) for line in lines if line.startswith(b"content-length")))


async def test_keeps_bytes_stamps_and_the_exact_body() -> None:
    async with ReplayServer([script(*GOOD)]) as server:
        (capture,) = await send(server.url)
        received = server.requests[0]
    assert capture.body == b"".join(chunk.data for chunk in GOOD)
    assert orjson.loads(capture.sent) == received.body
    assert capture.request == ASK
    assert received.headers["authorization"] == f"Bearer {KEY}"
    assert received.headers["accept-encoding"] == "identity"
    assert capture.t0_ns is not None
    assert capture.sent_ns is not None
    assert capture.eof_ns is not None
    stamps = [capture.t0_ns, capture.sent_ns, *(read.at_ns for read in capture.reads), capture.eof_ns]
    assert stamps == sorted(stamps)
    assert (capture.end, capture.status, capture.reused) == ("complete", 200, False)
    assert (capture.connect_ns or 0) > 0


async def test_key_is_nowhere_in_the_capture() -> None:
    async with ReplayServer([script(*GOOD)]) as server:
        (capture,) = await send(server.url)
    assert KEY not in repr(capture)


async def test_second_request_reuses_the_connection() -> None:
    async with ReplayServer([script(*GOOD)]) as server:
        first, second = await send(server.url, n=2)
    assert (first.reused, second.reused) == (False, True)
    assert second.connect_ns is None
    assert second.transport_retry == 0


async def test_connection_closed_while_idle_is_retried_once_and_said() -> None:
    """Case TR-07: zero bytes on a reused connection is no fault of the endpoint."""
    connections = 0

    async def closes_before_the_second(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        await read_request(reader)
        body = b"".join(chunk.data for chunk in GOOD)
        head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: %d\r\n\r\n" % len(body)
        writer.write(head + body)
        await writer.drain()
        if connections == 1:
            await read_request(reader)  # the second request arrives and gets nothing
        writer.close()

    async with raw_server(closes_before_the_second) as url:
        first, second = await send(url, n=2)
    assert (first.transport_retry, second.transport_retry) == (0, 1)
    assert second.reused is False
    assert decode(second).outcome == "ok"
    assert record(decode(second))["transport_retry"] == 1
    assert connections == 2


async def test_probe_chooses_a_fresh_connection() -> None:
    async with ReplayServer([script(*GOOD)]) as server:
        kept, fresh = await send(server.url, asks=[ASK, replace(ASK, fresh_connection=True)])
    assert (kept.reused, fresh.reused) == (False, False)
    assert (fresh.connect_ns or 0) > 0


async def test_capture_and_record_name_the_transport() -> None:
    async with ReplayServer([script(*GOOD)]) as server:
        (capture,) = await send(server.url)
    assert capture.transport == "wire"
    assert record(decode(capture))["transport"] == "wire"


def test_key_that_no_header_can_carry_is_refused_without_repeating_it() -> None:
    clock = SystemClock()
    with pytest.raises(UsageError, match="test/one: the key") as caught:
        http_client(endpoint_at("http://127.0.0.1:1/v1"), "sk-12345\n", clock, Heartbeat(clock))
    assert "12345" not in str(caught.value)


async def test_what_the_protocol_cannot_say_is_not_sent() -> None:
    class Mute:
        """A protocol without words for a seed."""

        def url(self, base_url: str, model: str) -> str:
            return base_url

        def headers(self, key: str | None) -> dict[str, str]:
            return {}

        def body(self, request: Request, model: str) -> bytes:
            return b"{}"

        def refused(self, request: Request) -> tuple[str, ...]:
            return ("seed",)

        def departures(self, request: Request) -> tuple[str, ...]:
            return ("not_sent:seed",)

        def progress(self) -> Progress:
            return Progress()

        def decode(self, capture: Capture) -> Exchange:
            return decode(capture)

    clock = SystemClock()
    async with ReplayServer([script(*GOOD)]) as server:
        client = HttpClient(endpoint_at(server.url), Mute(), key=None, clock=clock, heartbeat=Heartbeat(clock))
        capture = await client.send(ASK)
        assert server.requests == []
    assert (capture.end, capture.sent, capture.departures) == ("unsupported", b"", ("not_sent:seed",))
    assert decode(capture).outcome == "unsupported_param"


async def test_fresh_connection_closed_without_a_byte_is_a_failure() -> None:
    async def hangs_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.close()

    async with raw_server(hangs_up) as url:
        (capture,) = await send(url)
    assert (capture.end, capture.transport_retry, capture.status) == ("unclean", 0, None)


@pytest.mark.parametrize(
    ("served", "end", "outcome"),
    [
        (script(Chunk(0, event("Hel")), close="rst"), "reset", "truncated"),
        (script(Chunk(0, event("Hel")), Chunk(900, event("lo"))), "stalled", "stalled"),
        (script(Chunk(900, event("Hel"))), "timeout_first_byte", "timeout_first_byte"),
        (script(Chunk(0, b'{"error":{"message":"no"}}'), status=500, content_type=JSON), "complete", "http_5xx"),
        (script(Chunk(0, b'{"error":{"message":"key"}}'), status=401, content_type=JSON), "complete", "auth_error"),
    ],
)
async def test_ways_to_fail(served: Script, end: str, outcome: str) -> None:
    async with ReplayServer([served]) as server:
        (capture,) = await send(server.url)
    assert (capture.end, decode(capture).outcome) == (end, outcome)


async def test_endless_stream_ends_at_the_total_limit() -> None:
    chunks = tuple(Chunk(at, event("x")) for at in range(0, 6000, 50))
    async with ReplayServer([script(*chunks)]) as server:
        (capture,) = await send(server.url, limits=Limits(connect_s=0.1, first_byte_s=1, stall_s=1, total_s=0.4))
    assert capture.end == "client_limit"
    assert 3 < len(capture.reads) < 60


@pytest.mark.parametrize("limits", [Limits(max_bytes=1000), Limits(max_events=5)])
async def test_caps_end_the_read(limits: Limits) -> None:
    chunks = tuple(Chunk(at, event("x" * 50)) for at in range(0, 200, 2))
    async with ReplayServer([script(*chunks)]) as server:
        (capture,) = await send(server.url, limits=limits)
    assert capture.end == "client_limit"
    assert len(capture.body) < 3000


async def test_dead_endpoint() -> None:
    server = await asyncio.start_server(lambda _r, _w: None, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    server.close()
    await server.wait_closed()
    (capture,) = await send(f"http://127.0.0.1:{port}/v1")
    assert (capture.end, capture.status, capture.eof_ns) == ("connect_error", None, None)
    assert decode(capture).outcome == "connect_error"


async def test_unknown_host() -> None:
    (capture,) = await send("http://no-such-host.invalid/v1")
    assert capture.end == "connect_error"


async def test_untrusted_certificate() -> None:
    async def never(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    async with raw_server(never, self_signed()) as url:
        (capture,) = await send(url)
    assert capture.end == "tls_trust"


def self_signed() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(Path(__file__).parents[1] / "golden" / "tls" / "self_signed.pem")
    return context


async def test_plain_http_where_tls_is_expected_is_tls_dropped() -> None:
    async def speaks_plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async with raw_server(speaks_plain) as url:
        (capture,) = await send(url.replace("http://", "https://"))
    assert capture.end == "tls_dropped"


async def test_redirect_is_not_followed() -> None:
    async with ReplayServer([script(Chunk(0, b""), status=302)]) as server:
        (capture,) = await send(server.url)
        assert len(server.requests) == 1
    assert capture.status == 302


async def test_cancellation_goes_through_and_leaves_no_task() -> None:
    async with ReplayServer([script(Chunk(5000, event("late")))]) as server:
        before = len(asyncio.all_tasks())
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await send(server.url, limits=Limits())
        await asyncio.sleep(0.05)
        assert len(asyncio.all_tasks()) <= before + 1  # the server's own connection


async def test_lag_of_the_own_loop_is_recorded() -> None:
    import time

    async with ReplayServer([script(Chunk(0, event("a")), Chunk(250, event("b", "stop")))]) as server:
        clock = SystemClock()
        async with Heartbeat(clock).beating() as heartbeat:
            client = http_client(endpoint_at(server.url), None, clock, heartbeat, Limits())
            sending = asyncio.ensure_future(client.send(ASK))
            await asyncio.sleep(0.1)
            time.sleep(0.08)  # noqa: ASYNC251  # the blocked loop is what is measured
            capture = await sending
            await client.aclose()
    assert capture.lag_ms is not None
    assert capture.lag_ms >= 70


def test_an_address_that_is_none_is_told_with_its_endpoint() -> None:
    wrong = Endpoint(name="acme/m", provider="acme", base_url="http://256.1.1.1/v1", model="m")
    with pytest.raises(UsageError, match=r"acme/m: base_url http://256\.1\.1\.1/v1 cannot be asked: Invalid IPv4"):
        http_client(wrong, None, SystemClock(), Heartbeat(SystemClock()))
