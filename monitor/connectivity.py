"""Whether an endpoint is down or we are offline. Pure.

When no endpoint can be connected to any more, the fault is likely ours: then, and only then, addresses that have
nothing to do with the endpoints are tried (`jobs.self_check`).
"""

from collections.abc import Sequence

from monitor.types import Exchange

OFFLINE = "agent offline: no endpoint and none of the addresses of agent.self_check can be connected to"


def never_connected(exchanges: Sequence[Exchange]) -> bool:
    """Whether a run asked something and never got a connection."""
    return bool(exchanges) and all(exchange.outcome == "connect_error" for exchange in exchanges)


def connected(exchanges: Sequence[Exchange]) -> bool:
    """Whether a run got through to somebody at least once."""
    return any(exchange.status is not None or exchange.connect_ms is not None for exchange in exchanges)


def suspicious(exchanges: Sequence[Exchange], started_s: float, connected_s: float | None) -> bool:
    """Whether a run looks as if we were offline: it never connected, and nobody has connected since it started.

    ``connected_s`` is when any endpoint was last connected to; None is never. Both are monotonic.
    """
    return never_connected(exchanges) and (connected_s is None or connected_s < started_s)
