"""``reference order`` from a model folder to a configuration that can be used. Oracle: the order of `identify`."""

from pathlib import Path

import orjson
import pytest

from jobs.identify_order import ordered
from jobs.identify_plan import run
from jobs.predicting import bank_names
from jobs.settings import catalogues
from monitor.config import load
from monitor.errors import UsageError
from probes.identify import Identify
from reference.engine import TorchEngine
from reference.prediction_store import PredictionStore
from reference.predictions import Predictions
from tests.reference.tiny import llama_config, save_tiny

ENDPOINTS = "endpoints: [{name: a/b, base_url: 'http://127.0.0.1:1/v1', model: m}]\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model with room for the prompts of the pool."""
    config = llama_config()
    config.max_position_embeddings = 512
    return save_tiny(tmp_path_factory.mktemp("order") / "model", config=config)


def test_the_probe_asks_what_the_command_would_ask(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WEIGHMASTER_HOME", str(tmp_path / "home"))
    out = tmp_path / "identify.yaml"
    assert run(tmp_path, folder, n=8, device="cpu", out=out, as_json=True) == 0
    document = orjson.loads(capsys.readouterr().out)
    config = load(ENDPOINTS + out.read_text("utf-8"), {}, catalogues(), source="identify.yaml")
    probe = config.plans[0].probe
    assert isinstance(probe, Identify)
    engine = TorchEngine.load(folder, device="cpu", threads=1)
    predictor = Predictions(
        golden=folder, store=PredictionStore(tmp_path / "other.sqlite"),
        load=lambda path: TorchEngine.load(path, device="cpu", threads=1),
    )  # fmt: skip
    wanted = ordered(
        engine, predictor, bank_names(predictor), tmp_path / "order.json", order=Identify().order, report=print
    )
    assert list(probe.chosen) == document["chosen"] == list(wanted[:8])
    assert [one.prompt_id for one in probe.requests(3)] == list(wanted[:8])


def test_a_file_that_cannot_be_written_is_said_first(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no-such"):
        run(tmp_path, folder, n=8, device="cpu", out=tmp_path / "no-such" / "x.yaml", as_json=False)
