"""What all processes of a soak share: the folder, the clock, the configuration, the probes."""

import json
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import ClassVar

from monitor.config import Catalogues, Config, load
from monitor.lanes import Lane
from monitor.ports import Client, ProbeContext, ProbeResult
from monitor.results import Metric
from monitor.types import Request
from monitor.wire.dispatch import decode
from probes.cost import Cost

PROVIDERS, MODELS = 20, 10
EVERY = "30m"
DOWN, LIMITED = "p2", "p1"
"""The provider that goes down once, and the one that answers 429 in storms."""


class SoakClock:
    """Wall time that runs `speed` times as fast, and is stepped by the file ``step``; monotonic time as it is."""

    def __init__(self, folder: Path) -> None:
        said = json.loads((folder / "world.json").read_text())
        self.speed: float = said["speed"]
        self._real, self._start = said["real"], datetime.fromisoformat(said["start"])
        self._file, self._step, self._read_at = folder / "step", 0.0, 0.0

    def now(self) -> datetime:
        """Simulated time in UTC."""
        real = time.time()  # noqa: TID251  # this is a clock
        if real - self._read_at > 0.05:
            self._step, self._read_at = float(self._file.read_text() or 0), real
        return self._start + timedelta(seconds=(real - self._real) * self.speed + self._step)

    def monotonic_ns(self) -> int:
        """Real."""
        return time.perf_counter_ns()


@dataclass(frozen=True, slots=True, kw_only=True)
class One:
    """One request."""

    kind: ClassVar[str] = "one"
    version: ClassVar[int] = 1
    lane: ClassVar[Lane] = "latency"
    metrics: ClassVar[tuple[Metric, ...]] = ()

    def cost(self) -> Cost:
        """What it costs."""
        return Cost(1, 100, 100)

    def requests(self, seed: int) -> tuple[Request, ...]:
        """What it sends."""
        messages = ({"role": "user", "content": f"{self.kind} {seed}"},)
        return (Request(prompt_id=f"{self.kind}-{seed}", messages=messages, max_tokens=8),)

    async def run(self, client: Client, context: ProbeContext) -> ProbeResult:
        """Ask."""
        captures = [await client.send(request) for request in self.requests(context.seed)]
        return ProbeResult(captures=tuple(captures), exchanges=tuple(map(decode, captures)), observations=())


@dataclass(frozen=True, slots=True, kw_only=True)
class Two(One):
    """In bulk."""

    kind: ClassVar[str] = "two"
    lane: ClassVar[Lane] = "bulk"


@dataclass(frozen=True, slots=True, kw_only=True)
class Three(Two):
    """In bulk."""

    kind: ClassVar[str] = "three"


@dataclass(frozen=True, slots=True, kw_only=True)
class Four(Two):
    """In bulk."""

    kind: ClassVar[str] = "four"


@dataclass(frozen=True, slots=True, kw_only=True)
class Five(Two):
    """In bulk."""

    kind: ClassVar[str] = "five"


@dataclass(frozen=True, slots=True, kw_only=True)
class Six(Two):
    """In bulk."""

    kind: ClassVar[str] = "six"


PROBES = {one.kind: one for one in (One, Two, Three, Four, Five, Six)}
CATALOGUES = Catalogues(probes=PROBES, detectors={}, protocols=("openai_chat",))


def written(folder: Path, endpoints: str, hook: str, store_port: int) -> None:
    """Write the configuration of a soak into `folder`."""
    names = [(f"p{i}", f"p{i}/m{j}") for i in range(PROVIDERS) for j in range(MODELS)]
    lines = [
        "vantage: soak",
        f"store: {{path: '{folder}/store.duckdb', listen: '127.0.0.1:{store_port}', snapshots: 0}}",
        f"agent: {{spool: '{folder}/spool.sqlite', concurrency: 4}}",
        "alerts:", "  every: 30s", "  group_wait: 30s", "  reminders: false",
        f"  routes: {{hook: {{kind: webhook, url: '{hook}', secret: '${{HOOK}}', allow_private: true}}}}",
        "endpoints:",
        *(f"  - {{name: {name}, base_url: '{endpoints}/{where}/v1', model: m}}" for where, name in names),
        "probes:", *(f"  - {{kind: {kind}, every: {EVERY}}}" for kind in PROBES),
    ]  # fmt: skip
    (folder / "weighmaster.yaml").write_text("\n".join(lines) + "\n", encoding="utf-8")


def config(folder: Path) -> Config:
    """The configuration in `folder`."""
    return load((folder / "weighmaster.yaml").read_text(encoding="utf-8"), {"HOOK": "k" * 32}, CATALOGUES)


def begin(folder: Path, speed: float) -> None:
    """Start the clock."""
    about = {"real": time.time(), "start": datetime(2026, 3, 28, 12, tzinfo=UTC).isoformat(), "speed": speed}  # noqa: TID251
    (folder / "world.json").write_text(json.dumps(about))
    (folder / "step").write_text("0")
    (folder / "faults").write_text("{}")
