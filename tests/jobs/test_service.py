"""Agent and judge over the real spool, the real store and its real API, on fake endpoints and fake golden weights."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import httpx
import orjson
import pytest

from jobs.agent import Agent
from jobs.backlog import Backlog
from jobs.clock import SystemClock
from jobs.judge import Judge
from jobs.notify import Notifier
from jobs.settings import catalogues
from jobs.store_client import StoreClient
from monitor.codec import decode
from monitor.config import Config, load
from monitor.config_types import EndpointConfig, ReferenceConfig
from monitor.errors import GoldenError, UsageError
from monitor.ports import Client, Clock, Scorer
from monitor.results import Verdict
from monitor.types import Capture, Request
from storage.alert_reads import PLANS
from storage.api import app
from storage.spool import SqliteSpool
from storage.store import DuckStore
from tests.fakes.golden import FakeEndpoint, FakeScorer

YAML = """
references: {golden: {path: nowhere}}
endpoints:
  - {name: fake/good, base_url: "http://127.0.0.1:1/v1", model: m, reference: golden}
  - {name: fake/bad, base_url: "http://127.0.0.1:1/v1", model: m, reference: golden}
probes:
  - {kind: logprobs, every: 1s, one_token: 8, greedy: 2, greedy_tokens: 2}
"""
ENDPOINTS: dict[str, FakeEndpoint] = {}


def config(text: str = YAML) -> Config:
    return load(text, {}, catalogues())


def client_for(entry: EndpointConfig) -> Client:
    return FakeEndpoint(noise=0.8 if entry.endpoint.name == "fake/bad" else 0.0)


@dataclass
class Service:
    """The store with a switch, and how to run agent and judge on it."""

    folder: Path
    store: DuckStore
    up: bool = True
    hangs: bool = False
    config: Config = field(default_factory=config)

    def client(self) -> StoreClient:
        inner = httpx.ASGITransport(app(self.store, more=PLANS))

        async def handle(request: httpx.Request) -> httpx.Response:
            if not self.up:
                raise httpx.ConnectError("the store is down")
            if self.hangs:
                await asyncio.Event().wait()
            return await inner.handle_async_request(request)

        return StoreClient("http://store.test", transport=httpx.MockTransport(handle))

    @asynccontextmanager
    async def agent(self, make: Callable[[EndpointConfig], Client] = client_for) -> AsyncIterator[Agent]:
        spool = SqliteSpool(self.folder / "agent.sqlite", writer="agent")
        store, stop = self.client(), asyncio.Event()
        agent = Agent(self.config, Backlog(spool), store, SystemClock(), make)
        running = asyncio.create_task(agent.run(stop))
        try:
            yield agent
        finally:
            stop.set()
            await running
            await store.aclose()
            spool.close()

    @asynccontextmanager
    async def judge(
        self, scorer_for: Callable[[ReferenceConfig], Scorer], clock: Clock | None = None
    ) -> AsyncIterator[Judge]:
        spool = SqliteSpool(self.folder / "judge.sqlite", writer="judge")
        store = self.client()
        try:
            yield Judge(self.config, spool, store, clock or SystemClock(), scorer_for)
        finally:
            await store.aclose()
            spool.close()

    async def look_at_rules(self) -> None:
        """One look of the notifier, as a process that has just begun."""
        spool, store = SqliteSpool(self.folder / "alerts.sqlite", writer="alerts"), self.client()
        try:
            await Notifier(self.config, spool, store, SystemClock(), {}).look()
        finally:
            await store.aclose()
            spool.close()


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Service]:
    store = DuckStore(tmp_path / "store.duckdb")
    yield Service(tmp_path, store)
    store.close()


async def until(condition: Callable[[], Awaitable[bool]], seconds: float = 30) -> None:
    async with asyncio.timeout(seconds):
        while not await condition():
            await asyncio.sleep(0.05)


def n_runs(service: Service) -> Callable[[], Awaitable[int]]:
    async def count() -> int:
        return int((await asyncio.to_thread(service.store.counts))["runs"])

    return count


def at_least(count: Callable[[], Awaitable[int]], n: int) -> Callable[[], Awaitable[bool]]:
    async def reached() -> bool:
        return await count() >= n

    return reached


async def test_an_endpoint_that_cannot_be_asked_keeps_no_other_from_being_probed(
    service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    made = FakeEndpoint()

    def client(entry: EndpointConfig) -> Client:
        if entry.endpoint.name == "fake/bad":
            raise UsageError("fake/bad: base_url http://x cannot be asked: no address")
        return made

    async def asked() -> bool:
        return bool(made.asked)

    async with service.agent(client):
        await until(asked)
    assert "fake/bad is disabled: fake/bad: base_url http://x cannot be asked: no address" in caplog.text


async def test_a_store_that_hangs_keeps_no_agent_from_probing(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was asked for the history of slots with the patience of bulk reads: a minute without a probe."""
    monkeypatch.setattr("jobs.agent.HISTORY_WAIT_S", 0.1)
    service.hangs, made = True, []

    def client(entry: EndpointConfig) -> Client:
        made.append(FakeEndpoint())
        return made[-1]

    async def asked() -> bool:
        return any(one.asked for one in made)

    async with service.agent(client):
        await until(asked, seconds=20)
        service.hangs = False


