"""One connection: writes a request, stamps every read before anything else, knows whether it is still clean."""

import asyncio
from collections.abc import Callable
from typing import NamedTuple, cast

from monitor.types import End
from probes.transport.attempt import Attempt
from probes.transport.patience import Patience
from probes.transport.receiver import Receiver


class Origin(NamedTuple):
    """Where a connection leads."""

    scheme: str
    host: str
    port: int


class Connection(asyncio.BufferedProtocol):
    """Carries one request at a time.

    Parameters
    ----------
    origin
        Where it leads.
    buffer
        Where reads land; may be shared by all connections of a loop, since each read is taken out at once.
    now
        The clock of the stamps, monotonic ns.
    on_idle, on_lost
        Called when an answer ended and the connection can carry another request, and when the connection is gone.
    """

    def __init__(
        self, origin: Origin, buffer: memoryview, now: Callable[[], int],
        on_idle: Callable[["Connection"], None], on_lost: Callable[["Connection"], None],
    ) -> None:  # fmt: skip
        self.origin = origin
        self.idle_since_ns = now()
        self.gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._buffer, self._now, self._on_idle, self._on_lost = buffer, now, on_idle, on_lost
        self._transport: asyncio.Transport | None = None
        self._receiver: Receiver | None = None
        self._patience: Patience | None = None
        self._blocked = False

    @property
    def usable(self) -> bool:
        """Whether a request can be written: open, and nothing is under way."""
        return self._transport is not None and not self._transport.is_closing() and self._receiver is None

    def use(self, transport: asyncio.Transport) -> None:
        """Read and write through `transport` (again after TLS was put on top)."""
        # So that "not paused" means "handed to the socket". TLS takes 0 for "always paused".
        transport.set_write_buffer_limits(high=1, low=0)
        self._transport = transport

    def ask(self, attempt: Attempt, data: bytes) -> Receiver:
        """Write a request and return the receiver of its answer. The clock starts here."""
        if self._transport is None or not self.usable:
            raise RuntimeError("a connection carries one request at a time")
        receiver = self._receiver = Receiver(attempt, asyncio.get_running_loop())
        attempt.t0_ns = self._now()
        self._transport.write(data)
        if not self._blocked:
            attempt.sent_ns = self._now()
        self._patience = Patience(attempt, self._now, self.abandon)
        return receiver

    def abandon(self, end: End, why: str) -> None:
        """Give up what is under way, if anything, and drop the connection."""
        receiver = self._detach()
        if receiver is not None:
            receiver.attempt.finish(end, why)
            receiver.stop(self._now())
        if self._transport is not None:
            self._transport.abort()

    # Called by the event loop.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the transport."""
        self.use(cast("asyncio.Transport", transport))

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002  # the interface of asyncio
        """Where the next read lands."""
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        """Stamp a read and pass it on."""
        at_ns = self._now()
        receiver = self._receiver
        if receiver is None:
            self.abandon("unclean", "bytes that nobody asked for")
        elif receiver.feed(self._buffer[:nbytes], at_ns):
            self._answered(receiver)

    def eof_received(self) -> None:
        """Pass on that the peer is done, and let the transport close."""
        self._end(None)

    def connection_lost(self, exc: Exception | None) -> None:
        """Name the loss when an answer was under way."""
        self._transport = None
        self._end(exc)
        self._on_lost(self)
        if not self.gone.done():
            self.gone.set_result(None)

    def pause_writing(self) -> None:
        """The socket takes no more for now."""
        self._blocked = True

    def resume_writing(self) -> None:
        """All of the request has been handed to the socket."""
        self._blocked = False
        if self._receiver is not None and self._receiver.attempt.sent_ns is None:
            self._receiver.attempt.sent_ns = self._now()

    def _answered(self, receiver: Receiver) -> None:
        """Keep the connection when both sides finished cleanly, else drop it."""
        self._detach()
        if receiver.reusable and not self._blocked and self.usable:
            self.idle_since_ns = self._now()
            self._on_idle(self)
        elif self._transport is not None:
            self._transport.abort()

    def _end(self, exc: Exception | None) -> None:
        """The peer has closed or reset the connection."""
        at_ns = self._now()
        receiver = self._detach()
        if receiver is None:
            return
        if self.origin.scheme == "https" and receiver.attempt.first_byte_ns is None:
            # Case TR-08; asyncio does not tell whether TLS was ended or just cut.
            receiver.attempt.finish("tls_dropped", _words(exc))
        elif exc is not None:
            reset = isinstance(exc, ConnectionError)
            receiver.attempt.finish("reset" if reset else "unclean", _words(exc))
        receiver.eof(at_ns)

    def _detach(self) -> Receiver | None:
        receiver, self._receiver = self._receiver, None
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None
        if receiver is not None:
            receiver.release()
        return receiver


def _words(exc: Exception | None) -> str:
    return "the TLS connection closed without an answer" if exc is None else f"{type(exc).__name__}: {exc}"[:200]
