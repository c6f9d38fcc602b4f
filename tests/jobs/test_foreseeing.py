"""The judge of the service predicts variants, and nobody waits for that. Fake weights, real spool, store and API."""

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from jobs import foreseeing
from jobs.clock import SystemClock
from jobs.foreseeing import Foresight
from jobs.judging import golden_side
from monitor.detectors.identify import Identify
from monitor.errors import UsageError
from monitor.ports import Floats, Predictor, ScoreTask
from monitor.results import RunRecord, Verdict
from probes.identify import Identify as Probe
from probes.run import run_probe
from storage.store import DuckStore
from tests.fakes.golden import FakeEndpoint, FakeScorer, logprobs_after
from tests.jobs.test_identify import ENDPOINT
from tests.jobs.test_service import Service, at_least, config, n_runs, until

YAML = """
references: {golden: {path: nowhere}}
endpoints:
  - {name: fake/bad, base_url: "http://127.0.0.1:1/v1", model: m, reference: golden}
probes:
  - {kind: identify, every: 1s, prompts: 8}
  - {kind: logprobs, every: 1s, one_token: 4, greedy: 1, greedy_tokens: 2}
"""
NOISE = {"Q4_0": 0.8, "Q5_0": -0.8}


@dataclass
class Seer:
    """Predicts fake weights with a deviation, one variant after the other, as soon as the gate is open."""

    report: Any = None
    gate: threading.Event = field(default_factory=threading.Event)
    begun: list[str] = field(default_factory=list)
    variants: tuple[str, ...] = tuple(NOISE)

    def predict(
        self, tasks: Sequence[ScoreTask], names: Sequence[str], *, conversations: Sequence[Any] = ()
    ) -> dict[str, list[tuple[Floats, ...]]]:
        found = {}
        for name in names:
            self.report(f"predicting {name}")
            self.begun.append(name)
            assert self.gate.wait(30)
            found[name] = [self._of(task, NOISE[name]) for task in tasks]
        return found

    def _of(self, task: ScoreTask, noise: float) -> tuple[Floats, ...]:
        said = task.completion_ids
        return tuple(
            logprobs_after([*task.prompt_ids, *said[:t]], noise=noise)[list(ids)] for t, ids in enumerate(task.gather)
        )


@pytest.fixture
def seer(monkeypatch: pytest.MonkeyPatch) -> Seer:
    made = Seer()

    def predictor(_reference: object, _scorer: object, report: object) -> Predictor:
        made.report = report
        return made

    monkeypatch.setattr(foreseeing, "predictor_for", predictor)
    monkeypatch.setattr(foreseeing, "_PATIENCE_S", 0.01)
    return made


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Service]:
    store = DuckStore(tmp_path / "store.duckdb")
    yield Service(tmp_path, store, config=config(YAML))
    store.close()


async def identified(service: Service) -> list[Verdict]:
    client = service.client()
    try:
        return await client.verdicts(detector="identify")
    finally:
        await client.aclose()


async def test_others_are_judged_while_variants_are_predicted(service: Service, seer: Seer) -> None:
    """Oracle: what is served."""
    async with service.agent():
        await until(at_least(n_runs(service), 4))
    async with service.judge(lambda _: FakeScorer()) as judge:
        while await judge.look():
            pass
        assert service.store.unjudged(limit=50)["records"]
        assert service.store.counts()["judged"] > 0
        assert not await identified(service)
        seer.gate.set()
        await until(_judging(service, judge))
        judge.close()
    found = await identified(service)
    assert {(one.status, one.cause) for one in found} == {("fail", "weights: Q4_0")}
    assert all(one.details["by"] == "logprobs" for one in found)


def _judging(service: Service, judge: Any) -> Any:
    async def all_judged() -> bool:
        await judge.look()
        return not service.store.unjudged(limit=50)["records"]

    return all_judged


async def test_text_is_predicted_at_every_token(seer: Seer) -> None:
    """Oracle: what is served, by an endpoint that gives no logprobs."""
    seer.gate.set()
    record = await asked(FakeEndpoint(noise=0.8, logprobs=False), Probe(prompts=8, top_k=None))
    foresight, golden = Foresight(config(YAML)), golden_side([record], FakeScorer(), ())
    predictions = None
    while predictions is None:
        predictions = await foresight.of(record, [Identify()], FakeScorer(), golden.views)
        await asyncio.sleep(0.01)
    foresight.close()
    assert {one.variant for one in predictions} == set(NOISE)
    for one in predictions:
        assert all(len(rows) == 12 for rows in one.logprobs.values())
        assert len(one.logprobs) == 8


async def test_what_cannot_be_predicted_holds_nothing_up(
    seer: Seer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*_: object) -> Predictor:
        raise UsageError("a server computes with golden weights only")

    monkeypatch.setattr(foreseeing, "predictor_for", refuse)
    monkeypatch.setattr(foreseeing, "_PATIENCE_S", 30)
    record = await asked(FakeEndpoint(), Probe(prompts=4))
    foresight, golden = Foresight(config(YAML)), golden_side([record], FakeScorer(), ())
    with caplog.at_level(logging.WARNING):
        assert await foresight.of(record, [Identify()], FakeScorer(), golden.views) == ()
    assert "golden weights only" in caplog.text
    assert await foresight.of(record, [], FakeScorer(), golden.views) == ()
    assert not seer.begun
    foresight.close()


async def test_only_variants_that_are_wanted_are_predicted_and_none_after_the_end(seer: Seer) -> None:
    record = await asked(FakeEndpoint(), Probe(prompts=4))
    foresight, golden = Foresight(config(YAML)), golden_side([record], FakeScorer(), ())
    assert await foresight.of(record, [Identify()], FakeScorer(), golden.views) is None
    assert foresight.is_waiting(record)
    foresight.close()
    seer.gate.set()
    await asyncio.to_thread(foresight._pool.shutdown)  # until its thread is gone
    assert seer.begun == ["Q4_0"]
    other = Foresight(config(YAML))
    predictions = None
    while predictions is None:
        predictions = await other.of(record, [Identify(variants=("Q5_0",))], FakeScorer(), golden.views)
        await asyncio.sleep(0.01)
    assert [one.variant for one in predictions] == ["Q5_0"]
    other.close()


async def asked(client: FakeEndpoint, probe: Probe) -> RunRecord:
    record, _ = await run_probe(
        probe, replace(ENDPOINT, reference="golden"), client, clock=SystemClock(), seed=1, vantage="test",
        prober_version="0", concurrency=1,
    )  # fmt: skip
    return record
