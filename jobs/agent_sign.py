"""The agent's sign of life at the store, once a minute: which agents there are, and how their clocks stand."""

import socket

from jobs.backlog import Backlog
from jobs.store_client import StoreClient
from jobs.version import version
from monitor.agent_sign import AgentSign
from monitor.codec import encode
from monitor.ports import Clock

EVERY_NS = 60 * 10**9


class Signing:
    """Signs for the agent at one vantage."""

    def __init__(self, vantage: str, clock: Clock) -> None:
        self._vantage, self._clock, self._since = vantage, clock, clock.now()
        self._signed_ns: int | None = None

    def sign(self, backlog: Backlog, store: StoreClient) -> None:
        """Append a sign when it is time for one. Call it after a push that worked: in an outage none are heaped up."""
        now_ns = self._clock.monotonic_ns()
        if self._signed_ns is not None and now_ns - self._signed_ns < EVERY_NS:
            return
        self._signed_ns = now_ns
        ahead_s, error_s = store.offset or (None, None)
        one = AgentSign(
            vantage=self._vantage, version=version(), at=self._clock.now(), waiting=backlog.n_waiting,
            clock_offset_s=ahead_s, clock_error_s=error_s, writer=backlog.spool.writer, host=socket.gethostname(),
            since=self._since,
        )  # fmt: skip
        backlog.append([("agent", encode(one))])
