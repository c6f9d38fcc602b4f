"""When each phase of an exchange was: the rows of its waterfall."""

from typing import NamedTuple

from monitor.types import Exchange


class Phase(NamedTuple):
    """One row of the waterfall, ms from t0. What came before t0 is negative; None was not measured."""

    name: str
    start_ms: float | None
    end_ms: float | None


def waterfall(exchange: Exchange) -> tuple[Phase, ...]:
    """Return the phases of an exchange. DNS, connect and TLS end at t0, one after the other."""
    setup = [("dns", exchange.dns_ms), ("connect", exchange.connect_ms), ("tls", exchange.tls_ms)]
    at = -sum(ms for _, ms in setup if ms is not None)
    rows = []
    for name, ms in setup:
        rows.append(Phase(name, None if ms is None else at, None if ms is None else at + ms))
        at += ms or 0.0
    points = [
        ("sent", exchange.sent_ms), ("first_byte", exchange.first_byte_ms), ("first_event", exchange.first_event_ms),
        ("first_token", exchange.ttft_ms), ("first_visible", exchange.ttfo_ms), ("last_token", exchange.last_token_ms),
        ("done", exchange.done_ms), ("eof", exchange.eof_ms),
    ]  # fmt: skip
    starts = {"sent": 0.0, "first_byte": exchange.sent_ms, "last_token": exchange.ttft_ms}
    for name, ms in points:
        start = starts.get(name, ms)
        rows.append(Phase(name, None if ms is None else ms if start is None else start, ms))
    return tuple(rows)
