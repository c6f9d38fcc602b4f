"""Calibration of a golden folder of one's own: torch computes all members in this process."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from jobs.calibrate import LADDER, Plan, run
from jobs.cli import build
from jobs.tolerances import tolerances_for
from monitor.config_types import ReferenceConfig
from monitor.errors import GoldenError, UsageError
from monitor.tolerances import weights_of
from reference.engine import TorchEngine
from reference.variants import gguf_file
from reference.variants.bank import find
from tests.reference.gguf_description import save_description

TORCH = {"torch fp32", "torch fp32, unbatched", "torch bf16", "torch fp16"}


def values(document: dict[str, Any], metric: str = "kl_nats") -> dict[str, float]:
    (found,) = [one for one in document["metrics"] if one["metric"] == metric]
    return {one["name"]: one["value"] for one in found["members"]}


@pytest.fixture(scope="module")
def calibrated(sealed_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the whole ladder was calibrated."""
    out = tmp_path_factory.mktemp("calibrated")
    home = tmp_path_factory.mktemp("home")
    assert run(home, sealed_folder, Plan(n_prompts=8, device="cpu"), out, as_json=False) == 0
    return out


def test_the_ladder_is_what_the_folder_can_be_and_the_rest_is_listed(calibrated: Path) -> None:
    """Oracles: heads of 16 values have no cache blocks of 32; the tiny template has no system turn to drop."""
    document = json.loads((calibrated / "calibration.json").read_text("utf-8"))
    left_out = {one["name"]: one["reason"] for one in document["left_out"]}
    assert left_out == dict.fromkeys(("kv-4", "kv-8", "no-system"), "changes nothing about this model")
    kl = values(document)
    assert set(kl) == TORCH | {"10% Q4_0"} | set(LADDER) - set(left_out)
    assert document["model"] == "tiny-llama"
    assert kl["torch fp32"] < 1e-6
    assert kl["torch fp16"] < kl["torch bf16"] < kl["Q4_0"]
    assert kl["Q8_0"] < kl["Q5_0"] < kl["Q4_0"]
    assert {one["engine"] for metric in document["metrics"] for one in metric["members"]} == {"torch"}
    assert "tiny-llama: kl_nats" in (calibrated / "ladder-kl_nats.svg").read_text("utf-8")


def test_a_reference_goes_by_it(calibrated: Path, sealed_folder: Path) -> None:
    engine = TorchEngine.load(sealed_folder, device="cpu", threads=1)
    path = calibrated / "calibration.json"
    found = tolerances_for(ReferenceConfig(path=str(sealed_folder), calibration=str(path)), engine.fingerprint)
    engine.close()
    (kl,) = [one for one in json.loads(path.read_text("utf-8"))["metrics"] if one["metric"] == "kl_nats"]
    assert found is not None
    assert found.allowed("kl_nats", "full") == kl["tolerance"]
    assert found.allowed("kl_nats", "q4_0") is None  # no server showed what it does to activations
    highest = max(one["high"] for one in kl["members"] if one["name"].startswith("Q4_0"))
    assert found.allowed("kl_nats", weights_of("q4_0")) == highest


def test_the_result_goes_to_a_folder_of_its_own_here(
    sealed_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    plan = Plan(n_prompts=4, variants=("Q4_0",), device="cpu")
    assert run(tmp_path, sealed_folder, plan, None, as_json=True) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown == json.loads((tmp_path / "calibration-tiny-llama" / "calibration.json").read_text("utf-8"))
    assert np.isfinite(list(values(shown).values())).all()


def test_too_few_members_is_an_error(sealed_folder: Path, tmp_path: Path) -> None:
    plan = Plan(n_prompts=4, variants=("no-system",), device="cpu")
    with pytest.raises(GoldenError, match=r"too few members were measured: .* a degraded one are needed"):
        run(tmp_path, sealed_folder, plan, tmp_path / "out", as_json=False)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--variants", "int3"], "variant 'int3' is neither one of"),
        (["--variants", "temperature-1.1"], "logprobs of a server do not show another sampler"),
        (["--gguf", "none.gguf"], "none.gguf: not found"),
        (["--device", "abacus"], "device 'abacus' cannot be used"),
        (["--vllm", "/nowhere/python"], "/nowhere/python: cannot be run"),
    ],
)
def test_what_cannot_be_used_is_refused_at_once(
    arguments: list[str], said: str, sealed_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises((GoldenError, UsageError)) as caught:
        calibrate(str(sealed_folder), *arguments)
    assert said in str(caught.value)
    assert caught.value.exit_code == 2
    assert "\n" not in str(caught.value)


def test_a_gguf_file_needs_its_folder(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--gguf needs FOLDER"):
        calibrate("--gguf", str(tmp_path / "some.gguf"))


def test_a_folder_must_be_sealed_and_unchanged(sealed_folder: Path, tmp_path: Path) -> None:
    copied = tmp_path / "copied"
    shutil.copytree(sealed_folder, copied)
    template = copied / "chat_template.jinja"
    template.write_text(template.read_text("utf-8") + " ", "utf-8")
    with pytest.raises(GoldenError, match=r"chat_template\.jinja: changed since the golden folder was built"):
        calibrate(str(copied))
    (copied / "weighmaster.json").unlink()
    with pytest.raises(GoldenError, match=r"weighmaster\.json: not found; a golden folder needs it"):
        calibrate(str(copied))


def calibrate(*arguments: str) -> None:
    CliRunner().invoke(build(), ["reference", "calibrate", *arguments], catch_exceptions=False)


@pytest.mark.lab
def test_llama_cpp_joins_the_ensemble(sealed_folder: Path, tmp_path: Path) -> None:
    """Oracle: an engine that shares no code with torch rounds differently, and less than bfloat16 does."""
    plan = Plan(n_prompts=4, variants=("Q4_0",), ggufs=[gguf_of(sealed_folder, tmp_path)], device="cpu")
    assert run(tmp_path / "home", sealed_folder, plan, tmp_path / "out", as_json=False) == 0
    document = json.loads((tmp_path / "out" / "calibration.json").read_text("utf-8"))
    kl = values(document)
    assert set(kl) == TORCH | {"llama.cpp F16", "Q4_0", "10% Q4_0"}
    assert kl["torch fp32"] < kl["llama.cpp F16"] < kl["torch bf16"]


@pytest.mark.lab
def test_a_server_that_sees_other_prompts_is_refused(sealed_folder: Path, tmp_path: Path) -> None:
    """Oracle: the same vocabulary and half of the merges make other tokens of the same text."""
    plan = Plan(n_prompts=4, ggufs=[gguf_of(sealed_folder, tmp_path, "merges-50%")], device="cpu")
    with pytest.raises(GoldenError, match=r"llama\.cpp F16: \d of \d prompts have another number of tokens"):
        run(tmp_path / "home", sealed_folder, plan, tmp_path / "out", as_json=False)


def gguf_of(folder: Path, out: Path, variant: str | None = None) -> Path:
    """The folder as an F16 file; ``gpt-2`` is what splits text as its tokenizer does."""
    source = save_description(folder, out / "source.gguf", pre="gpt-2")
    path = out / "F16.gguf"
    gguf_file.write(folder, source, path, "F16", gguf_file.GOLDEN if variant is None else find(variant))
    return path