async def test_from_schedule_to_verdict_and_incident(service: Service) -> None:
    async with service.agent():
        await until(at_least(n_runs(service), 4))
    async with service.judge(lambda _: FakeScorer()) as judge:
        while await judge.look():
            pass
    await service.look_at_rules()
    overview = {one["endpoint"]: one for one in service.store.overview()["endpoints"]}
    verdicts = {name: {v["detector"]: v for v in one["verdicts"]} for name, one in overview.items()}
    told = {v["status"] for v in verdicts["fake/good"].values() if v["cause"] != "no_history"}
    assert told == {"pass"}
    assert verdicts["fake/bad"]["logprob_fidelity"]["cause"] == "weights"
    assert verdicts["fake/bad"]["logprob_fidelity"]["fingerprint"] == "fake"
    assert verdicts["fake/bad"]["accounting"]["status"] == "pass"
    assert [one["detector"] for one in overview["fake/bad"]["incidents"]] == ["fidelity"]
    joint = verdicts["fake/bad"]["fidelity"]
    assert (joint["status"], joint["cause"], joint["details"]["fleet_rejected"]) == ("fail", "weights", True)
    assert overview["fake/good"]["incidents"] == []
    assert overview["fake/bad"]["metrics"]["kl_nats"]["value"] > 0.05
    assert service.store.unjudged(limit=10)["records"] == []


async def test_one_incident_over_many_runs_and_every_run_judged_once(service: Service) -> None:
    async with service.agent():
        await until(at_least(n_runs(service), 6))
    async with service.judge(lambda _: FakeScorer()) as judge:
        while await judge.look():
            pass
        assert await judge.look() == 0
    for _ in range(2):
        await service.look_at_rules()
    counts = service.store.counts()
    assert counts["judged"] == counts["runs"]
    kinds = [one.kind for one in service.config.detectors if one.probes is None or "logprobs" in one.probes]
    assert counts["verdicts"] == (len(kinds) + 1) * counts["runs"]  # and the joint one
    assert counts["incidents"] == 1


async def test_the_joint_evidence_of_a_fault_grows_from_run_to_run(service: Service) -> None:
    """And that of a faithful endpoint starts afresh at every pass."""
    async with service.agent():
        await until(at_least(n_runs(service), 6))
    async with service.judge(lambda _: FakeScorer()) as judge:
        while await judge.look():
            pass
    told = service.store.verdicts(None, "fidelity", limit=50)["verdicts"]
    joint = [decode(Verdict, orjson.dumps(one)) for one in told]
    bad = sorted((one for one in joint if one.endpoint == "fake/bad"), key=lambda one: one.at)
    effects = [one.effect or 0.0 for one in bad]
    assert len(effects) >= 2
    assert effects == sorted(effects)
    assert effects[0] < effects[-1]
    good = [one for one in joint if one.endpoint == "fake/good"]
    assert {(one.status, one.details["state"]) for one in good} == {("pass", None)}


async def test_store_down_loses_nothing(service: Service, caplog: pytest.LogCaptureFixture) -> None:
    service.up = False
    with caplog.at_level(logging.INFO):
        async with service.agent():
            await until(lambda: _said(caplog, "results stay in the spool"))
            await until(lambda: _spooled(service, 3))
            service.up = True
            await until(at_least(n_runs(service), 3))
            await until(lambda: _said(caplog, "the store is back"))
    slots = service.store.slots(None, since=None, limit=1000)["slots"]
    done = [slot for slot in slots if slot["state"] == "done"]
    assert len({(slot["endpoint"], slot["slot_at"]) for slot in done}) == len(done) == service.store.counts()["runs"]


