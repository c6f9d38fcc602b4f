"""Makes the clients that probes use; the only place where a key meets a request."""

from jobs.clock import SystemClock
from monitor.config_types import EndpointConfig
from monitor.errors import UsageError
from monitor.types import Endpoint
from monitor.wire.dispatch import speaker
from probes.client import HttpClient, Sender
from probes.heartbeat import Heartbeat
from probes.limits import Limits

PROBING = Limits(total_s=300, max_bytes=16 * 2**20, max_events=20_000)
"""What a probe's answers never need more than; a load test brings limits of its own."""


def client_of(
    entry: EndpointConfig, clock: SystemClock, heartbeat: Heartbeat, limits: Limits | None = None
) -> HttpClient:
    """A client for an endpoint as it is configured: with its key, over HTTP/2 or a proxy where the file says so.

    Raises UsageError when the endpoint is disabled, HTTP/2 is wanted and ``h2`` is not installed, or the proxy's
    address is none.
    """
    if entry.disabled:
        raise UsageError(f"{entry.endpoint.name} is disabled: {entry.disabled}")
    key = entry.api_key.get_secret_value() if entry.api_key else None
    sender = None
    if entry.http2 or entry.proxy:
        from probes.transport.guard import Guard  # noqa: PLC0415
        from probes.transport.stock import StockSender  # noqa: PLC0415  # few need httpx's own transport

        proxy = entry.proxy.get_secret_value() if entry.proxy else None
        guard = Guard(allow_private=entry.allow_private)
        sender = StockSender(clock.monotonic_ns, http2=entry.http2, proxy=proxy, guard=guard)
    return http_client(
        entry.endpoint, key, clock, heartbeat, limits, sender=sender, allow_private=entry.allow_private
    )  # fmt: skip


def http_client(
    endpoint: Endpoint, key: str | None, clock: SystemClock, heartbeat: Heartbeat, limits: Limits | None = None, *,
    sender: Sender | None = None, allow_private: bool = False,
) -> HttpClient:  # fmt: skip
    """A client for `endpoint` that speaks its protocol; `limits` None are those of probes.

    Its name may lead to a private address only with `allow_private`.
    """
    return HttpClient(
        endpoint, speaker(endpoint), key=key, clock=clock, heartbeat=heartbeat, limits=limits or PROBING,
        sender=sender, allow_private=allow_private,
    )  # fmt: skip
