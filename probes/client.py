"""The capturing HTTP client: one attempt per call, bytes and stamps, no decoding, no redirects, no hidden retries.

While a response streams, only ``(monotonic ns, bytes)`` is kept. What the endpoint did wrong is in the `Capture`
(`end`, `status`), never an exception; the key is in a header and nowhere else.
"""

import ssl
from datetime import datetime
from typing import Protocol

import httpx

from monitor.errors import UsageError
from monitor.ports import Clock
from monitor.types import Capture, Endpoint, Exchange, Request
from monitor.wire.progress import Progress
from probes.heartbeat import Heartbeat, LagWindow
from probes.limits import Limits
from probes.redact import Redactor
from probes.transport.attempt import EXTENSION, Attempt
from probes.transport.guard import Guard
from probes.transport.turnstile import Turnstile
from probes.transport.wire import WireTransport

ERROR_CHARS = 200


class WireProtocol(Protocol):
    """The part of a protocol that the client needs (`monitor.wire.speaker.Speaker`)."""

    def url(self, base_url: str, model: str) -> str:
        """Where to send to."""
        ...

    def headers(self, key: str | None) -> dict[str, str]:
        """The protocol's own headers, the key among them."""
        ...

    def body(self, request: Request, model: str) -> bytes:
        """The exact bytes to send."""
        ...

    def refused(self, request: Request) -> tuple[str, ...]:
        """What `request` requires and the protocol cannot say."""
        ...

    def departures(self, request: Request) -> tuple[str, ...]:
        """Flags for what the body says otherwise than `request`."""
        ...

    def progress(self) -> Progress:
        """What follows an answer while it arrives."""
        ...

    def decode(self, capture: Capture) -> Exchange:
        """The record of `capture`."""
        ...


class Sender(Protocol):
    """Carries out one attempt."""

    async def send(self, request: httpx.Request, attempt: Attempt) -> None:
        """Send `request` and fill `attempt` to its end. Raises only on cancellation."""
        ...

    @property
    def secrets(self) -> tuple[str, ...]:
        """What is sent besides the request to be let in, a proxy's password for one."""
        ...

    async def aclose(self) -> None:
        """Close all connections. Idempotent."""
        ...


class WireSender:
    """Sends through our own transport.

    It is called directly: `httpx.AsyncClient` would carry cookies from one request to the next, and its CPU per request
    comes out of the other streams' time (docs/benchmarks.md, Wire).
    """

    secrets = ()

    def __init__(self, transport: WireTransport) -> None:
        self._transport = transport

    async def send(self, request: httpx.Request, attempt: Attempt) -> None:
        """Send `request` and wait for the end of its body."""
        try:
            stream = await self._transport.ask(request, attempt)
        except httpx.TransportError as error:
            attempt.finish("connect_error", str(error))
            return
        try:
            await stream.ended()
        finally:
            await stream.aclose()

    async def aclose(self) -> None:
        """Close all connections."""
        await self._transport.aclose()


