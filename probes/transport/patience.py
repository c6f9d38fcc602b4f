"""How long to wait for what: one timer per attempt, looked at now and then, so that reads need not touch it."""

import asyncio
from collections.abc import Callable

from monitor.types import End
from probes.transport.attempt import Attempt
from probes.transport.receiver import Receiver

_NS = 1_000_000_000
_COMMENT = b":"
_LAST_EVENT = b"data: [DONE]\n\n"


class Patience:
    """Calls `expire` when an attempt has waited too long (`probes.limits.Limits`).

    The timer never sleeps longer than the shortest limit. A deadline is at least that far behind the read that set it,
    so every deadline is met although no read re-arms the timer.
    """

    def __init__(self, receiver: Receiver, now: Callable[[], int], expire: Callable[[End, str], None]) -> None:
        self._receiver, self._now, self._expire = receiver, now, expire
        limits = receiver.attempt.limits
        self._nap_s = min(limits.first_byte_s, limits.first_event_s, limits.stall_s, limits.linger_s, limits.total_s)
        self._timer: asyncio.TimerHandle | None = None
        self._start_ns = now()
        self._look()

    def cancel(self) -> None:
        """Stop waiting."""
        if self._timer is not None:
            self._timer.cancel()

    def _look(self) -> None:
        deadline_ns, end, what = min(self._deadlines())
        left_s = (deadline_ns - self._now()) / _NS
        if left_s <= 0:
            self._timer = None
            self._expire(end, f"time-out: {what}")
            return
        self._timer = asyncio.get_running_loop().call_later(min(left_s, self._nap_s), self._look)

    def _deadlines(self) -> list[tuple[int, End, str]]:
        attempt, limits = self._receiver.attempt, self._receiver.attempt.limits
        whole: End = "client_limit" if attempt.stamps else "timeout_first_byte"
        waits = [self._wait(self._start_ns, limits.total_s, whole, "in all")]
        progress_ns, done = _progress(attempt)
        if progress_ns is not None:
            wait_s, what = (limits.linger_s, "after [DONE]") if done else (limits.stall_s, "since the last data")
            waits.append(self._wait(progress_ns, wait_s, "stalled", what))
        elif attempt.stamps:
            waits.append(self._wait(self._start_ns, limits.first_event_s, "stalled", "of comments only"))
        else:
            waits.append(self._wait(self._start_ns, limits.first_byte_s, "timeout_first_byte", "without a byte"))
        return waits

    def _wait(self, since_ns: int, wait_s: float, end: End, what: str) -> tuple[int, End, str]:
        return since_ns + int(wait_s * _NS), end, f"{wait_s:g} s {what}"


def _progress(attempt: Attempt) -> tuple[int | None, bool]:
    """When the last read came that was more than a keep-alive comment, and whether it ended with the end marker."""
    for at_ns, body in zip(reversed(attempt.stamps), reversed(attempt.bodies), strict=True):
        if b"data:" in body or not body.startswith(_COMMENT):
            return at_ns, body.endswith(_LAST_EVENT)
    return None, False
