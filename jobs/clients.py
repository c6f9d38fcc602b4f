"""Makes the clients that probes use; the only place where a key meets a request."""

from jobs.clock import SystemClock
from monitor.types import Endpoint
from monitor.wire.dispatch import speaker
from probes.client import HttpClient
from probes.heartbeat import Heartbeat
from probes.limits import Limits

PROBING = Limits(total_s=180, max_bytes=16 * 2**20, max_events=20_000)
"""What a probe's answers never need more than; a load test brings limits of its own."""


def http_client(
    endpoint: Endpoint, key: str | None, clock: SystemClock, heartbeat: Heartbeat, limits: Limits | None = None
) -> HttpClient:
    """A client for `endpoint` that speaks its protocol; `limits` None are those of probes."""
    return HttpClient(endpoint, speaker(endpoint), key=key, clock=clock, heartbeat=heartbeat, limits=limits or PROBING)
