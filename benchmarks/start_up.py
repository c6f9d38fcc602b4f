"""How soon the command line says something, and how soon the agent sends its first request."""

import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import orjson

from benchmarks.replay_rate import cpu_s
from benchmarks.report import Report, load

NAME = "start-up"
REPEATS = 7
WAIT_S = 30.0

_CONFIG = """\
store: {{path: {folder}/store.duckdb}}
agent: {{spool: {folder}/spool.sqlite}}
endpoints:
  - name: bench/endpoint
    base_url: http://127.0.0.1:{port}/v1
    model: m
probes:
  - {{kind: speed, every: 1h}}
"""


@contextmanager
def started(*arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process of the product, ended afterwards."""
    command = [sys.executable, "-m", "jobs.cli", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        try:
            yield process
        finally:
            process.terminate()


class Took(NamedTuple):
    """Seconds on the clock, and CPU seconds of the process until then."""

    wall_s: float
    cpu_s: float


def help_takes() -> Took:
    """From the start of ``weighmaster --help`` to its end."""
    begun = time.perf_counter()
    with started("--help") as process:
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        return Took(time.perf_counter() - begun, cpu_s(process.pid))


def first_request_takes(*, store: bool) -> Took:
    """From the start of the agent's process to its first request at an endpoint; with a store that runs, or none."""
    with tempfile.TemporaryDirectory() as folder, socket.create_server(("127.0.0.1", 0)) as endpoint:
        endpoint.settimeout(WAIT_S)
        config = Path(folder) / "weighmaster.yaml"
        config.write_text(_CONFIG.format(folder=folder, port=endpoint.getsockname()[1]))
        if not store:
            return _received(endpoint, config, "http://127.0.0.1:9")
        with started("store", "--config", str(config), "--port", "0") as process:
            if process.stdout is None:
                raise RuntimeError("a pipe was asked for")
            return _received(endpoint, config, orjson.loads(process.stdout.readline())["url"])


def _received(endpoint: socket.socket, config: Path, store_url: str) -> Took:
    begun = time.perf_counter()
    with started("agent", "--config", str(config), "--store-url", store_url) as process:
        connection, _ = endpoint.accept()
        with connection:
            connection.settimeout(WAIT_S)
            if not connection.recv(1):
                raise RuntimeError("the agent closed its connection without a request")
            return Took(time.perf_counter() - begun, cpu_s(process.pid))


def run(report: Report) -> None:
    """Measure and report."""
    rows = [
        _row("`weighmaster --help`", help_takes, 0.3),
        _row("agent to its first request, a store running", lambda: first_request_takes(store=True), 1.0),
        _row("agent to its first request, no store", lambda: first_request_takes(store=False), 1.0),
    ]
    report.table(
        f"Seconds from the start of the process, {REPEATS} times each, and the CPU seconds of the process until then.",
        ("what", "least", "median", "most", "CPU, median", "target", "load", "verdict"), rows,
    )  # fmt: skip


def _row(what: str, measure: Callable[[], Took], target_s: float) -> Sequence[object]:
    took = [measure() for _ in range(REPEATS)]
    seconds = sorted(one.wall_s for one in took)
    median = statistics.median(seconds)
    verdict = "met" if median < target_s else "missed"
    if verdict == "missed" and os.getloadavg()[0] > (os.cpu_count() or 1):
        verdict = "invalid: the machine is busy"
    cpu = statistics.median(one.cpu_s for one in took)
    return what, seconds[0], median, seconds[-1], cpu, f"< {target_s:g}", load(), verdict
