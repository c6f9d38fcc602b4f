"""Makes the clients that probes use; the only place where a key meets a request."""

from jobs.clock import SystemClock
from monitor.types import Endpoint
from monitor.wire.dispatch import protocols
from probes.client import HttpClient
from probes.heartbeat import Heartbeat
from probes.limits import Limits


def http_client(
    endpoint: Endpoint, key: str | None, clock: SystemClock, heartbeat: Heartbeat, limits: Limits | None = None
) -> HttpClient:
    """A client for `endpoint` that speaks its protocol."""
    return HttpClient(
        endpoint, protocols()[endpoint.protocol], key=key, clock=clock, heartbeat=heartbeat, limits=limits
    )  # fmt: skip
