"""The transport itself: httpx in front, our connections behind."""

import ssl
from collections.abc import AsyncIterator, Callable

import httpx

from probes.transport.attempt import EXTENSION, Attempt
from probes.transport.connection import Connection, Origin
from probes.transport.dial import DialError, MakeSocket, dial, stream_socket
from probes.transport.guard import Guard
from probes.transport.pool import Pool
from probes.transport.receiver import Receiver

BUFFER_BYTES = 64 * 1024
_PORTS = {"http": 80, "https": 443}


class WireStream(httpx.AsyncByteStream):
    """The body of a response that is being received."""

    def __init__(self, receiver: Receiver, connection: Connection, request: httpx.Request) -> None:
        self._receiver, self._connection, self._request = receiver, connection, request

    async def started(self) -> None:
        """Wait until the headers are complete or the attempt is over."""
        await self._receiver.head

    async def ended(self) -> None:
        """Wait until the attempt is over, however it ends; wakes up once, not once per read."""
        await self._receiver.end

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """The body, one item per read.

        Raises
        ------
        httpx.TransportError
            When the body did not end as its framing promised.
        """
        receiver, n_given = self._receiver, 0
        while True:
            while n_given < len(receiver.attempt.bodies):
                yield receiver.attempt.bodies[n_given]
                n_given += 1
            if receiver.over:
                break
            receiver.news = receiver.end.get_loop().create_future()
            await receiver.news
        if receiver.attempt.end != "complete":
            raise receiver.attempt.failure(self._request)

    async def aclose(self) -> None:
        """Drop the connection unless the answer is over."""
        if not self._receiver.over:
            self._connection.abandon("cancelled", "given up by the client")


class WireTransport(httpx.AsyncBaseTransport):
    """HTTP/1.1 over asyncio's buffered protocol. No redirects, no retries, no decoding, no proxy.

    An `Attempt` in the request's extension ``attempt`` is filled with stamps, phases and the end, and its limits hold
    (httpx's own time-outs are not read). A response is returned when its headers are complete; its body is received
    whether or not anyone reads the stream.

    Parameters
    ----------
    now
        The clock of the stamps, monotonic ns.
    tls
        Makes the TLS context at the first ``https`` request; None trusts what the system trusts.
    keep
        Idle connections to keep per origin; None keeps all.
    idle_s
        How long an idle connection stays usable.
    make_socket
        Makes the sockets (the benchmark's carry kernel time stamps).
    guard
        Says where connections may go; None lets no name lead to a private address.
    """

    def __init__(
        self, now: Callable[[], int], *, tls: ssl.SSLContext | None = None, keep: int | None = None,
        idle_s: float = 30.0, make_socket: MakeSocket = stream_socket, guard: Guard | None = None,
    ) -> None:  # fmt: skip
        self._now, self._context, self._make_socket, self._guard = now, tls, make_socket, guard or Guard()
        self._buffer = memoryview(bytearray(BUFFER_BYTES))
        self.pool = Pool(now, keep=keep, idle_s=idle_s)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send `request` on a kept or a new connection and return its response once the headers are there.

        Raises
        ------
        httpx.TransportError
            When there is no connection, or no complete head of a response.
        """
        attempt: Attempt = request.extensions.get(EXTENSION) or Attempt()
        stream = await self.ask(request, attempt)
        try:
            await stream.started()
        except BaseException:
            await stream.aclose()
            raise
        if attempt.status is None:
            raise attempt.failure(request)
        return httpx.Response(
            attempt.status,
            headers=attempt.headers,
            stream=stream,
            extensions={"http_version": b"HTTP/1.1", EXTENSION: attempt},
        )

    async def ask(self, request: httpx.Request, attempt: Attempt) -> WireStream:
        """Write `request`, on a kept or a new connection; what comes back fills `attempt`.

        Raises
        ------
        httpx.TransportError
            When there is no connection; `attempt` says why.
        """
        data = _head(request) + await request.aread()
        connection = await self._connection(request, attempt)
        return WireStream(connection.ask(attempt, data), connection, request)

    async def aclose(self) -> None:
        """Close all connections; what is under way ends as ``cancelled``."""
        await self.pool.aclose()

    async def _connection(self, request: httpx.Request, attempt: Attempt) -> Connection:
        url = request.url
        if url.scheme not in _PORTS:
            raise httpx.UnsupportedProtocol(f"no transport for {url.scheme!r}: use http or https", request=request)
        origin = Origin(url.scheme, url.raw_host.decode("ascii"), url.port or _PORTS[url.scheme])
        kept = None if attempt.fresh else self.pool.take(origin)
        attempt.reused = kept is not None
        if kept is not None:
            return kept
        connection = Connection(origin, self._buffer, self._now, self.pool.put, self.pool.forget)
        try:
            await dial(
                connection, attempt, tls=self._tls, now=self._now, make_socket=self._make_socket, guard=self._guard
            )  # fmt: skip
        except DialError as error:
            attempt.finish(error.end, str(error))
            raise attempt.failure(request) from None
        except BaseException:
            connection.abandon("cancelled", "given up by the client")
            raise
        self.pool.add(connection)
        return connection

    def _tls(self) -> ssl.SSLContext:
        if self._context is None:
            self._context = ssl.create_default_context()
        return self._context


def _head(request: httpx.Request) -> bytes:
    """Request line and headers."""
    path = request.url.raw_path
    fields = [b"%b: %b\r\n" % pair for pair in request.headers.raw]
    head = b"%b %b HTTP/1.1\r\n%b\r\n" % (request.method.encode("ascii"), path, b"".join(fields))
    if head.count(b"\n") != len(fields) + 2 or head.count(b"\r") != len(fields) + 2:
        raise httpx.LocalProtocolError("a header contains a line break: remove it", request=request)
    return head
