"""What one request may cost the prober."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Time-outs in seconds and caps on what is kept. All are the prober's own, so exceeding a cap is `client_limit`.

    ``first_byte_s`` runs from the moment the request is written to the first byte of the body, ``stall_s`` between
    two reads, ``total_s`` over the whole attempt after the connection is up.
    """

    connect_s: float = 10.0
    first_byte_s: float = 60.0
    stall_s: float = 30.0
    total_s: float = 300.0
    max_bytes: int = 64 * 1024 * 1024
    max_events: int = 200_000
