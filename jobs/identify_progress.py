"""What `weighmaster identify` says while golden weights work: how long that takes already, and that it goes on."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from jobs.still_working import EVERY_S, telling


class Progress:
    """Takes lines of progress; call it from any thread.

    ``tell`` writes one line, ``stopped`` is set when the command is to end, ``every_s`` is after how many seconds of
    silence the newest line is repeated.
    """

    def __init__(
        self, tell: Callable[[str], None], stopped: threading.Event, *, every_s: float = EVERY_S,
        clock_ns: Callable[[], int] = time.perf_counter_ns,
    ) -> None:  # fmt: skip
        self._tell, self._stopped, self._every_s, self._clock_ns = tell, stopped, every_s, clock_ns
        self._told, self._began_ns = tell, clock_ns()

    def __call__(self, line: str) -> None:
        """Say `line`, with the time since `working` began.

        Raises
        ------
        KeyboardInterrupt
            When the command is to end: the loop waits for the thread that is at work.
        """
        if self._stopped.is_set():
            raise KeyboardInterrupt
        self._told(f"{(self._clock_ns() - self._began_ns) / 1e9:.0f} s: {line}")

    @contextmanager
    def working(self) -> Iterator[None]:
        """Let golden weights work for the length of a context; the newest line is repeated meanwhile."""
        with telling(self._tell, every_s=self._every_s) as told:
            self._told, self._began_ns = told, self._clock_ns()
            try:
                yield
            finally:
                self._told = self._tell
