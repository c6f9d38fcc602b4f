"""The protocols that there are, and the decoder of a capture."""

from functools import cache
from typing import Protocol

import monitor.wire
from monitor.catalogue import scan
from monitor.types import Capture, Exchange, Request


class WireProtocol(Protocol):
    """One way of asking a model: a module of `monitor.wire` offers it as ``PROTOCOL``."""

    kind: str
    """Name in configuration and records."""

    path: str
    """What is appended to the endpoint's base URL."""

    def body(self, request: Request, model: str) -> bytes:
        """Return the exact bytes to send."""
        ...

    def decode(self, capture: Capture) -> Exchange:
        """Return the record of `capture`; never raises for what an endpoint sent."""
        ...


@cache
def protocols() -> dict[str, WireProtocol]:
    """Return the protocols by kind."""
    return scan(monitor.wire, "PROTOCOL")


def decode(capture: Capture) -> Exchange:
    """Decode `capture` with the protocol that it names.

    Raises
    ------
    KeyError
        When there is no such protocol (our bug: the configuration is checked against `protocols`).
    """
    return protocols()[capture.protocol].decode(capture)