async def _said(caplog: pytest.LogCaptureFixture, text: str) -> bool:
    return text in caplog.text


async def _spooled(service: Service, n: int) -> bool:
    spool = SqliteSpool(service.folder / "agent.sqlite", writer="agent")
    try:
        return sum(entry.kind == "run" for entry in spool.pending(1000)) >= n
    finally:
        spool.close()


async def test_restart_neither_doubles_nor_hides_a_slot(service: Service) -> None:
    for _ in range(3):
        async with service.agent():
            goal = service.store.counts()["runs"] + 2
            await until(at_least(n_runs(service), goal))
    slots = service.store.slots("fake/good", since=None, limit=1000)["slots"]
    times = sorted(slot["slot_at"] for slot in slots)
    assert len(set(times)) == len(times)
    seconds = [int(time[17:19]) + 60 * int(time[14:16]) for time in times]
    steps = {(b - a) % 3600 for a, b in pairwise(seconds)}
    assert steps == {1}, "every slot of the one-second plan has a row"


class Slow(FakeEndpoint):
    """Answers after a second and a half."""

    async def send(self, request: Request) -> Capture:
        await asyncio.sleep(1.5)
        return await super().send(request)


async def test_overlap_is_a_row_not_silence(service: Service) -> None:
    async with service.agent(lambda _: Slow()):

        async def overlapped() -> bool:
            slots = service.store.slots(None, since=None, limit=1000)["slots"]
            return any(slot["state"] == "overlapped" for slot in slots)

        await until(overlapped)
    slots = service.store.slots(None, since=None, limit=1000)["slots"]
    stopped = [slot for slot in slots if slot["state"] == "skipped"]
    assert all(slot["reason"] for slot in slots if slot["state"] != "done")
    assert any("stopped" in slot["reason"] for slot in stopped)


async def test_unusable_reference_is_said_and_the_rest_goes_on(
    service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(_: ReferenceConfig) -> Scorer:
        raise GoldenError("nowhere: no such folder (run `weighmaster reference build`)")

    async with service.agent():
        await until(at_least(n_runs(service), 2))
    async with service.judge(broken) as judge:
        while await judge.look():
            pass
    assert "reference golden: nowhere: no such folder" in caplog.text
    verdicts = {v["detector"]: v for v in service.store.overview()["endpoints"][0]["verdicts"]}
    assert verdicts["availability"]["status"] == "pass"
    assert verdicts["logprob_fidelity"]["cause"] == "no_reference"


class Forward(SystemClock):
    """The system's clock, whose monotonic hand can be moved forward."""

    ahead_ns = 0

    def monotonic_ns(self) -> int:
        return super().monotonic_ns() + self.ahead_ns


async def test_reference_that_comes_back_is_tried_again_but_not_for_every_run(service: Service) -> None:
    tries: list[int] = []

    def down_once(_: ReferenceConfig) -> Scorer:
        tries.append(1)
        if len(tries) == 1:
            raise GoldenError("http://127.0.0.1:9: is the golden server running?")
        return FakeScorer()

    async def judged() -> str:
        async with service.agent():
            await until(at_least(n_runs(service), service.store.counts()["runs"] + 3))
        while await judge.look():
            pass
        verdicts = {v["detector"]: v for v in service.store.overview()["endpoints"][1]["verdicts"]}
        return str(verdicts["logprob_fidelity"]["status"])

    clock = Forward()
    async with service.judge(down_once, clock) as judge:
        assert await judged() == "inconclusive"
        assert len(tries) == 1
        clock.ahead_ns = 61 * 10**9
        assert await judged() == "pass"
        assert len(tries) == 2


async def test_run_of_an_endpoint_that_is_no_longer_configured_is_let_go(service: Service) -> None:
    async with service.agent():
        await until(at_least(n_runs(service), 2))
    service.config = config(YAML.replace("fake/bad", "fake/other"))
    async with service.judge(lambda _: FakeScorer()) as judge:
        while await judge.look():
            pass
    assert service.store.unjudged(limit=10)["records"] == []
