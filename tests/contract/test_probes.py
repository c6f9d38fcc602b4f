"""Every probe in the catalogue against a healthy endpoint and every recorded fault: one contract for all."""

import importlib
from pathlib import Path
from typing import Any

import pytest

import jobs
import probes
from jobs.clients import http_client
from jobs.clock import SystemClock
from jobs.replay import ReplayServer, scripts_from
from monitor.catalogue import scan
from monitor.codec import decode, encode
from monitor.results import RunRecord
from monitor.types import NOT_THE_ENDPOINTS_FAULT, Endpoint
from probes.heartbeat import Heartbeat
from probes.limits import Limits
from probes.run import run_probe
from tests.fakes.golden import FakeEndpoint

PROBES: dict[str, Any] = scan(probes, "PROBE")
FAULTS = sorted((Path(jobs.__file__).parent / "lab_faults" / "answers").iterdir())
ENDPOINT = Endpoint(name="test/one", provider="test", base_url="http://127.0.0.1:1/v1", model="m")


async def run_against(kind: str, client: Any, endpoint: Endpoint = ENDPOINT) -> RunRecord:
    record, captures = await run_probe(
        PROBES[kind](), endpoint, client, clock=SystemClock(), seed=3, vantage="test", prober_version="0", concurrency=8
    )
    assert len(captures) == len(record.exchanges)
    return record


def check(record: RunRecord, kind: str) -> None:
    """What holds for every run, however the endpoint behaved."""
    declared = {metric.name for metric in PROBES[kind].metrics}
    assert {observation.metric for observation in record.observations} <= declared
    for observation in record.observations:
        assert (observation.value is None) == (observation.n == 0)
        assert observation.k is None or 0 <= observation.k <= observation.n
    assert record.run.n_exchanges == len(record.exchanges) > 0
    assert len({exchange.exchange_id for exchange in record.exchanges}) == len(record.exchanges)
    assert all(exchange.run_id == record.run.run_id for exchange in record.exchanges)
    assert all(exchange.request is not None for exchange in record.exchanges)
    assert decode(RunRecord, encode(record)) == record


@pytest.mark.parametrize("kind", PROBES)
async def test_healthy(kind: str) -> None:
    record = await run_against(kind, FakeEndpoint())
    check(record, kind)
    assert record.run.n_answered == record.run.n_exchanges


@pytest.mark.parametrize("fault", FAULTS, ids=lambda path: path.stem)
@pytest.mark.parametrize("kind", PROBES)
async def test_every_fault(kind: str, fault: Path) -> None:
    clock = SystemClock()
    async with ReplayServer(scripts_from(fault, "timed")) as server, Heartbeat(clock).beating() as heartbeat:
        endpoint = Endpoint(name="test/one", provider="test", base_url=server.url, model="m")
        client = http_client(endpoint, None, clock, heartbeat, Limits(first_byte_s=20, stall_s=20))
        record = await run_against(kind, client, endpoint)
        await client.aclose()
    check(record, kind)
    outcomes = {exchange.outcome for exchange in record.exchanges}
    assert len(outcomes) == 1
    assert outcomes.isdisjoint(NOT_THE_ENDPOINTS_FAULT - {"rate_limited"})


@pytest.mark.parametrize("kind", PROBES)
def test_requests_follow_from_the_seed_and_cost_is_theirs(kind: str) -> None:
    probe = PROBES[kind]()
    assert probe.requests(5) == probe.requests(5)
    cost = probe.cost()
    assert cost.n_requests == len(probe.requests(5))
    assert cost.tokens_out == sum(request.max_tokens for request in probe.requests(5))
    assert len({request.prompt_id for request in probe.requests(5)}) == cost.n_requests


def test_speed_never_asks_the_same_twice() -> None:
    speed = PROBES["speed"]()
    texts = [request.messages[0]["content"] for seed in range(20) for request in speed.requests(seed)]
    assert len({text[:10] for text in texts}) == len(texts)


def test_logprobs_asks_the_same_prompts_in_every_run() -> None:
    probe = PROBES["logprobs"]()
    assert [r.messages for r in probe.requests(1)] == [r.messages for r in probe.requests(2)]
    assert len(probe.requests(1)) == 32
    assert {request.max_tokens for request in probe.requests(1)} == {1, 8}


@pytest.mark.parametrize("kind", PROBES)
def test_docstring_says_what_it_sends_and_costs(kind: str) -> None:
    text = importlib.import_module(PROBES[kind].__module__).__doc__ or ""
    for heading in ("Sends:", "Costs:", "What can mislead it:", "Source:"):
        assert heading in text
