"""The notifier over the real store and its real API, with an injected clock and routes that write down messages."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path

import httpx

from jobs.notify import Notifier
from jobs.notify_routes import SendError
from jobs.store_client import StoreClient
from monitor.alerting.outbox import Delivery
from monitor.codec import encode
from monitor.config import Config, load
from monitor.ports import Entry
from monitor.results import Run, RunRecord, Verdict
from monitor.types import Exchange
from storage.alert_reads import PLANS
from storage.api import app
from storage.spool import SqliteSpool
from storage.store import DuckStore
from tests.alerts.made import START
from tests.config.catalogue import CATALOGUES

YAML = """
vantage: berlin
endpoints:
  - {name: acme/a, base_url: "http://h/v1", model: m}
  - {name: acme/b, base_url: "http://h/v1", model: m}
probes:
  - {kind: speed, every: 10m}
alerts:
  group_wait: 1s
  reminders: false
  routes:
    one: {kind: webhook, url: "https://one.example/", secret: "${KEY}"}
    two: {kind: webhook, url: "https://two.example/", secret: "${KEY}"}
"""


def config(text: str = YAML) -> Config:
    return load(text, {"KEY": "k"}, CATALOGUES)


@dataclass
class Hands:
    """A clock that stands where it is put."""

    at: datetime = START

    def now(self) -> datetime:
        return self.at

    def monotonic_ns(self) -> int:
        return int((self.at - START) / timedelta(microseconds=1)) * 1000

    def forward(self, **by: float) -> None:
        self.at += timedelta(**by)


@dataclass
class Notebook:
    """A route that can be down, or hang for as long as it is held."""

    up: bool = True
    got: list[Delivery] = field(default_factory=list)
    n_attempts: int = 0
    held: asyncio.Event | None = None

    async def send(self, delivery: Delivery) -> None:
        self.n_attempts += 1
        if self.held is not None:
            await self.held.wait()
        if not self.up:
            raise SendError("answered HTTP 503")
        self.got.append(delivery)

    def told(self) -> list[tuple[str, str, str | None]]:
        events = [event for one in self.got for event in one.message.events]
        return [(one.kind, one.incident.endpoint, one.incident.cause) for one in events]


def run_of(
    endpoint: str, at: datetime, *, outcome: str = "ok", ttft_ms: float = 300.0, n: int = 5, **changes: object
) -> RunRecord:
    """A run of the probe ``speed``; `changes` are fields of its exchanges."""
    run_id = f"{endpoint}@{at.isoformat()}"
    shared: dict[str, object] = {"outcome": outcome, "measurement": "valid", **changes}
    if outcome == "ok":
        shared |= {"ttft_ms": ttft_ms, "tps": 80.0, "tpot_ms": 12.5}
    exchanges = tuple(
        Exchange(exchange_id=f"{run_id}.{i}", run_id=run_id, started_at=at + timedelta(seconds=i), **shared)  # type: ignore[arg-type]
        for i in range(n)
    )  # fmt: skip
    run = Run(
        run_id=run_id, endpoint=endpoint, provider=endpoint.partition("/")[0], model="m", reference=None,
        probe="speed", probe_version=1, params_sha256="0", seed=1, vantage="berlin", prober_version="1",
        started_at=at, finished_at=at + timedelta(seconds=n), n_exchanges=n, n_answered=n if outcome == "ok" else 0,
    )  # fmt: skip
    return RunRecord(run=run, exchanges=exchanges, observations=())


def verdict(endpoint: str, detector: str, at: datetime, status: str, cause: str | None) -> Verdict:
    return Verdict(
        verdict_id=f"{detector}{endpoint}{at.isoformat()}", endpoint=endpoint, detector=detector, detector_version=1,
        at=at, status=status, cause=cause, statistic="kl_nats", effect=0.31, unit="nats", low=0.2, high=0.42,  # type: ignore[arg-type]
        n=40, threshold=0.02, reason="further from golden than declared", run_ids=(),
    )  # fmt: skip


@dataclass
class Service:
    """A store, its clock, and two routes."""

    folder: Path
    store: DuckStore
    clock: Hands = field(default_factory=Hands)
    routes: dict[str, Notebook] = field(default_factory=lambda: {"one": Notebook(), "two": Notebook()})
    config: Config = field(default_factory=config)
    up: bool = True
    _seq: Iterator[int] = field(default_factory=lambda: count(1))

    def put(self, kind: str, nouns: Sequence[object]) -> None:
        self.store.ingest("agent", [Entry(next(self._seq), kind, encode(noun)) for noun in nouns])

    def runs(self, endpoints: Sequence[str] = ("acme/a", "acme/b"), **changes: object) -> None:
        self.put("run", [run_of(name, self.clock.now(), **changes) for name in endpoints])  # type: ignore[arg-type]

    def client(self) -> StoreClient:
        inner = httpx.ASGITransport(app(self.store, more=PLANS))

        async def handle(request: httpx.Request) -> httpx.Response:
            if not self.up:
                raise httpx.ConnectError("the store is down")
            return await inner.handle_async_request(request)

        return StoreClient("http://store.test", transport=httpx.MockTransport(handle))

    @asynccontextmanager
    async def notifier(self) -> AsyncIterator[Notifier]:
        """A notifier as a process begins it: with the spool that the last one left."""
        spool, store = SqliteSpool(self.folder / "alerts.sqlite", writer="alerts"), self.client()
        try:
            yield Notifier(self.config, spool, store, self.clock, self.routes)
        finally:
            await store.aclose()
            spool.close()

    async def look(self, notifier: Notifier, *, minutes: float = 10) -> None:
        """Let time pass, look, and deliver what is due."""
        self.clock.forward(minutes=minutes)
        await notifier.look()
        await notifier.deliver()
