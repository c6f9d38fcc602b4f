"""What one request may cost the prober."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Time-outs in seconds and caps on what is kept. All are the prober's own, so exceeding a cap is `client_limit`.

    ``connect_s`` covers name, TCP and TLS. ``first_byte_s`` runs from the moment the request is written to the first
    byte of the body, ``first_event_s`` to the first byte that is no keep-alive comment, ``stall_s`` between two reads
    that bring more than comments, ``linger_s`` from the end marker ``[DONE]`` to the end of the body, ``total_s`` over
    the whole attempt after the connection is up. ``max_bytes`` of body and ``max_events`` (events as well as reads)
    are kept, and ``max_header_bytes`` of headers or framing are read without a byte of body.
    """

    connect_s: float = 10.0
    first_byte_s: float = 60.0
    first_event_s: float = 180.0
    stall_s: float = 30.0
    linger_s: float = 2.0
    total_s: float = 300.0
    max_bytes: int = 64 * 1024 * 1024
    max_events: int = 200_000
    max_header_bytes: int = 64 * 1024
