"""A small HTTP/2 server on 127.0.0.1, made of the package h2: it answers every request with the same timed steps."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import RequestReceived, StreamEnded

from tests.probes.transport.servers import PEM, serving

HEADERS = [(":status", "200"), ("content-type", "text/event-stream")]


@dataclass(slots=True)
class Http2Server:
    """What it sends, ``(seconds after the last, bytes)``, how it ends (``fin``, ``rst`` of the stream, ``drop`` of the
    connection) and what it saw: the headers of each request, and the connections.
    """

    steps: list[tuple[float, bytes]]
    end: str = "fin"
    seen: list[dict[str, str]] = field(default_factory=list)
    connections: int = 0

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection."""
        self.connections += 1
        wire = H2Connection(H2Configuration(client_side=False, header_encoding="utf-8"))
        wire.initiate_connection()
        writer.write(wire.data_to_send())
        while data := await reader.read(2**16):
            for event in wire.receive_data(data):
                if isinstance(event, RequestReceived):
                    self.seen.append({str(name): str(value) for name, value in event.headers or ()})
                if isinstance(event, StreamEnded) and not await self._answer(event.stream_id, wire, writer):
                    return
            writer.write(wire.data_to_send())
            await writer.drain()

    async def _answer(self, stream: int, wire: H2Connection, writer: asyncio.StreamWriter) -> bool:
        """Send the steps; return whether the connection is to be kept."""
        wire.send_headers(stream, HEADERS)
        for delay_s, data in self.steps:
            writer.write(wire.data_to_send())
            await asyncio.sleep(delay_s)
            wire.send_data(stream, data)
        if self.end == "fin":
            wire.end_stream(stream)
        elif self.end == "rst":
            wire.reset_stream(stream, error_code=2)
        writer.write(wire.data_to_send())
        await writer.drain()
        return self.end != "drop"


@asynccontextmanager
async def serving_http2(server: Http2Server, *, speaks: str = "h2") -> AsyncIterator[str]:
    """The base URL of `server`, which agrees on the protocol `speaks` in its TLS handshake."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(PEM)
    tls.set_alpn_protocols([speaks])
    async with serving(server.handle, tls) as url:
        yield url
