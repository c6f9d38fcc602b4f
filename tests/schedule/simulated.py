"""An agent whose clock, endpoints, kills and store are in the hands of a test.

The real `Agent`, `Backlog`, `MemoryStore` and ingest rules; the spool is a dictionary that outlives its agent, and the
clock is moved by hand: the test has the agent look at its schedule, so nothing waits for real time.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import ClassVar

import orjson

from jobs.agent import Agent
from jobs.backlog import Backlog
from jobs.self_check import Look
from monitor.codec import decode
from monitor.config import Catalogues, Config, load
from monitor.config_types import EndpointConfig
from monitor.errors import StoreError
from monitor.lanes import Lane
from monitor.ports import Client, Entry, ProbeContext, ProbeResult, Spool
from monitor.results import Metric
from monitor.schedule import Pair
from monitor.slot import Slot
from monitor.types import Capture, Read, Request
from monitor.wire.dispatch import decode as decode_capture
from probes.cost import Cost
from storage.memory import MemoryStore

START = datetime(2026, 3, 28, 12, tzinfo=UTC)
"""The day before the clocks of Berlin go forward."""

ANSWER = (
    b'{"choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}],'
    b'"usage":{"prompt_tokens":60,"completion_tokens":40,"total_tokens":100}}'
)


class FakeClock:
    """Moved by hand. ``step`` sets the wall clock alone, as an administrator does."""

    def __init__(self) -> None:
        self.wall, self.mono_s = START, 1000.0

    def now(self) -> datetime:
        return self.wall

    def monotonic_ns(self) -> int:
        return round(self.mono_s * 1e9)

    def advance(self, seconds: float) -> None:
        self.mono_s += seconds
        self.step(seconds)

    def step(self, seconds: float) -> None:
        self.wall += timedelta(seconds=seconds)


class SpoolFile:
    """What is on the disk: it outlives the agents that open it."""

    def __init__(self, writer: str) -> None:
        self.writer, self.entries, self.kept, self.seq = writer, list[Entry](), dict[str, bytes](), 0


class OpenSpool:
    """A `Spool` on a file. After ``kill`` the process is gone: nothing that it does reaches the disk."""

    def __init__(self, file: SpoolFile) -> None:
        self._file, self.killed = file, False

    @property
    def writer(self) -> str:
        return self._file.writer

    def append(self, records: Iterable[tuple[str, bytes]], notes: Mapping[str, bytes] = MappingProxyType({})) -> int:
        if not self.killed:
            for kind, data in records:
                self._file.seq += 1
                self._file.entries.append(Entry(self._file.seq, kind, data))
            self._file.kept.update(notes)
        return self._file.seq

    def pending(self, limit: int) -> list[Entry]:
        return [] if self.killed else self._file.entries[:limit]

    def confirm(self, seq: int) -> None:
        self._file.entries = [entry for entry in self._file.entries if entry.seq > seq]

    def notes(self) -> Mapping[str, bytes]:
        return dict(self._file.kept)

    def backlog(self) -> int:
        return len(self._file.entries)


class FakeStoreClient:
    """The store without HTTP."""

    def __init__(self, store: MemoryStore) -> None:
        self.store, self.up = store, True
        self.offset: tuple[float, float] | None = None

    async def push(self, spool: Spool) -> int:
        entries = spool.pending(10_000) if self.up else []
        if entries:
            spool.confirm(self.store.ingest(spool.writer, entries))
        return len(entries)

    async def last_slots(self, vantage: str | None = None) -> dict[Pair, datetime]:
        if not self.up:
            raise StoreError("down")
        rows = self.store.last_slots(vantage)["slots"]
        return {(row["endpoint"], row["probe"]): datetime.fromisoformat(row["slot_at"]) for row in rows}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ping:
    """One request."""

    kind: ClassVar[str] = "ping"
    version: ClassVar[int] = 1
    lane: ClassVar[Lane] = "latency"
    metrics: ClassVar[tuple[Metric, ...]] = ()

    def cost(self) -> Cost:
        return Cost(1, 100, 100)

    def requests(self, seed: int) -> tuple[Request, ...]:
        return (Request(prompt_id=f"{self.kind}-{seed}", messages=(), max_tokens=100),)

    async def run(self, client: Client, context: ProbeContext) -> ProbeResult:
        captures = [await client.send(request) for request in self.requests(context.seed)]
        return ProbeResult(
            captures=tuple(captures), exchanges=tuple(map(decode_capture, captures)), observations=()
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Pong(Ping):
    """The same in bulk."""

    kind: ClassVar[str] = "pong"
    lane: ClassVar[Lane] = "bulk"


CATALOGUES = Catalogues(probes={"ping": Ping, "pong": Pong}, detectors={}, protocols=("openai_chat",))


def answer(status: int = 200, body: bytes = ANSWER, headers: tuple[tuple[str, str], ...] = ()) -> Capture:
    """A JSON answer."""
    types = (("content-type", "application/json"), *headers)
    return Capture(
        status=status, headers=types, reads=(Read(2_000_000, body),), t0_ns=1, first_byte_ns=2_000_000,
        eof_ns=3_000_000, connect_ns=1000,
    )  # fmt: skip


UNREACHABLE = Capture(end="connect_error", error="ConnectError: refused")


@dataclass
class World:
    """Everything around one or more agents."""

    config: Config
    clock: FakeClock = field(default_factory=FakeClock)
    store: FakeStoreClient = field(default_factory=lambda: FakeStoreClient(MemoryStore()))
    answers: Callable[[str], Capture] = lambda _: answer()
    hanging: bool = False
    asked: list[tuple[str, str]] = field(default_factory=list)
    lag: Look | None = None
    going_on: asyncio.Event = field(default_factory=asyncio.Event)

    def client(self, entry: EndpointConfig) -> Client:
        world, name = self, entry.endpoint.name

        class FakeClient:
            async def send(self, request: Request) -> Capture:
                world.asked.append((name, request.prompt_id.partition("-")[0]))
                while world.hanging:
                    await world.going_on.wait()
                return world.answers(name)

            async def aclose(self) -> None:
                pass

        return FakeClient()

    def release(self) -> None:
        """Let requests that hang be answered."""
        self.hanging = False
        self.going_on.set()

    def hang(self) -> None:
        """Let requests hang from now on."""
        self.hanging = True
        self.going_on.clear()

    @property
    def slots(self) -> list[Slot]:
        """All rows that the store has."""
        rows = self.store.store.slots(None, since=None, limit=10**6)["slots"]
        return [decode(Slot, orjson.dumps(row)) for row in rows]


class Machine:
    """A machine with a spool file, on which an agent is started, stopped and killed."""

    def __init__(self, world: World, name: str = "one") -> None:
        self.world, self.file = world, SpoolFile(name)
        self.patience_s = 0.0
        self._agent: Agent | None = None
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        if self._agent is None:
            self._spool, self._stop = OpenSpool(self.file), asyncio.Event()
            self._agent = Agent(
                self.world.config, Backlog(self._spool), self.world.store,  # type: ignore[arg-type]  # without HTTP
                self.world.clock, self.world.client, lag=self.world.lag,
            )  # fmt: skip
            self._task = asyncio.create_task(self._agent.run(self._stop, patience_s=lambda: self.patience_s))
            await settle()

    async def look(self) -> None:
        """What the alarm does when it is time."""
        if self._agent is not None:
            await self._agent.look()
            await settle()
            await self.world.store.push(self._spool)

    async def stop(self) -> None:
        """As on SIGTERM."""
        await self._end()

    async def kill(self) -> None:
        """As on SIGKILL: what the agent does from here on reaches nobody."""
        if self._agent is not None:
            self._spool.killed = True
            await self._end()

    async def _end(self) -> None:
        if self._agent is not None and self._task is not None:
            self._stop.set()
            with suppress(asyncio.CancelledError):
                await self._task
            self._agent = self._task = None


async def settle() -> None:
    """Let tasks run until they wait for somebody."""
    for _ in range(30):
        await asyncio.sleep(0)


def config(text: str) -> Config:
    """The configuration of a world."""
    return load(text, {}, CATALOGUES)
