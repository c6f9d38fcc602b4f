"""Raw servers on 127.0.0.1 and one attempt through our transport, for the tests of it."""

import asyncio
import contextlib
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import httpx

from probes.limits import Limits
from probes.transport.attempt import EXTENSION, Attempt
from probes.transport.guard import Guard
from probes.transport.wire import WireTransport

PEM = Path(__file__).parents[2] / "golden" / "tls" / "loopback.pem"
"""Key and certificate for 127.0.0.1 and localhost, signed by itself."""

SHORT = Limits(connect_s=2, first_byte_s=0.3, first_token_s=0.5, stall_s=0.3, linger_s=0.1, total_s=2)

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
now = time.perf_counter_ns


def server_tls() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(PEM)
    return context


def client_tls() -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(PEM))


@asynccontextmanager
async def serving(handler: Handler, tls: ssl.SSLContext | None = None, *, port: int = 0) -> AsyncIterator[str]:
    """A server that is only its `handler`; yields its base URL. `port` 0 is any that is free."""
    tasks: set[asyncio.Task[None]] = set()

    async def guarded(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            await handler(reader, writer)
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.add(asyncio.create_task(guarded(reader, writer)))

    server = await asyncio.start_server(accept, "127.0.0.1", port, ssl=tls)
    try:
        yield f"http{'s' if tls else ''}://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)


async def read_request(reader: asyncio.StreamReader) -> bytes:
    """One request as it came: head and body."""
    head = await reader.readuntil(b"\r\n\r\n")
    lines = head.lower().split(b"\r\n")
    size = next((int(line.split(b":")[1]) for line in lines if line.startswith(b"content-length")), 0)
    return head + await reader.readexactly(size)


def sends(pieces: Iterable[bytes], *, pause_s: float = 0.0, close: bool = True) -> Handler:
    """A handler that answers every request with `pieces`, one write each."""
    parts = tuple(pieces)

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answering = True
        while answering:
            await read_request(reader)
            for piece in parts:
                writer.write(piece)
                await writer.drain()
                await asyncio.sleep(pause_s)
            answering = not close

    return handler


def post(url: str, attempt: Attempt, body: bytes = b"{}") -> httpx.Request:
    return httpx.Request("POST", url, content=body, extensions={EXTENSION: attempt})


@asynccontextmanager
async def transport(*, tls: ssl.SSLContext | None = None, keep: int | None = None) -> AsyncIterator[WireTransport]:
    wire = WireTransport(now, tls=tls, keep=keep, guard=Guard(allow_private=True))
    try:
        yield wire
    finally:
        await wire.aclose()


async def attempt_at(
    wire: WireTransport, url: str, *, limits: Limits = SHORT, body: bytes = b"{}", fresh: bool = False
) -> Attempt:
    """One attempt, run to its end whatever that is."""
    attempt = Attempt(limits=limits, fresh=fresh)
    try:
        stream = await wire.ask(post(url, attempt, body), attempt)
    except httpx.TransportError:
        return attempt
    try:
        await stream.ended()
    finally:
        await stream.aclose()
    return attempt


async def ask_once(url: str, *, limits: Limits = SHORT, tls: ssl.SSLContext | None = None) -> Attempt:
    async with transport(tls=tls) as wire:
        return await attempt_at(wire, url, limits=limits)


def chunked(parts: Sequence[bytes]) -> bytes:
    return b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
