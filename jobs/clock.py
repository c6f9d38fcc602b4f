"""The machine's clocks behind the `Clock` port."""

import time
from datetime import UTC, datetime


class SystemClock:
    """Wall time in UTC and the monotonic clock that captures use."""

    def now(self) -> datetime:
        """Aware UTC wall time."""
        return datetime.now(UTC)

    def monotonic_ns(self) -> int:
        """Monotonic nanoseconds (`perf_counter_ns`)."""
        return time.perf_counter_ns()
