"""Says every few seconds that long work goes on, so that nobody has to guess whether it hangs."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

EVERY_S = 10.0


@contextmanager
def telling(report: Callable[[str], None], *, every_s: float = EVERY_S) -> Iterator[Callable[[str], None]]:
    """Yield a `report` that repeats its newest line every `every_s` seconds, with the time since, until the block ends.

    Parameters
    ----------
    report
        Takes one line; it is called from a thread of its own too.
    every_s
        Seconds between two lines.
    """
    ended = threading.Event()
    newest: list[tuple[str, int]] = [("working", time.perf_counter_ns())]
    lock = threading.Lock()

    def told(line: str) -> None:
        with lock:
            newest[:] = [(line, time.perf_counter_ns())]
        report(line)

    def repeat() -> None:
        while not ended.wait(every_s):
            with lock:
                line, since_ns = newest[0]
            report(f"  {line}: {(time.perf_counter_ns() - since_ns) / 1e9:.0f} s so far")

    thread = threading.Thread(target=repeat, name="still-working", daemon=True)
    thread.start()
    try:
        yield told
    finally:
        ended.set()
        thread.join()
