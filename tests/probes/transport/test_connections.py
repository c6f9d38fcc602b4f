"""Which connection a request travels on, and what is left open. Oracle: what the server counted."""

import asyncio
import gc
import weakref

import httpx
import pytest

from probes.limits import Limits
from probes.transport.attempt import Attempt
from probes.transport.wire import WireTransport
from tests.probes.transport.servers import (
    CHUNKED,
    HEAD,
    SHORT,
    Handler,
    ask_once,
    attempt_at,
    chunked,
    client_tls,
    now,
    post,
    read_request,
    sends,
    server_tls,
    serving,
    transport,
)

ANSWER = CHUNKED + chunked([b"data: [DONE]\n\n"])


class Counting:
    """Counts connections, and those that were closed again."""

    def __init__(self, inner: Handler) -> None:
        self.opened = self.closed = 0
        self._inner = inner

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.opened += 1
        try:
            await self._inner(reader, writer)
        finally:
            self.closed += 1


async def test_a_clean_connection_is_used_again_and_a_fresh_one_when_asked() -> None:
    server = Counting(sends([ANSWER], close=False))
    async with serving(server) as url, transport() as wire:
        first = await attempt_at(wire, url)
        second = await attempt_at(wire, url)
        third = await attempt_at(wire, url, fresh=True)
        assert len(wire.pool) == 2
    assert [first.reused, second.reused, third.reused] == [False, True, False]
    assert server.opened == 2
    assert first.connect_ns is not None
    assert (second.connect_ns, second.dns_ns, second.tls_ns) == (None, None, None)


@pytest.mark.parametrize(
    "answer",
    [
        HEAD + b"Connection: close\r\nContent-Length: 2\r\n\r\nok",
        HEAD + b"Content-Length: 2\r\n\r\nok and more",
        CHUNKED + chunked([b"ok"]) + b"HTTP/1.1 200 OK\r\n",
        b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
    ],
)
async def test_an_unclean_connection_is_never_used_again(answer: bytes) -> None:
    server = Counting(sends([answer], close=False))
    async with serving(server) as url, transport() as wire:
        attempts = [await attempt_at(wire, url) for _ in range(2)]
        await asyncio.sleep(0.02)
        assert len(wire.pool) == 0
    assert [attempt.end for attempt in attempts] == ["complete", "complete"]
    assert [attempt.reused for attempt in attempts] == [False, False]
    assert server.opened == 2


async def test_bytes_on_an_idle_connection_drop_it() -> None:
    async def talks_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(ANSWER)
        await asyncio.sleep(0.05)
        writer.write(b"HTTP/1.1 408 Request Timeout\r\n\r\n")
        await reader.read()
        writer.close()

    async with serving(talks_on) as url, transport() as wire:
        await attempt_at(wire, url)
        assert len(wire.pool) == 1
        await asyncio.sleep(0.15)
        assert len(wire.pool) == 0
        assert (await attempt_at(wire, url)).reused is False


