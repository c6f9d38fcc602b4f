"""Opens connections, each phase measured apart: name, TCP, TLS."""

import asyncio
import socket
import ssl
from collections.abc import Callable

from monitor.types import End
from probes.transport.attempt import Attempt
from probes.transport.connection import Connection, Origin
from probes.transport.guard import Address, Guard, RefusedAddressError, is_address

MakeSocket = Callable[[int], socket.socket]
"""Makes a stream socket of a family."""


class DialError(Exception):
    """No connection: ``end`` names why."""

    def __init__(self, end: End, why: str) -> None:
        self.end = end
        super().__init__(why)


def stream_socket(family: int) -> socket.socket:
    """A plain TCP socket."""
    return socket.socket(family, socket.SOCK_STREAM)


async def dial(
    connection: Connection, attempt: Attempt, *, tls: Callable[[], ssl.SSLContext], now: Callable[[], int],
    make_socket: MakeSocket, guard: Guard,
) -> None:  # fmt: skip
    """Connect `connection` to its origin and note the phases in `attempt`.

    Raises
    ------
    DialError
        When that fails or takes longer than the attempt's ``connect_s``. Nothing stays open then.
    """
    try:
        async with asyncio.timeout(attempt.limits.connect_s):
            addresses = await _resolve(connection.origin, attempt, now, guard)
            transport = await _tcp(connection, addresses, attempt, now, make_socket)
            if connection.origin.scheme == "https":
                await _tls(connection, transport, tls(), attempt, now)
    except TimeoutError:
        raise DialError("connect_error", f"no connection within {attempt.limits.connect_s:g} s") from None


async def _resolve(origin: Origin, attempt: Attempt, now: Callable[[], int], guard: Guard) -> list[Address]:
    """The addresses that may be tried, in the system's order; an address needs no look-up and has no DNS time."""
    started_ns = now()
    try:
        return await guard.addresses(origin.host, origin.port)
    except RefusedAddressError as error:
        raise DialError("address_refused", str(error)) from None
    except (OSError, UnicodeError) as error:
        raise DialError("connect_error", f"{type(error).__name__}: {error}") from None
    finally:
        if not is_address(origin.host):
            attempt.dns_ns = now() - started_ns


async def _tcp(
    connection: Connection, addresses: list[Address], attempt: Attempt, now: Callable[[], int], make_socket: MakeSocket
) -> asyncio.Transport:
    """Try the addresses in order, each with its share of the time that is left."""
    loop = asyncio.get_running_loop()
    started_ns, deadline = now(), loop.time() + attempt.limits.connect_s
    failures: list[str] = []
    for index, (family, address) in enumerate(addresses):
        sock = None
        try:
            sock = make_socket(family)
            sock.setblocking(False)  # noqa: FBT003  # the standard library's signature
            async with asyncio.timeout_at(loop.time() + (deadline - loop.time()) / (len(addresses) - index)):
                await loop.sock_connect(sock, address)
        except OSError as error:  # TimeoutError is one
            failures.append(f"{type(error).__name__}: {error}")
            if sock is not None:
                sock.close()
            continue
        except BaseException:
            if sock is not None:
                sock.close()
            raise
        attempt.connect_ns = now() - started_ns
        transport, _ = await loop.create_connection(lambda: connection, sock=sock)
        return transport
    raise DialError("connect_error", "; ".join(failures)[:200])


async def _tls(
    connection: Connection, transport: asyncio.Transport, context: ssl.SSLContext, attempt: Attempt,
    now: Callable[[], int],
) -> None:  # fmt: skip
    """Put TLS on top, with the host name checked."""
    started_ns = now()
    if transport.is_closing():
        raise DialError("tls_dropped", "the connection closed before the TLS handshake")
    try:
        secured = await asyncio.get_running_loop().start_tls(
            transport, connection, context, server_hostname=connection.origin.host
        )
    except ssl.SSLCertVerificationError as error:
        transport.abort()
        raise DialError("tls_trust", f"{type(error).__name__}: {error.verify_message}") from None
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
        transport.abort()
        if isinstance(error, TimeoutError):
            raise
        raise DialError("tls_dropped", f"{type(error).__name__}: {error}"[:200]) from None
    except BaseException:
        transport.abort()
        raise
    if secured is None:
        raise DialError("tls_dropped", "the connection closed during the TLS handshake")
    attempt.tls_ns = now() - started_ns
    connection.use(secured)
