"""The way from an endpoint's answers to its name, on the tiny model: asked, predicted, matched, drawn."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar
from xml.etree import ElementTree as ET

import numpy as np
import pytest
import transformers

from jobs.clock import SystemClock
from jobs.identify_picture import svg
from jobs.identify_table import identified_row, identified_table
from jobs.judging import evidence_of, golden_side
from jobs.predicting import bank_names, predictions_of, predictor_for, prepare
from monitor.config_types import ReferenceConfig
from monitor.detectors.identify import Identify, deviations
from monitor.errors import UsageError
from monitor.ports import Client, ProbeContext, ProbeResult
from monitor.results import Evidence, Metric
from monitor.types import Endpoint, Request
from probes.ask import ask
from probes.run import run_probe
from reference.engine import TorchEngine
from reference.engines.local import LocalEngine
from reference.prediction_store import PredictionStore
from reference.predictions import Predictions
from reference.variants.bank import find
from reference.variants.loaded import varied
from tests.detectors.made import AT
from tests.reference.tiny import save_tiny

ENDPOINT = Endpoint(name="test/one", provider="test", base_url="http://127.0.0.1:1/v1", model="m", precision="f16")
NAMES = ["int8", "int4", "int4-g32", "fp8-channel", "bf16"]


@dataclass(frozen=True, slots=True)
class Short:
    """A few tokens to prompts that fit into the tiny model."""

    kind: ClassVar[str] = "identify"
    version: ClassVar[int] = 1
    metrics: ClassVar[tuple[Metric, ...]] = ()
    max_tokens: int = 1

    def requests(self, seed: int) -> tuple[Request, ...]:
        del seed
        return tuple(
            Request(prompt_id=f"p{n}", messages=({"role": "user", "content": f"{n * 37} boats"},), temperature=0.0,
                    max_tokens=self.max_tokens, top_logprobs=20, stream=False)
            for n in range(12)
        )  # fmt: skip

    async def run(self, client: Client, context: ProbeContext) -> ProbeResult:
        captures, exchanges = await ask(client, self.requests(context.seed), context, limit=1)
        return ProbeResult(captures=captures, exchanges=exchanges, observations=())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    transformers.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    return save_tiny(tmp_path_factory.mktemp("tiny") / "model")


@contextmanager
def serving(engine: TorchEngine, name: str | None) -> Iterator[None]:
    if name is None:
        yield
        return
    with varied(engine.weights.model, find(name)):
        yield


async def seen(folder: Path, tmp_path: Path, name: str | None) -> Evidence:
    """What the detector gets to see of an endpoint that serves the tiny model as `name`."""
    engine = TorchEngine.load(folder, device="cpu", threads=1)

    def load(path: Path) -> LocalEngine:
        return TorchEngine.load(path, device="cpu", threads=1)

    predictor = Predictions(golden=folder, store=PredictionStore(tmp_path / "known.sqlite"), load=load)
    with serving(engine, name):
        record, _ = await run_probe(
            Short(), ENDPOINT, engine, clock=SystemClock(), seed=1, vantage="test", prober_version="0", concurrency=1
        )
    golden = golden_side([record], engine, ())
    prepare(Short().requests(0), engine, predictor, NAMES)
    predictions = predictions_of([record], golden.views, engine, predictor, NAMES)
    made = evidence_of(ENDPOINT, [record], golden)
    engine.close()
    return Evidence(
        endpoint=made.endpoint, runs=made.runs, exchanges=made.exchanges, golden=made.golden, predictions=predictions
    )  # fmt: skip


@pytest.mark.parametrize("name", ["int4", "fp8-channel", "int8"])
async def test_what_is_served_is_named(folder: Path, tmp_path: Path, name: str) -> None:
    # Oracle: what the engine computed with.
    verdict = Identify().run(await seen(folder, tmp_path, name), at=AT, rng=np.random.default_rng(0))
    assert (verdict.status, verdict.cause) == ("fail", f"weights: {name}")


async def test_golden_weights_pass_and_the_picture_shows_all(folder: Path, tmp_path: Path) -> None:
    evidence = await seen(folder, tmp_path, None)
    verdict = Identify().run(evidence, at=AT, rng=np.random.default_rng(0))
    assert verdict.status == "pass"
    served = await seen(folder, tmp_path, "int4")
    verdict = Identify().run(served, at=AT, rng=np.random.default_rng(0))
    observed, predicted = deviations(served, "int4")
    picture = ET.fromstring(svg(verdict, observed, predicted))  # noqa: S314  # our own text
    dots = picture.findall("{http://www.w3.org/2000/svg}circle")
    strips = verdict.details["strips"]
    assert len(strips) == min(12, len(observed))
    in_strips = [one for one in dots if one.get("class") == "strip"]
    assert len(in_strips) == sum(len(one["tokens"]) for one in strips)
    assert len(dots) - len(in_strips) - 1 == sum(len(row) for row in observed)  # one is the legend's
    row = identified_row(verdict)
    assert row["schemes"][0]["name"] == "int4"
    assert identified_table([row]).row_count == 1


async def test_predictions_are_aligned_with_the_endpoint(folder: Path, tmp_path: Path) -> None:
    # Oracle: where the endpoint is the variant itself, its logprobs are the predicted ones.
    evidence = await seen(folder, tmp_path, "int4")
    said = next(one for one in evidence.predictions if one.variant == "int4")
    for key, view in evidence.golden.items():
        for place, row in zip(view.positions, said.logprobs[key], strict=True):
            np.testing.assert_allclose(row, place.endpoint_top, atol=2e-4)


def test_a_server_cannot_predict(folder: Path) -> None:
    reference = ReferenceConfig(
        engine="server", path=str(folder), url="http://127.0.0.1:1/v1", model="m"
    )  # fmt: skip
    engine = TorchEngine.load(folder, device="cpu", threads=1)
    with pytest.raises(UsageError, match="golden folder"):
        predictor_for(reference, engine, lambda _line: None)


def test_the_bank_of_a_folder_is_what_logprobs_show(folder: Path, tmp_path: Path) -> None:
    predictor = Predictions(golden=folder, store=PredictionStore(tmp_path / "known.sqlite"), load=lambda path: path)  # type: ignore[arg-type,return-value]
    names = bank_names(predictor)
    assert "Q8_0" in names
    assert "top-k-20" not in names
