"""The protocols that there are, the one that an endpoint speaks, and the decoder of a capture."""

from dataclasses import replace
from functools import cache

import monitor.wire
from monitor.catalogue import scan
from monitor.types import Capture, Endpoint, Exchange
from monitor.wire.dialects import dialects
from monitor.wire.speaker import Speaker


@cache
def protocols() -> dict[str, Speaker]:
    """Return the protocols by kind, each in its plain dialect."""
    return scan(monitor.wire, "PROTOCOL")


@cache
def dialects_by_protocol() -> dict[str, tuple[str, ...]]:
    """Return the names of the dialects in which each protocol can be spoken."""
    return {
        kind: tuple(sorted(name for name, dialect in dialects().items() if kind in dialect.wordings))
        for kind in protocols()
    }


def speaker(endpoint: Endpoint) -> Speaker:
    """Return the protocol of `endpoint` in its dialect, held to its upstream.

    Raises
    ------
    KeyError
        When there is no such protocol or dialect (our bug: the configuration is checked against both).
    """
    plain = protocols()[endpoint.protocol]
    dialect = plain.dialect if endpoint.dialect is None else dialects()[endpoint.dialect]
    return replace(plain, dialect=dialect, upstream=endpoint.upstream)


def decode(capture: Capture) -> Exchange:
    """Decode `capture` with the protocol that it names.

    Raises
    ------
    KeyError
        When there is no such protocol (our bug: the configuration is checked against `protocols`).
    """
    return protocols()[capture.protocol].decode(capture)