async def test_connection_closed_by_the_peer_while_idle_is_not_used() -> None:
    async def closes(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(ANSWER)
        writer.close()

    async with serving(closes) as url, transport() as wire:
        await attempt_at(wire, url)
        await asyncio.sleep(0.1)
        second = await attempt_at(wire, url)
    assert (second.reused, second.end) == (False, "complete")


async def test_idle_connections_age() -> None:
    async with serving(sends([ANSWER], close=False)) as url:
        wire = WireTransport(now, idle_s=0.05)
        await attempt_at(wire, url)
        await asyncio.sleep(0.1)
        assert (await attempt_at(wire, url)).reused is False
        await wire.aclose()


async def test_the_caller_sizes_the_pool() -> None:
    server = Counting(sends([ANSWER], pause_s=0.05, close=False))
    async with serving(server) as url, transport(keep=2) as wire:
        async with asyncio.TaskGroup() as group:
            for _ in range(5):
                group.create_task(attempt_at(wire, url))
        await asyncio.sleep(0.05)
        assert (server.opened, len(wire.pool)) == (5, 2)


async def test_cancellation_drops_the_connection_and_leaves_nothing() -> None:
    server = Counting(sends([CHUNKED, b"2\r\nok\r\n"], pause_s=5, close=False))
    async with serving(server) as url, transport() as wire:
        before = len(asyncio.all_tasks())
        asking = asyncio.create_task(attempt_at(wire, url, limits=Limits()))
        await asyncio.sleep(0.1)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await asyncio.sleep(0.05)
        assert len(wire.pool) == 0
        assert len(asyncio.all_tasks()) <= before + 1  # the server's own connection


async def test_cancellation_while_connecting_leaves_nothing() -> None:
    """A TLS handshake that the server never answers."""

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    async with serving(silent) as url, transport(tls=client_tls()) as wire:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await attempt_at(wire, url.replace("http:", "https:"), limits=Limits())
        await asyncio.sleep(0.05)
        assert len(wire.pool) == 0


async def test_closing_the_transport_ends_what_is_under_way() -> None:
    async with serving(sends([CHUNKED], pause_s=5)) as url:
        wire = WireTransport(now)
        asking = asyncio.create_task(attempt_at(wire, url, limits=Limits()))
        await asyncio.sleep(0.1)
        await wire.aclose()
        assert (await asking).end == "cancelled"


async def test_a_large_request_is_sent_whole_and_stamped_when_it_was() -> None:
    received = bytearray()

    async def slow_reader(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(0.15)
        received.extend(await read_request(reader))
        writer.write(ANSWER)
        writer.close()

    body = b"x" * 20_000_000
    async with serving(slow_reader) as url, transport() as wire:
        attempt = await attempt_at(wire, url, body=body, limits=Limits(first_byte_s=20))
    assert received.endswith(b"\r\n\r\n" + body)
    assert attempt.end == "complete"
    assert attempt.t0_ns is not None
    assert attempt.sent_ns is not None
    assert attempt.sent_ns - attempt.t0_ns >= 140_000_000


async def test_an_answer_before_the_request_was_read_is_kept() -> None:
    async def hasty(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n")
        await asyncio.sleep(0.3)
        writer.transport.abort()

    async with serving(hasty) as url, transport() as wire:
        attempt = await attempt_at(wire, url, body=b"x" * 20_000_000)
        await asyncio.sleep(0.02)
        assert len(wire.pool) == 0
    assert (attempt.end, attempt.status, attempt.sent_ns) == ("complete", 413, None)


async def test_many_at_once_each_on_its_own_connection() -> None:
    server = Counting(sends([CHUNKED, chunked([b"data: x\n\n"])], pause_s=0.02, close=False))
    async with serving(server) as url, transport() as wire:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(attempt_at(wire, url, limits=Limits())) for _ in range(120)]
        assert {task.result().end for task in tasks} == {"complete"}
        assert server.opened == 120


async def test_attempts_are_freed_without_the_garbage_collector() -> None:
    """While streams are timed the collector may be off; then nothing may pile up."""

    async with serving(sends([ANSWER], close=False)) as url, transport() as wire:
        gc.disable()
        try:
            attempt = Attempt(limits=SHORT)
            request = post(url, attempt)
            stream = await wire.ask(request, attempt)
            await stream.ended()
            watched = weakref.ref(stream)
            del stream, attempt, request
            await asyncio.sleep(0)
            assert watched() is None
        finally:
            gc.enable()


async def test_under_a_plain_httpx_client() -> None:
    parts = [b"data: a\n\n", b"data: b\n\n"]
    pieces = [CHUNKED, *(b"9\r\n%b\r\n" % part for part in parts), b"0\r\n\r\n"]
    async with (
        serving(sends(pieces, pause_s=0.02)) as url,
        httpx.AsyncClient(transport=WireTransport(now)) as http,
        http.stream("GET", url) as response,
    ):
        got = [part async for part in response.aiter_raw()]
    assert response.status_code == 200
    assert got == parts


async def test_a_plain_httpx_client_sees_a_cut_body_as_an_error() -> None:
    async with serving(sends([CHUNKED + b"9\r\nhalf"])) as url, httpx.AsyncClient(transport=WireTransport(now)) as http:
        with pytest.raises(httpx.RemoteProtocolError, match="closed within the body"):
            await http.get(url)


async def test_header_with_a_line_break_is_refused_without_repeating_it() -> None:
    async with transport() as wire:
        request = httpx.Request("GET", "http://127.0.0.1:1/", headers=[("x", "secret\r\nevil: 1")])
        with pytest.raises(httpx.LocalProtocolError) as caught:
            await wire.handle_async_request(request)
    assert "secret" not in str(caught.value)


async def test_tls_phases_and_reuse() -> None:
    async with serving(sends([ANSWER], close=False), server_tls()) as url, transport(tls=client_tls()) as wire:
        named = url.replace("127.0.0.1", "localhost")
        first = await attempt_at(wire, named)
        second = await attempt_at(wire, named)
    assert (first.end, second.end, second.reused) == ("complete", "complete", True)
    assert min(first.dns_ns or 0, first.connect_ns or 0, first.tls_ns or 0) > 0
    assert second.tls_ns is None


async def test_wrong_host_name_is_a_matter_of_trust() -> None:
    context = client_tls()
    async with serving(sends([ANSWER]), server_tls()) as url:
        attempt = await ask_once(url.replace("127.0.0.1", "127.1"), tls=context)  # the same address by another name
    assert attempt.end == "tls_trust"
    assert "mismatch" in (attempt.error or "")


async def test_tls_cut_in_and_after_the_handshake_is_dropped() -> None:
    """Case TR-08: transient, neither a matter of trust nor of the answer."""

    async def hangs_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(10)
        writer.transport.abort()

    async with serving(hangs_up) as url:
        during = await ask_once(url.replace("http:", "https:"), tls=client_tls())
    async with serving(hangs_up, server_tls()) as url:
        after = await ask_once(url, tls=client_tls())
    assert (during.end, after.end) == ("tls_dropped", "tls_dropped")


async def test_kept_tls_connection_that_is_closed_is_stale_and_a_fresh_one_is_not() -> None:
    """Case TR-07 under TLS: what the client may send once more, and what it may not."""

    async def answers_once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(ANSWER)
        await writer.drain()
        await read_request(reader)

    async def never(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)

    async with serving(answers_once, server_tls()) as url, transport(tls=client_tls()) as wire:
        first, second = [await attempt_at(wire, url) for _ in range(2)]
    async with serving(never, server_tls()) as url:
        fresh = await ask_once(url, tls=client_tls())
    assert (first.stale, second.reused, second.end, second.stale) == (False, True, "tls_dropped", True)
    assert (fresh.end, fresh.stale) == ("tls_dropped", False)


async def test_second_address_is_tried_when_the_first_refuses() -> None:
    """``localhost`` is ::1 before 127.0.0.1 on most machines; where it is not, the first address answers."""
    async with serving(sends([ANSWER])) as url:
        attempt = await ask_once(url.replace("127.0.0.1", "localhost"))
    assert (attempt.end, attempt.status) == ("complete", 200)
