"""The capturing HTTP client: one attempt per call, bytes and stamps, no decoding, no redirects, no hidden retries.

While a response streams, only ``(monotonic ns, bytes)`` is kept. What the endpoint did wrong is in the `Capture`
(`end`, `status`), never an exception; the key is in a header and nowhere else.
"""

import asyncio
import logging
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

import httpx

from monitor.ports import Clock
from monitor.types import Capture, End, Endpoint, Read, Request
from probes.heartbeat import Heartbeat, LagWindow
from probes.limits import Limits

ERROR_CHARS = 200
WRITING = "http11.send_request_headers.started"


class WireProtocol(Protocol):
    """The part of a protocol that the client needs."""

    path: str

    def body(self, request: Request, model: str) -> bytes:
        """The exact bytes to send."""
        ...


class _LimitError(Exception):
    """More came back than the prober is willing to keep."""


@dataclass(slots=True)
class _Seen:
    """What has been seen so far of one attempt; mutable only while it runs."""

    status: int | None = None
    headers: tuple[tuple[str, str], ...] = ()
    reads: list[Read] = field(default_factory=list)
    stamps: dict[str, int] = field(default_factory=dict)
    end: End = "complete"
    error: str | None = None
    transport_retry: int = 0

    @property
    def reused(self) -> bool:
        return "connection.connect_tcp.started" not in self.stamps

    @property
    def stale(self) -> bool:
        """Whether a kept-alive connection was closed before a byte of the answer came: no fault of the endpoint."""
        return self.reused and self.status is None and self.end in {"unclean", "reset"}

    def span_ns(self, name: str) -> int | None:
        started, complete = self.stamps.get(f"{name}.started"), self.stamps.get(f"{name}.complete")
        return complete - started if started is not None and complete is not None else None


