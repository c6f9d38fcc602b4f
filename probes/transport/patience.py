"""How long to wait for what: one timer per attempt, looked at now and then, so that reads need not touch it."""

import asyncio
from collections.abc import Callable

from monitor.types import End
from probes.transport.attempt import Attempt

_NS = 1_000_000_000


class Patience:
    """Calls `expire` when an attempt has waited too long (`probes.limits.Limits`). It starts waiting when made.

    The timer never sleeps longer than the shortest limit. A deadline is at least that far behind the read that set it,
    so every deadline is met although no read re-arms the timer.
    """

    def __init__(self, attempt: Attempt, now: Callable[[], int], expire: Callable[[End, str], None]) -> None:
        self._attempt, self._now, self._expire = attempt, now, expire
        limits = attempt.limits
        self._nap_s = min(limits.first_byte_s, limits.first_token_s, limits.stall_s, limits.linger_s, limits.total_s)
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
            self._expire(end, f"time-out: {what}, after {len(self._attempt.stamps)} reads")
            return
        self._timer = asyncio.get_running_loop().call_later(min(left_s, self._nap_s), self._look)

    def _deadlines(self) -> list[tuple[int, End, str]]:
        """The limit of the whole, and that of the phase which the answer has reached."""
        attempt, limits, progress = self._attempt, self._attempt.limits, self._attempt.progress
        progress.look(attempt.stamps, attempt.bodies)
        token_ns, done_ns = progress.token_ns, progress.done_ns
        whole: End = "client_limit"
        if done_ns is not None:
            wait = self._wait(max(done_ns, token_ns or 0), limits.linger_s, "stalled", "after the end marker")
        elif token_ns is not None:
            wait = self._wait(token_ns, limits.stall_s, "stalled", "since the last token")
        elif attempt.stamps:
            whole = "stalled"
            wait = self._wait(self._start_ns, limits.first_token_s, "stalled", "without a token")
        else:
            whole = "timeout_first_byte"
            wait = self._wait(self._start_ns, limits.first_byte_s, "timeout_first_byte", "without a byte")
        return [wait, self._wait(self._start_ns, limits.total_s, whole, "in all")]

    def _wait(self, since_ns: int, wait_s: float, end: End, what: str) -> tuple[int, End, str]:
        return since_ns + int(wait_s * _NS), end, f"{wait_s:g} s {what}"
