"""What has been seen so far of one HTTP attempt; filled by a transport, read by the client."""

from dataclasses import dataclass, field
from functools import partial

import httpx

from monitor.types import End, Read
from monitor.wire.progress import Progress
from probes.limits import Limits

EXTENSION = "attempt"
"""Name of the httpx request extension that carries the `Attempt` to fill."""


@dataclass(slots=True)
class Attempt:
    """One HTTP attempt, mutable only while it runs. The fields mean what those of `monitor.types.Capture` mean.

    ``stamps`` and ``bodies`` are the reads, kept apart: integers and bytes cost the garbage collector nothing, and it
    must not run while streams are timed. ``progress`` tells tokens from signs of life, in the words of the protocol
    (chat's unless another is given). ``end`` stays None until the attempt is over.
    """

    limits: Limits = field(default_factory=Limits)
    progress: Progress = field(default_factory=Progress)
    fresh: bool = False
    transport: str = "wire"
    status: int | None = None
    headers: list[tuple[str, str]] = field(default_factory=list)
    stamps: list[int] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    dns_ns: int | None = None
    connect_ns: int | None = None
    tls_ns: int | None = None
    t0_ns: int | None = None
    sent_ns: int | None = None
    first_byte_ns: int | None = None
    eof_ns: int | None = None
    reused: bool | None = None
    end: End | None = None
    error: str | None = None

    @property
    def stale(self) -> bool:
        """Whether a kept-alive connection was closed before a byte of the answer came: no fault of the endpoint."""
        return self.reused is True and self.first_byte_ns is None and self.end in {"unclean", "reset", "tls_dropped"}

    def finish(self, end: End, error: str | None = None) -> None:
        """Note how the attempt ended; only the first word counts."""
        if self.end is None:
            self.end, self.error = end, error

    def reads(self) -> tuple[Read, ...]:
        """The reads of the body, as a `Capture` holds them."""
        return tuple(map(_read, zip(self.stamps, self.bodies, strict=True)))

    def failure(self, request: httpx.Request) -> httpx.TransportError:
        """The end of the attempt as httpx would raise it."""
        kind = _RAISED.get(self.end or "unclean", httpx.RemoteProtocolError)
        return kind(self.error or "the connection closed before the answer was complete", request=request)


_read = partial(tuple.__new__, Read)  # `Read` without the Python frame of its constructor: this runs once per token
_RAISED: dict[str, type[httpx.TransportError]] = {
    "connect_error": httpx.ConnectError,
    "address_refused": httpx.ConnectError,
    "tls_trust": httpx.ConnectError,
    "tls_dropped": httpx.ConnectError,
    "reset": httpx.ReadError,
    "timeout_first_byte": httpx.ReadTimeout,
    "stalled": httpx.ReadTimeout,
}
