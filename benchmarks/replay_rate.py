"""How late the replay server writes with many streams open, at ten thousand events a second in total.

The server runs in its own process. The client is a bare protocol that stamps each read and counts; an event's
lateness is the time from when it was due (counted from the client's own write of the request) to that stamp, so it
includes the way there and back and what the client itself was late.
"""

import asyncio
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import orjson

from benchmarks.report import Report
from jobs.event_loop import run as run_loop

NAME = "replay-rate"
N_EVENTS = 60
SETTINGS = ((100, 10.0), (1000, 100.0), (2000, 200.0))
"""Streams, and ms between the events of each: ten thousand events a second every time."""

_REQUEST = b"POST /v1/chat/completions HTTP/1.1\r\nHost: replay\r\nContent-Length: 2\r\n\r\n{}"
_CHUNK = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "replay"}


def script(period_ms: float) -> bytes:
    """A timed script of chat events, one every `period_ms`."""
    choice = {"index": 0, "delta": {"content": " weight"}, "finish_reason": None}
    event = f"data: {orjson.dumps({**_CHUNK, 'choices': [choice]}).decode()}\n\n"
    lines = [orjson.dumps({"at_ms": n * period_ms, "send": event}) for n in range(N_EVENTS)]
    return b"\n".join(lines)


class Stream(asyncio.Protocol):
    """One stream: counts events by their blank lines, and notes how late each was."""

    def __init__(self, period_s: float, late: list[float], done: asyncio.Future[None]) -> None:
        self.period_s, self.late, self.done = period_s, late, done
        self.seen = 0
        self.start = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ask at once."""
        transport.write(_REQUEST)  # type: ignore[attr-defined]  # it is a stream
        self.start = time.perf_counter()
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        """Count."""
        now = time.perf_counter()
        for _ in range(data.count(b"\n\n")):
            self.late.append((now - self.start - self.seen * self.period_s) * 1e3)
            self.seen += 1
        if data.endswith(b"0\r\n\r\n"):
            self.transport.close()
            if not self.done.done():
                self.done.set_result(None)


async def drive(port: int, streams: int, period_ms: float, seed: int) -> list[float]:
    """Open `streams` streams, spread over one period, and return the lateness of all their events in ms."""
    loop, late, rng = asyncio.get_running_loop(), list[float](), random.Random(seed)  # noqa: S311  # no secret
    finished = [loop.create_future() for _ in range(streams)]

    async def one(done: asyncio.Future[None]) -> None:
        await asyncio.sleep(rng.random() * max(period_ms / 1e3, 1.0))
        await loop.create_connection(lambda: Stream(period_ms / 1e3, late, done), "127.0.0.1", port)

    async with asyncio.TaskGroup() as group:
        for done in finished:
            group.create_task(one(done))
    await asyncio.wait(finished, timeout=120)
    return late


@contextmanager
def served(period_ms: float) -> Iterator[tuple[int, subprocess.Popen[str]]]:
    """The replay server in its own process, and its port."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "steady.timed"
        path.write_bytes(script(period_ms))
        command = [sys.executable, "-m", "jobs.cli", "replay", str(path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None  # noqa: S101  # it is a pipe
            url = process.stdout.readline().strip()
            try:
                yield int(url.removesuffix("/v1").rpartition(":")[2]), process
            finally:
                process.terminate()


def cpu_s(pid: int) -> float:
    """CPU seconds that a process has used (Linux)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def percentile(values: list[float], share: float) -> float:
    """The smallest value that `share` of them do not exceed."""
    return values[min(int(share * len(values)), len(values) - 1)]


def run(report: Report) -> None:
    """Measure and report."""
    rows = []
    for streams, period_ms in SETTINGS:
        with served(period_ms) as (port, process):
            before, started = cpu_s(process.pid), time.perf_counter()
            late = sorted(run_loop(drive(port, streams, period_ms, seed=1)))
            took, used = time.perf_counter() - started, cpu_s(process.pid) - before
        n, due = len(late), streams * N_EVENTS
        rows.append((
            streams, f"{n} of {due}", n / took, percentile(late, 0.5), percentile(late, 0.9), percentile(late, 0.99),
            late[-1], 1e6 * used / n,
        ))  # fmt: skip
    columns = ("streams", "events", "events/s", "p50 ms", "p90 ms", "p99 ms", "max ms", "server µs/event")
    report.table("Lateness of the replay server's events, as the client saw it", columns, rows)
    report.note("Target: 1,000 streams and 10,000 events/s in total with a p99 below 5 ms.")
