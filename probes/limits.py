"""What one request may cost the prober."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Time-outs in seconds and caps on what is kept. All are the prober's own, so exceeding a cap is `client_limit`.

    ``connect_s`` covers name, TCP and TLS. ``first_byte_s`` runs from the moment the request is written to the first
    byte of the body, ``first_token_s`` to the first token, whatever else comes meanwhile (comments, role chunks,
    ``message_start``, pings), ``stall_s`` from one token to the next, ``linger_s`` from the end marker of the protocol
    to the end of the body, ``total_s`` over the whole attempt after the connection is up. ``max_bytes`` of body and
    ``max_events`` (events as well as reads) are kept, and ``max_header_bytes`` of headers or framing are read without
    a byte of body.
    """

    connect_s: float = 10.0
    first_byte_s: float = 60.0
    first_token_s: float = 180.0
    stall_s: float = 30.0
    linger_s: float = 2.0
    total_s: float = 300.0
    max_bytes: int = 64 * 1024 * 1024
    max_events: int = 200_000
    max_header_bytes: int = 64 * 1024