class HttpClient:
    """Asks one endpoint over HTTP/1.1. Implements `monitor.ports.Client`.

    Parameters
    ----------
    sender
        What carries the bytes; None is our own transport with a pool of its own. `probes.transport.stock` has the
        one for HTTP/2 and proxies.
    tls
        Whom to trust; None trusts what the system trusts.
    allow_private
        Whether the endpoint's name may lead to a private address; a `sender` that is given decides for itself.

    Raises
    ------
    UsageError
        When the address cannot be one, or the key cannot be sent in a header.
    """

    def __init__(
        self, endpoint: Endpoint, protocol: WireProtocol, *, key: str | None, clock: Clock, heartbeat: Heartbeat,
        limits: Limits | None = None, sender: Sender | None = None, tls: ssl.SSLContext | None = None,
        allow_private: bool = False,
    ) -> None:  # fmt: skip
        self._endpoint, self._protocol = endpoint, protocol
        self._clock, self._heartbeat = clock, heartbeat
        self._limits = limits or Limits()
        self._url = _address(endpoint, protocol)
        self._headers = _headers(endpoint, self._url, protocol.headers(key))
        if tls is None and self._url.scheme == "https":
            # Not at the first request: loading the trust store blocks the loop for tens of milliseconds.
            tls = ssl.create_default_context()
        self._turnstile = Turnstile()
        guard = Guard(allow_private=allow_private)
        self._sender = sender or WireSender(WireTransport(clock.monotonic_ns, tls=tls, guard=guard))
        self._redactor = Redactor(key, *self._sender.secrets)

    async def send(self, request: Request) -> Capture:
        """Send `request` once and return all that came back.

        Only when a kept-alive connection turns out to be closed already is it sent again, on a fresh one, and the
        capture says so. What the protocol cannot say is not sent at all.
        """
        await self._turnstile.turn()
        started_at = self._clock.now()
        if refused := self._protocol.refused(request):
            return self._unsent(request, started_at, refused)
        sent = self._protocol.body(request, self._endpoint.model)
        with self._heartbeat.window() as lag:
            attempt = await self._attempt(sent, fresh=request.fresh_connection)
        if not attempt.stale:
            return self._capture(request, sent, started_at, attempt, lag)
        started_at = self._clock.now()
        with self._heartbeat.window() as lag:
            attempt = await self._attempt(sent, fresh=True)
        return self._capture(request, sent, started_at, attempt, lag, transport_retry=1)

    async def aclose(self) -> None:
        """Close all connections."""
        await self._sender.aclose()

    async def _attempt(self, sent: bytes, *, fresh: bool) -> Attempt:
        attempt = Attempt(limits=self._limits, progress=self._protocol.progress(), fresh=fresh)
        request = httpx.Request(
            "POST", self._url, headers=[*self._headers, ("content-length", str(len(sent)))],
            stream=httpx.ByteStream(sent), extensions={EXTENSION: attempt},
        )  # fmt: skip
        await self._sender.send(request, attempt)
        await self._turnstile.turn()
        return attempt

    def _unsent(self, request: Request, started_at: datetime, refused: tuple[str, ...]) -> Capture:
        protocol = self._endpoint.protocol
        return Capture(
            request=request, protocol=protocol, started_at=started_at, end="unsupported",
            departures=self._protocol.departures(request),
            error=f"{protocol} has no word for {', '.join(refused)}: nothing was sent"[:ERROR_CHARS],
        )  # fmt: skip

    def _capture(
        self, request: Request, sent: bytes, started_at: datetime, attempt: Attempt, lag: LagWindow,
        *, transport_retry: int = 0,
    ) -> Capture:  # fmt: skip
        error = None if attempt.error is None else self._redactor.text(attempt.error)[:ERROR_CHARS]
        capture = Capture(
            request=request, protocol=self._endpoint.protocol, sent=sent, started_at=started_at,
            departures=self._protocol.departures(request),
            status=attempt.status, headers=tuple(attempt.headers), reads=attempt.reads(),
            end=attempt.end or "unclean", error=error,
            t0_ns=attempt.t0_ns, dns_ns=attempt.dns_ns, connect_ns=attempt.connect_ns, tls_ns=attempt.tls_ns,
            sent_ns=attempt.sent_ns, first_byte_ns=attempt.first_byte_ns,
            eof_ns=attempt.eof_ns if attempt.status is not None else None,
            reused=attempt.reused, transport=attempt.transport, transport_retry=transport_retry, lag_ms=lag.max_ms,
        )  # fmt: skip
        return self._redactor.capture(capture, self._protocol.decode)


def _address(endpoint: Endpoint, protocol: WireProtocol) -> httpx.URL:
    try:
        return httpx.URL(protocol.url(endpoint.base_url, endpoint.model))
    except httpx.InvalidURL as error:
        raise UsageError(f"{endpoint.name}: base_url {endpoint.base_url} cannot be asked: {error}") from None


def _headers(endpoint: Endpoint, url: httpx.URL, own: dict[str, str]) -> list[tuple[str, str]]:
    """All headers but the length, so that httpx adds none of its own."""
    if not all(value.isascii() and value.isprintable() for value in own.values()):
        raise UsageError(f"{endpoint.name}: the key contains characters that no header can carry: copy it again")
    return [
        ("host", url.netloc.decode("ascii")),
        ("accept", "*/*"),
        ("accept-encoding", "identity"),
        ("connection", "keep-alive"),
        ("content-type", "application/json"),
        ("user-agent", "weighmaster"),
        *own.items(),
    ]
