"""One load on the native server, in a process and on a core of its own: ``python -m benchmarks.wire_load JSON``.

Prints what was seen as JSON. The client is the product's own `HttpClient`; the other ways exist for comparison.
"""

import asyncio
import gc
import ssl
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import orjson

from benchmarks.wire_bare import bare_load
from benchmarks.wire_kernel import KernelStamps
from benchmarks.wire_server import PEM, cores, take_core
from benchmarks.wire_truth import compared
from jobs.clock import SystemClock
from monitor.types import Capture, Endpoint, Request
from monitor.wire.dispatch import speaker
from probes.client import HttpClient, Sender, WireSender
from probes.heartbeat import Heartbeat
from probes.transport.attempt import Attempt
from probes.transport.stock import StockSender
from probes.transport.wire import WireStream, WireTransport


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """``streams`` at a time, each of them ``rounds`` requests one after the other, on port ``port``."""

    port: int
    streams: int
    rounds: int
    tokens: int
    gap_us: int
    tls: bool
    way: str


class ThroughAsyncClient:
    """Our transport under `httpx.AsyncClient`: what the client object itself costs."""

    secrets = ()

    def __init__(self, transport: WireTransport) -> None:
        self._http = httpx.AsyncClient(transport=transport, trust_env=False)

    async def send(self, request: httpx.Request, attempt: Attempt) -> None:
        """Send and wait for the end."""
        response = await self._http.send(request, stream=True)
        stream = getattr(response.stream, "_stream", response.stream)
        if not isinstance(stream, WireStream):
            raise TypeError("httpx has changed how it wraps streams: adapt this benchmark")
        await stream.ended()
        del attempt

    async def aclose(self) -> None:
        """Close."""
        await self._http.aclose()


def sender_for(way: str, stamps: KernelStamps, tls: ssl.SSLContext | None) -> Sender:
    """The sender that `way` names."""
    now = time.perf_counter_ns
    ways: dict[str, Callable[[], Sender]] = {
        "wire": lambda: WireSender(WireTransport(now, tls=tls)),
        "kernel": lambda: WireSender(WireTransport(now, tls=tls, make_socket=stamps.make_socket)),
        "asyncclient": lambda: ThroughAsyncClient(WireTransport(now, tls=tls)),
        "httpx": lambda: StockSender(now, tls=tls),
    }
    return ways[way]()


async def wire_load(load: Load, sender: Sender) -> tuple[list[Capture], dict[str, Any]]:
    """Run the load with the product's client; the first round only opens the connections."""
    clock, captures = SystemClock(), []
    scheme = "https" if load.tls else "http"
    endpoint = Endpoint(name="bench/wire", provider="bench", base_url=f"{scheme}://127.0.0.1:{load.port}/v1", model="m")
    ask = Request(prompt_id="p", messages=({"role": "user", "content": "hi"},), max_tokens=load.tokens, seed=1)
    async with Heartbeat(clock).beating() as heartbeat:
        client = HttpClient(
            endpoint, speaker(endpoint), key="sk-bench-0123456789", clock=clock,
            heartbeat=heartbeat, sender=sender,
        )  # fmt: skip

        async def worker(rounds: int) -> None:
            for _ in range(rounds):
                captures.append(await client.send(ask))  # noqa: PERF401  # kept also when one fails

        async def together(rounds: int) -> None:
            async with asyncio.TaskGroup() as group:
                for _ in range(load.streams):
                    group.create_task(worker(rounds))

        await together(1)
        rss_mb = resident_mb()  # all connections open, and everything that a round of streams brought still kept
        captures.clear()
        cpu, wall = time.process_time(), time.perf_counter()
        await together(load.rounds)
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        await client.aclose()
    return captures, {"cpu_s": cpu, "wall_s": wall, "rss_mb": rss_mb}


def resident_mb() -> float:
    """Resident memory of this process now, MB."""
    fields = Path("/proc/self/statm").read_text().split()
    return int(fields[1]) * 4096 / 1e6


def main(text: str) -> None:
    """Run one load and print what came of it."""
    load = Load(**orjson.loads(text))
    take_core(cores()[1])
    tls = ssl.create_default_context(cafile=str(PEM)) if load.tls else None
    stamps = KernelStamps()
    # The product's load phases do the same: a full collection would stop all streams for tens of milliseconds.
    gc.collect()
    gc.freeze()
    gc.disable()
    if load.way == "bare":
        seen = asyncio.run(bare_load(load.port, load.streams, load.rounds, load.gap_us))
    else:
        captures, seen = asyncio.run(wire_load(load, sender_for(load.way, stamps, tls)))
        seen |= compared(captures, stamps if load.way == "kernel" else None)
    n_tokens = load.streams * load.rounds * load.tokens
    seen |= {"us_per_token": seen["cpu_s"] / n_tokens * 1e6, "cpu_share": seen["cpu_s"] / seen["wall_s"]}
    sys.stdout.buffer.write(orjson.dumps(seen))


if __name__ == "__main__":
    main(sys.argv[1])
