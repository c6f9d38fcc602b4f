"""httpx's own transport, for what ours does not speak: HTTP/2 and proxies.

Its stamps are taken when httpx hands a read over, not when the read arrives, and its cost per read is many times that
of our own (docs/benchmarks.md, Wire). So a capture names the transport that carried it.
"""

import asyncio
import base64
import logging
import ssl
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

import httpx

from monitor.errors import UsageError
from monitor.types import End
from probes.transport.attempt import Attempt
from probes.transport.guard import Guard, RefusedAddressError, is_address
from probes.transport.patience import Patience

_TALKERS = ("httpx", "httpcore", "h2", "hpack")
"""They log URLs at INFO, and headers, our key among them, at DEBUG."""

_SENT = "send_request_body.complete"
_T0 = "send_request_headers.started"
_HEAD = "receive_response_headers.complete"
_PROXY_WANTS_CREDENTIALS = 407
_PORTS = {"http": 80, "https": 443}
_ENDLESS = "Receive buffer too long"
"""What h11 says of a head that does not end."""


class _LimitError(Exception):
    """More came back than the prober is willing to keep."""


class StockSender:
    """Carries out attempts through `httpx.AsyncClient`.

    Names are looked up before every request, outside of all stamps. httpx chooses the connection; ``reused`` says which
    it was.

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
    guard
        Says where connections may go; None lets no name lead to a private address. A proxy resolves names by
        itself: then only addresses that are written out are checked.

    Raises
    ------
    UsageError
        When HTTP/2 is wanted and ``h2`` is not installed, or the proxy's address is none.
    """

    def __init__(
        self, now: Callable[[], int], *, http2: bool = False, proxy: str | None = None,
        tls: ssl.SSLContext | None = None, guard: Guard | None = None,
    ) -> None:  # fmt: skip
        for name in _TALKERS:
            logging.getLogger(name).setLevel(logging.WARNING)
        self._now, self._guard, self._last = now, guard or Guard(), ""
        self._proxy = "" if proxy is None else "+proxy"
        self.secrets = _secrets(proxy)
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
        attempt.transport, attempt.reused = f"httpx{self._proxy}", True
        watch = _Watch(attempt, self._now)
        try:
            async with watch.expiry:
                await self._exchange(request, attempt, watch)
            attempt.finish("complete")
        except _LimitError as error:
            attempt.finish("client_limit", str(error))
        except TimeoutError:
            attempt.finish(*watch.verdict)
        except httpx.ProxyError as error:
            # The proxy passed nothing on: what was stamped was the request to it, not ours.
            attempt.t0_ns = attempt.sent_ns = attempt.first_byte_ns = None
            attempt.finish("connect_error", f"ProxyError: {error}")
        except RefusedAddressError as error:
            attempt.finish("address_refused", str(error))
        except (httpx.TransportError, ssl.SSLError, OSError, UnicodeError) as error:
            attempt.finish(_end_of(error, attempt), f"{type(error).__name__}: {error}")
        finally:
            watch.cancel()
        if attempt.status is not None:
            attempt.eof_ns = self._now()

    async def aclose(self) -> None:
        """Close all connections."""
        await self._http.aclose()

    async def _exchange(self, request: httpx.Request, attempt: Attempt, watch: "_Watch") -> None:
        timeout = {"connect": attempt.limits.connect_s}
        request.extensions = {**request.extensions, "trace": watch.trace, "timeout": timeout}
        response = await self._sent(request, watch)
        try:
            if self._proxy and request.url.scheme == "http" and response.status_code == _PROXY_WANTS_CREDENTIALS:
                raise httpx.ProxyError(f"{response.status_code} {response.reason_phrase}", request=request)
            if response.http_version == "HTTP/2":
                attempt.transport = f"httpx+http2{self._proxy}"
            attempt.status = response.status_code
            attempt.headers = response.headers.multi_items()
            await self._read(response, attempt)
        finally:
            await response.aclose()

    async def _sent(self, request: httpx.Request, watch: "_Watch") -> httpx.Response:
        """The response of the first checked address that takes a connection; the one that did last is tried first.

        Each gets its share of the time that is left: one that does not answer leaves time for the next.
        """
        url = request.url
        *others, last = await self._hosts(url)
        # The certificate is still checked against the name.
        request.extensions = {**request.extensions, "sni_hostname": url.host}
        for index, self._last in enumerate(others):
            request.url = url.copy_with(host=self._last)
            try:
                async with watch.turn(1 + len(others) - index):
                    return await self._http.send(request, stream=True)
            except (httpx.ConnectError, httpx.ConnectTimeout, TimeoutError):
                continue
        self._last, request.url = last, url.copy_with(host=last)
        async with watch.turn(1):
            return await self._http.send(request, stream=True)

    async def _hosts(self, url: httpx.URL) -> list[str]:
        if self._proxy and not is_address(url.host):
            return [url.host]
        found = await self._guard.addresses(url.raw_host.decode("ascii"), url.port or _PORTS.get(url.scheme, 443))
        hosts = list(dict.fromkeys(str(address[0]) for _, address in found))
        return sorted(hosts, key=lambda host: host != self._last)

    async def _read(self, response: httpx.Response, attempt: Attempt) -> None:
        limits, n_bytes, n_events = attempt.limits, 0, 0
        async for data in response.aiter_raw():
            attempt.stamps.append(self._now())
            attempt.bodies.append(data)
            n_bytes += len(data)
            n_events += data.count(b"data:") or 1
            if n_bytes > limits.max_bytes or n_events > limits.max_events:
                raise _LimitError(f"stopped after {n_bytes} bytes, about {n_events} events")


