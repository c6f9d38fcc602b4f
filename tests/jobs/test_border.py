"""``reference border`` from a model folder to a configuration that can be used."""

from pathlib import Path

import pytest

from jobs.border import run
from jobs.settings import catalogues
from monitor.config import load
from monitor.detectors.border import Border as Judge
from monitor.errors import GoldenError
from probes.border import Border
from reference.border import first_tokens, leads
from reference.engine import TorchEngine
from reference.variants.bank import find
from reference.variants.loaded import varied
from tests.reference.tiny import llama_config, save_tiny

ENDPOINTS = "endpoints: [{name: a/b, base_url: 'http://127.0.0.1:1/v1', model: m}]\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model with room for the prompts of the pool."""
    config = llama_config()
    config.max_position_embeddings = 512
    return save_tiny(tmp_path_factory.mktemp("border") / "model", config=config)


def test_mined_prompts_are_border_prompts(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Oracle: the engine itself with the variant's weights: another first token for each prompt of the probe."""
    out = tmp_path / "border.yaml"
    code = run(tmp_path, folder, n=8, degraded=("int4",), faithful=("fp16",), device="cpu", out=out, as_json=False)
    assert code == 0
    assert "border prompts" in capsys.readouterr().out
    config = load(ENDPOINTS + out.read_text("utf-8"), {}, catalogues(), source="border.yaml")
    probe = config.plans[0].probe
    assert isinstance(probe, Border)
    assert isinstance(next(one for one in config.detectors if one.kind == "border"), Judge)
    engine = TorchEngine.load(folder, device="cpu", threads=1)
    ids = [engine.tokenizer.prompt_ids(request.messages) for request in probe.requests(0)]
    assert 0 < len(ids) <= 8
    tokens = first_tokens(engine, ids).tokens
    assert (leads(engine, ids, tokens) >= 0.3).all()
    with varied(engine.weights.model, find("int4")):
        assert (leads(engine, ids, tokens) < 0).all()


def test_a_variant_that_turns_too_few_is_named_before_anything_is_written(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Oracle: weights rounded to 16 bit turn nothing, and the detector refuses a `degraded` of 0."""
    closed: list[TorchEngine] = []

    def close(engine: TorchEngine) -> None:
        closed.append(engine)

    monkeypatch.setattr(TorchEngine, "close", close)
    out, degraded = tmp_path / "b.yaml", ("int4", "int4-g64", "fp16")
    with pytest.raises(GoldenError, match=r"fp16 turns 0% of the border prompts.*leave it out of --variants"):
        run(tmp_path, folder, n=4, degraded=degraded, faithful=(), device="cpu", out=out, as_json=False)
    assert not out.exists()
    assert len(set(closed)) == 2  # float32 and bfloat16


def test_a_variant_that_changes_nothing_has_no_border(folder: Path, tmp_path: Path) -> None:
    """Oracle: weights rounded to 16 bit begin as golden does at a lead of 0.3 nats."""
    with pytest.raises(GoldenError, match="name other --variants"):
        run(
            tmp_path, folder, n=8, degraded=("fp16",), faithful=(), device="cpu", out=tmp_path / "b.yaml", as_json=False
        )  # fmt: skip
