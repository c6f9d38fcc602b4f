"""Checkpoints for vLLM's own arithmetic. Oracle: the variants of the bank that they are to be identified as."""

import io
import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from benchmarks import identify_vllm
from benchmarks.compressed import write_w4a16, write_w8a8
from benchmarks.report import Report
from reference.variants.bank import find
from reference.variants.variant import Weights

NAME = "model.layers.0.mlp.up_proj.weight"


@pytest.fixture
def golden(tmp_path: Path) -> tuple[Path, Weights]:
    """A folder with one linear layer and one embedding."""
    weight = np.random.default_rng(0).normal(0, 0.1, (32, 128)).astype(np.float32)
    folder = tmp_path / "golden"
    folder.mkdir()
    save_file({NAME: weight, "model.embed_tokens.weight": weight}, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps({"model_type": "llama"}), "utf-8")
    return folder, weight


def test_int8_times_its_scale_is_the_variant(golden: tuple[Path, Weights], tmp_path: Path) -> None:
    folder, weight = golden
    write_w8a8(folder, tmp_path / "out")
    found = load_file(tmp_path / "out" / "model.safetensors")
    assert found[NAME].dtype == np.int8
    np.testing.assert_allclose(found[NAME] * found[f"{NAME}_scale"], find("int8").apply(NAME, weight), rtol=1e-6)
    np.testing.assert_array_equal(found["model.embed_tokens.weight"], weight)
    config = json.loads((tmp_path / "out" / "config.json").read_text("utf-8"))["quantization_config"]
    assert config["config_groups"]["group_0"]["input_activations"]["dynamic"]


def test_words_of_eight_int4_are_the_variant(golden: tuple[Path, Weights], tmp_path: Path) -> None:
    folder, weight = golden
    write_w4a16(folder, tmp_path / "out")
    found = load_file(tmp_path / "out" / "model.safetensors")
    words = found[f"{NAME}_packed"].view(np.uint32)
    steps = np.stack([(words >> shift) & 15 for shift in range(0, 32, 4)], axis=-1).astype(np.float32) - 8
    scaled = steps.reshape(32, 2, 64) * found[f"{NAME}_scale"][..., None]
    np.testing.assert_allclose(scaled.reshape(32, 128), find("int4-g64").apply(NAME, weight), rtol=1e-6)
    assert found[f"{NAME}_shape"].tolist() == [32, 128]


def test_without_vllm_nothing_is_measured_and_that_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEIGHMASTER_HOME", str(tmp_path))
    out = io.StringIO()
    identify_vllm.run(Report(out))
    assert "Skipped" in out.getvalue()
    assert "install_vllm.sh" in out.getvalue()