class _Watch:
    """Takes the stamps of one attempt out of httpcore's trace, and bounds its waits.

    ``expiry`` holds for the connection, a proxy's tunnel included; from the moment the request is written, the limits
    of `Patience` do. ``verdict`` is the end that belongs to an expiry; a `turn` bounds the way to one address.
    """

    def __init__(self, attempt: Attempt, now: Callable[[], int]) -> None:
        connect_s = attempt.limits.connect_s
        self.expiry = asyncio.timeout(connect_s)
        self.verdict: tuple[End, str] = ("connect_error", f"no connection within {connect_s:g} s")
        self._attempt, self._now = attempt, now
        self._started: dict[str, int] = {}
        self._tunnel = False
        self._patience: Patience | None = None
        self._turn = asyncio.timeout(None)

    def turn(self, n_left: int) -> asyncio.Timeout:
        """Return the bound of the TCP connection to the next of `n_left` addresses."""
        now_s = asyncio.get_running_loop().time()
        left_s = (self.expiry.when() or now_s) - now_s
        self._turn = asyncio.timeout(max(left_s, 0) / n_left)
        return self._turn

    def cancel(self) -> None:
        """Stop waiting."""
        if self._patience is not None:
            self._patience.cancel()

    async def trace(self, event: str, info: Mapping[str, Any]) -> None:
        """Hear of one step of httpcore's. What a tunnel is asked of the proxy is part of connecting."""
        at_ns, attempt = self._now(), self._attempt
        step, _, phase = event.rpartition(".")
        if phase == "started":
            self._started[step] = at_ns
        if step == "connection.connect_tcp":
            attempt.reused = False
            attempt.connect_ns = at_ns - self._started[step] if phase == "complete" else None
            if phase == "complete":
                self._turn.reschedule(None)
        elif step.endswith("start_tls") and phase == "complete":
            attempt.tls_ns = at_ns - self._started[step]
        elif event.endswith(_T0):
            self._tunnel = getattr(info.get("request"), "method", b"") == b"CONNECT"
            if not self._tunnel:
                attempt.t0_ns = at_ns
                self._wait()
        elif event.endswith(_SENT) and not self._tunnel:
            attempt.sent_ns = at_ns
        elif event.endswith(_HEAD) and not self._tunnel:
            attempt.first_byte_ns = at_ns

    def _wait(self) -> None:
        self.cancel()
        self.expiry.reschedule(None)
        self._turn.reschedule(None)
        self._patience = Patience(self._attempt, self._now, self._expire)

    def _expire(self, end: End, why: str) -> None:
        self.verdict = end, why
        self.expiry.reschedule(asyncio.get_running_loop().time())


def _secrets(proxy: str | None) -> tuple[str, ...]:
    """A proxy's password, and the form in which it is sent; the address need not be one yet."""
    try:
        parts = urlsplit(proxy or "")
    except ValueError:
        return ()
    if not parts.password:
        return ()
    user, password = unquote(parts.username or ""), unquote(parts.password)
    return password, base64.b64encode(f"{user}:{password}".encode()).decode("ascii")


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
    if attempt.status is None and _ENDLESS in str(error):
        return "client_limit"
    return "reset" if any(isinstance(cause, ConnectionResetError) for cause in causes) else "unclean"