class HttpClient:
    """Asks one endpoint over HTTP/1.1. Implements `monitor.ports.Client`.

    The bytes come through httpx's own transport with its trace hook; t0 is the start of writing the request on an
    acquired connection. DNS time is inside ``connect_ns`` and therefore not reported apart (``dns_ns`` None).
    """

    def __init__(
        self, endpoint: Endpoint, protocol: WireProtocol, *, key: str | None, clock: Clock, heartbeat: Heartbeat,
        limits: Limits | None = None,
    ) -> None:  # fmt: skip
        # httpx logs whole URLs at INFO.
        logging.getLogger("httpx").setLevel(logging.WARNING)
        self._endpoint, self._protocol = endpoint, protocol
        self._key, self._clock, self._heartbeat = key, clock, heartbeat
        self._limits = limits or Limits()
        headers = {"accept-encoding": "identity", "content-type": "application/json", "user-agent": "weighmaster"}
        if key is not None:
            headers["authorization"] = f"Bearer {key}"
        self._http = httpx.AsyncClient(
            headers=headers,
            http2=False,
            follow_redirects=False,
            trust_env=False,
            verify=ssl.create_default_context(),
            timeout=httpx.Timeout(None, connect=self._limits.connect_s),
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=64),
        )

    async def send(self, request: Request) -> Capture:
        """Send `request` once and return all that came back.

        Only when a kept-alive connection turns out to be closed already is it sent again, and the capture says so.
        """
        sent = self._protocol.body(request, self._endpoint.model)
        seen, started_at = _Seen(), self._clock.now()
        with self._heartbeat.window() as lag:
            await self._attempt(sent, seen)
            if seen.stale:
                seen, started_at = _Seen(transport_retry=1), self._clock.now()
                await self._attempt(sent, seen)
            seen.stamps["eof"] = self._clock.monotonic_ns()
        return self._capture(request, sent, started_at, seen, lag)

    async def aclose(self) -> None:
        """Close all connections."""
        await self._http.aclose()

    async def _attempt(self, sent: bytes, seen: _Seen) -> None:
        """One exchange under the time-outs; however it ends, `seen` says so."""
        total = asyncio.timeout(self._limits.connect_s + self._limits.total_s)
        patience = asyncio.timeout(None)  # set anew at the write (first byte) and after every read (stall)
        try:
            async with total, patience:
                await self._exchange(sent, seen, patience)
        except _LimitError as error:
            seen.end, seen.error = "client_limit", str(error)
        except TimeoutError:
            seen.end = "client_limit" if total.expired() and seen.reads else _timed_out(seen)
            seen.error = f"time-out after {len(seen.reads)} reads; limits: {self._limits}"[:ERROR_CHARS]
        except (httpx.TransportError, ssl.SSLError, OSError) as error:
            seen.end, seen.error = _end_of(error, seen), self._redacted(error)

    async def _exchange(self, sent: bytes, seen: _Seen, patience: asyncio.Timeout) -> None:
        async def trace(event: str, _info: Mapping[str, Any]) -> None:
            seen.stamps[event] = self._clock.monotonic_ns()
            if event == WRITING:
                _wait_at_most(patience, self._limits.first_byte_s)

        url = self._endpoint.base_url.rstrip("/") + self._protocol.path
        request = self._http.build_request("POST", url, content=sent, extensions={"trace": trace})
        response = await self._http.send(request, stream=True)
        try:
            seen.status = response.status_code
            seen.headers = tuple(response.headers.multi_items())
            await self._read(response, seen, patience)
        finally:
            await response.aclose()

    async def _read(self, response: httpx.Response, seen: _Seen, patience: asyncio.Timeout) -> None:
        n_bytes = n_events = 0
        async for data in response.aiter_raw():
            seen.reads.append(Read(self._clock.monotonic_ns(), data))
            _wait_at_most(patience, self._limits.stall_s)
            n_bytes += len(data)
            n_events += data.count(b"data:")
            if n_bytes > self._limits.max_bytes or n_events > self._limits.max_events:
                raise _LimitError(f"stopped after {n_bytes} bytes and about {n_events} events")

    def _capture(self, request: Request, sent: bytes, started_at: datetime, seen: _Seen, lag: LagWindow) -> Capture:
        stamps = seen.stamps
        return Capture(
            request=request, protocol=self._endpoint.protocol, sent=sent, started_at=started_at,
            status=seen.status, headers=seen.headers, reads=tuple(seen.reads), end=seen.end, error=seen.error,
            t0_ns=stamps.get(WRITING),
            connect_ns=seen.span_ns("connection.connect_tcp"),
            tls_ns=seen.span_ns("connection.start_tls"),
            sent_ns=stamps.get("http11.send_request_body.complete"),
            first_byte_ns=stamps.get("http11.receive_response_headers.complete"),
            eof_ns=stamps["eof"] if seen.status is not None else None,
            reused=seen.reused,
            transport_retry=seen.transport_retry,
            lag_ms=lag.max_ms,
        )  # fmt: skip

    def _redacted(self, error: BaseException) -> str:
        text = f"{type(error).__name__}: {error}"[:ERROR_CHARS]
        return text.replace(self._key, "[key]") if self._key else text


def _wait_at_most(patience: asyncio.Timeout, seconds: float) -> None:
    patience.reschedule(asyncio.get_running_loop().time() + seconds)


def _timed_out(seen: _Seen) -> End:
    if seen.reads:
        return "stalled"
    connected = WRITING in seen.stamps
    return "timeout_first_byte" if connected else "connect_error"


def _end_of(error: BaseException, seen: _Seen) -> End:
    """Name the transport's end from the chain of causes, since httpx folds most of them into one class."""
    causes = list(_chain(error))
    if any(isinstance(cause, ssl.SSLCertVerificationError) for cause in causes):
        return "tls_trust"
    if any(isinstance(cause, ssl.SSLError) for cause in causes):
        return "tls_dropped"
    if WRITING not in seen.stamps:
        return "connect_error"
    if any(isinstance(cause, ConnectionResetError) for cause in causes):
        return "reset"
    return "unclean"


def _chain(error: BaseException | None) -> list[BaseException]:
    chain: list[BaseException] = []
    while error is not None and error not in chain:
        chain.append(error)
        error = error.__cause__ or error.__context__
    return chain
