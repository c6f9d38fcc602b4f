"""httpx's own transport, for what ours does not speak: HTTP/2 and proxies.

Its stamps are taken when httpx hands a read over, not when the read arrives, and its cost per read is many times that
of our own (docs/benchmarks.md, Wire). So a capture names the transport that carried it.
"""

import asyncio
import logging
import ssl
from collections.abc import Callable, Mapping
from typing import Any

import httpx

from monitor.errors import UsageError
from monitor.types import End
from probes.transport.attempt import Attempt

_TALKERS = ("httpx", "httpcore", "h2", "hpack")
"""They log URLs at INFO, and headers, our key among them, at DEBUG."""

_SENT = "send_request_body.complete"
_T0 = "send_request_headers.started"
_HEAD = "receive_response_headers.complete"


class _LimitError(Exception):
    """More came back than the prober is willing to keep."""


class StockSender:
    """Carries out attempts through `httpx.AsyncClient`.

    DNS time is inside ``connect_ns``. httpx chooses the connection; ``reused`` says which it was.

    Parameters
    ----------
    now
        The clock of the stamps, monotonic ns.
    http2
        Offer HTTP/2 over TLS (needs the package ``h2``: the extra ``http2``).
    proxy
        Address of a proxy; may hold credentials, which appear nowhere else.
    tls
        Whom to trust; None trusts what the system trusts.

    Raises
    ------
    UsageError
        When HTTP/2 is wanted and ``h2`` is not installed, or the proxy's address is none.
    """

    def __init__(
        self, now: Callable[[], int], *, http2: bool = False, proxy: str | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:  # fmt: skip
        for name in _TALKERS:
            logging.getLogger(name).setLevel(logging.WARNING)
        self._now = now
        self._proxy = "" if proxy is None else "+proxy"
        try:
            self._http = httpx.AsyncClient(
                http2=http2,
                proxy=proxy,
                follow_redirects=False,
                trust_env=False,
                verify=tls or ssl.create_default_context(),
                limits=httpx.Limits(max_connections=None, max_keepalive_connections=64),
            )
        except ImportError:
            raise UsageError("HTTP/2 needs the package h2: pip install 'weighmaster[http2]'") from None
        except (ValueError, httpx.InvalidURL):
            raise UsageError("the proxy's address is none that httpx knows: use http://HOST:PORT") from None

    async def send(self, request: httpx.Request, attempt: Attempt) -> None:
        """Send `request` under the limits of `attempt` and wait for the end of its body."""
        limits = attempt.limits
        attempt.transport, attempt.reused = f"httpx{self._proxy}", True
        total = asyncio.timeout(limits.connect_s + limits.total_s)
        patience = asyncio.timeout(None)  # set anew at the write (first byte) and after every read (stall)
        try:
            async with total, patience:
                await self._exchange(request, attempt, patience)
            attempt.finish("complete")
        except _LimitError as error:
            attempt.finish("client_limit", str(error))
        except TimeoutError:
            end = "client_limit" if total.expired() and attempt.stamps else _timed_out(attempt)
            attempt.finish(end, f"time-out after {len(attempt.stamps)} reads")
        except httpx.ProxyError as error:
            # The proxy opened no tunnel: what was stamped was the request to it, not ours.
            attempt.t0_ns = attempt.sent_ns = attempt.first_byte_ns = None
            attempt.finish("connect_error", f"ProxyError: {error}")
        except (httpx.TransportError, ssl.SSLError, OSError) as error:
            attempt.finish(_end_of(error, attempt), f"{type(error).__name__}: {error}")
        if attempt.status is not None:
            attempt.eof_ns = self._now()

    async def aclose(self) -> None:
        """Close all connections."""
        await self._http.aclose()

    async def _exchange(self, request: httpx.Request, attempt: Attempt, patience: asyncio.Timeout) -> None:
        started: dict[str, int] = {}

        async def trace(event: str, _info: Mapping[str, Any]) -> None:
            self._note(event, attempt, started)
            if event.endswith(_T0):
                _wait_at_most(patience, attempt.limits.first_byte_s)

        request.extensions = {**request.extensions, "trace": trace, "timeout": {"connect": attempt.limits.connect_s}}
        response = await self._http.send(request, stream=True)
        try:
            if response.http_version == "HTTP/2":
                attempt.transport = f"httpx+http2{self._proxy}"
            attempt.status = response.status_code
            attempt.headers = response.headers.multi_items()
            await self._read(response, attempt, patience)
        finally:
            await response.aclose()

    def _note(self, event: str, attempt: Attempt, started: dict[str, int]) -> None:
        """Take the stamps out of httpcore's trace; with a proxy, the last request written is ours."""
        at_ns = self._now()
        step, _, phase = event.rpartition(".")
        if phase == "started":
            started[step] = at_ns
        if step == "connection.connect_tcp":
            attempt.reused = False
            attempt.connect_ns = at_ns - started[step] if phase == "complete" else None
        elif step.endswith("start_tls") and phase == "complete":
            attempt.tls_ns = at_ns - started[step]
        elif event.endswith(_T0):
            attempt.t0_ns = at_ns
        elif event.endswith(_SENT):
            attempt.sent_ns = at_ns
        elif event.endswith(_HEAD):
            attempt.first_byte_ns = at_ns

    async def _read(self, response: httpx.Response, attempt: Attempt, patience: asyncio.Timeout) -> None:
        limits, n_bytes, n_events = attempt.limits, 0, 0
        async for data in response.aiter_raw():
            attempt.stamps.append(self._now())
            attempt.bodies.append(data)
            _wait_at_most(patience, limits.stall_s)
            n_bytes += len(data)
            n_events += data.count(b"data:") or 1
            if n_bytes > limits.max_bytes or n_events > limits.max_events:
                raise _LimitError(f"stopped after {n_bytes} bytes, about {n_events} events")


def _wait_at_most(patience: asyncio.Timeout, seconds: float) -> None:
    patience.reschedule(asyncio.get_running_loop().time() + seconds)


def _timed_out(attempt: Attempt) -> End:
    if attempt.stamps:
        return "stalled"
    return "timeout_first_byte" if attempt.t0_ns is not None else "connect_error"


def _end_of(error: BaseException, attempt: Attempt) -> End:
    """Name the transport's end from the chain of causes, since httpx folds most of them into one class."""
    causes: list[BaseException] = []
    link: BaseException | None = error
    while link is not None and link not in causes:
        causes.append(link)
        link = link.__cause__ or link.__context__
    if any(isinstance(cause, ssl.SSLCertVerificationError) for cause in causes):
        return "tls_trust"
    if any(isinstance(cause, ssl.SSLError) for cause in causes):
        return "tls_dropped"
    if attempt.t0_ns is None:
        return "connect_error"
    return "reset" if any(isinstance(cause, ConnectionResetError) for cause in causes) else "unclean"
