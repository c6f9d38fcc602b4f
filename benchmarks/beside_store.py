"""Whether heavy queries and a computing judge move what the agent measures: TTFT of an endpoint that takes 50 ms.

Processes as the service has them: the measuring one at normal priority, the store and whoever computes at nice 5. The
endpoint goes ahead of all where that is allowed: a real one is on another machine. Phases alternate, so that other work
on the machine meets both alike. Percentiles of the product are those of *valid* timings: the prober's own lag is below
5% of the value.
"""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from benchmarks.report import Report, load
from benchmarks.store_rows import METRICS, fill
from benchmarks.wire_truth import quantile
from jobs.clients import http_client
from jobs.clock import SystemClock
from jobs.up import NICE
from monitor.types import Endpoint, Exchange, Request
from monitor.wire.dispatch import decode
from probes.heartbeat import Heartbeat

NAME = "beside-store"
TRUE_MS, ROUNDS, PER_ROUND = 50.0, 6, 100
TARGET_MS = 5.0
OBSERVATIONS = 2_000_000
AHEAD = -10
_BODY = (
    b'data: {"choices":[{"index":0,"delta":{"content":"hi"}}]}\n\n'
    b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
)
_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: %d\r\n\r\n" % len(_BODY)


async def _endpoint() -> None:
    """Answers 50 ms after the request, and stamps how long it really was."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            while head := await reader.readuntil(b"\r\n\r\n"):
                began = time.perf_counter_ns()
                lines = [line.lower() for line in head.split(b"\r\n")]
                await reader.readexactly(sum(int(one[15:]) for one in lines if one.startswith(b"content-length:")))
                left = TRUE_MS / 1e3 - (time.perf_counter_ns() - began) / 1e9
                await asyncio.sleep(max(left - 0.002, 0))
                while (time.perf_counter_ns() - began) / 1e6 < TRUE_MS:
                    pass
                writer.write(_HEAD + _BODY)
                await writer.drain()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def _compute() -> None:
    """What a judge does on a CPU: matrix products."""
    a = np.random.default_rng(0).standard_normal((512, 512), dtype=np.float32)
    while True:
        a = a @ a.T / 512


def _ask(url: str) -> None:
    """Heavy reads, one after the other."""
    since = (datetime.now(UTC) - timedelta(days=3650)).isoformat()
    names = [f"p{i}/model-{i}" for i in range(8)]
    reads: list[tuple[str, dict[str, Any]]] = [
        ("overview", {}), ("coverage", {"since": since}), ("exchanges", {"endpoint": names[7], "limit": 1000}),
        *(("series", {"endpoint": name, "metric": METRICS[0], "since": since}) for name in names),
    ]  # fmt: skip
    with httpx.Client(base_url=f"{url}/api", timeout=60, trust_env=False) as client:
        while True:
            for path, query in reads:
                client.get(f"/{path}", params=query)


@contextmanager
def _child(*arguments: str, nice: int = 0, **more: Any) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen([sys.executable, "-m", *arguments], stdout=subprocess.PIPE, text=True, **more)
    try:
        if nice:
            with suppress(PermissionError):  # only root may go ahead
                os.setpriority(os.PRIO_PROCESS, process.pid, nice)
        yield process
    finally:
        process.kill()
        process.wait()


@contextmanager
def _busy(url: str) -> Iterator[None]:
    alone = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    own = "benchmarks.beside_store"
    with (
        _child(own, "ask", url, nice=NICE), _child(own, "ask", url, nice=NICE),
        _child(own, "compute", nice=NICE, env=alone),
    ):  # fmt: skip
        time.sleep(1.5)
        yield


async def _measured(port: int, n: int) -> list[Exchange]:
    clock = SystemClock()
    endpoint = Endpoint(name="a/b", provider="a", base_url=f"http://127.0.0.1:{port}/v1", model="m")
    found = []
    async with Heartbeat(clock).beating() as heartbeat:
        client = http_client(endpoint, None, clock, heartbeat)
        for i in range(n):
            request = Request(prompt_id=str(i), messages=({"role": "user", "content": "hi"},), max_tokens=8)
            found.append(decode(await client.send(request)))
            await asyncio.sleep(0.02)
        await client.aclose()
    return found


def _first_line(process: subprocess.Popen[str]) -> str:
    return process.stdout.readline() if process.stdout is not None else ""


def _phases(port: int, url: str) -> tuple[list[Exchange], list[Exchange]]:
    calm: list[Exchange] = []
    busy: list[Exchange] = []
    asyncio.run(_measured(port, 20))
    for _ in range(ROUNDS):
        calm += asyncio.run(_measured(port, PER_ROUND))
        with _busy(url):
            busy += asyncio.run(_measured(port, PER_ROUND))
    return calm, busy


def run(report: Report) -> None:
    """Measure with and without."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store.duckdb"
        fill(path, OBSERVATIONS)
        with (
            _child("benchmarks.beside_store", "endpoint", nice=AHEAD) as endpoint,
            _child("jobs.store_process", "--path", str(path), "--port", "0", nice=NICE) as store,
        ):
            url = json.loads(_first_line(store))["url"]
            calm, busy = _phases(int(_first_line(endpoint)), url)
    rows = [row for kind in ("valid", "all") for row in _rows(kind, calm, busy)]
    title = f"True TTFT {TRUE_MS:g} ms, {OBSERVATIONS:,} observations, load {load()}"
    columns = ["timings", "TTFT", "n alone", "n beside", "alone, ms", "beside, ms", "moved by, ms", "target"]
    report.table(title, columns, rows)


def _rows(kind: str, calm: list[Exchange], busy: list[Exchange]) -> Iterator[list[object]]:
    before, after = (
        [one.ttft_ms for one in some if one.ttft_ms is not None and (kind == "all" or one.measurement == "valid")]
        for some in (calm, busy)
    )
    for share in (0.5, 0.95):
        was, became = quantile(before, share), quantile(after, share)
        moved = None if was is None or became is None else became - was
        verdict = "–" if moved is None else "met" if moved < TARGET_MS else "missed"
        told = f"{verdict} (< {TARGET_MS:g} ms)"
        yield [kind, f"p{share * 100:.0f}", len(before), len(after), was, became, moved, told]


if __name__ == "__main__":
    match sys.argv[1]:
        case "endpoint":
            asyncio.run(_endpoint())
        case "compute":
            _compute()
        case "ask":
            _ask(sys.argv[2])
