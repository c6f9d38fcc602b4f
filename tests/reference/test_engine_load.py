"""What cannot be loaded is refused with the place and the remedy."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from safetensors.numpy import load_file, save_file

from monitor.errors import GoldenError
from reference.engine import TorchEngine, best_device
from reference.fingerprint import seal


def truncate_weights(folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])


def scramble_header(folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(b"\x00" * 64 + path.read_bytes()[64:])


def drop_a_tensor(folder: Path) -> None:
    tensors = load_file(folder / "model.safetensors")
    del tensors["model.layers.1.mlp.up_proj.weight"]
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})


def change_a_shape(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text("utf-8"))
    config["intermediate_size"] = 128
    (folder / "config.json").write_text(json.dumps(config), "utf-8")


def remove(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).unlink()


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (truncate_weights, "cannot be loaded.*reference build"),
        (scramble_header, "cannot be loaded.*reference build"),
        (drop_a_tensor, r"lack 1 tensors, model\.layers\.1\.mlp\.up_proj\.weight"),
        (change_a_shape, "cannot be loaded|lack"),
        (remove("model.safetensors"), r"no \*\.safetensors"),
        (remove("config.json"), "config.json: not found"),
        (remove("tokenizer.json"), "tokenizer.json: not found.*reference build"),
    ],
)
def test_a_damaged_folder_is_refused(
    damage: Callable[[Path], None], words: str, tiny_folder: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "model"
    shutil.copytree(tiny_folder, folder)
    damage(folder)
    with pytest.raises(GoldenError, match=words):
        TorchEngine.load(folder, device="cpu")


@pytest.mark.parametrize("kind", ["made_up", "llama"])
def test_code_of_a_model_is_never_run(kind: str, tiny_folder: Path, tmp_path: Path) -> None:
    folder, mark = tmp_path / "model", tmp_path / "it-ran"
    shutil.copytree(tiny_folder, folder)
    config = json.loads((folder / "config.json").read_text("utf-8"))
    config |= {"model_type": kind, "auto_map": {"AutoConfig": "own.Config", "AutoModelForCausalLM": "own.Model"}}
    (folder / "config.json").write_text(json.dumps(config), "utf-8")
    (folder / "own.py").write_text(f"open({str(mark)!r}, 'w').close()\n", "utf-8")
    if kind == "made_up":
        with pytest.raises(GoldenError, match="cannot be loaded"):
            TorchEngine.load(folder, device="cpu")
    else:  # what transformers knows by itself needs no code of the model
        TorchEngine.load(folder, device="cpu")
    assert not mark.exists()


def test_a_sealed_folder_that_changed_is_refused(tiny_folder: Path, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(tiny_folder, folder)
    seal(folder, source="made here", source_sha256="0" * 64, versions={})
    TorchEngine.load(folder, device="cpu")
    (folder / "chat_template.jinja").write_text("{{ messages }}", "utf-8")
    with pytest.raises(GoldenError, match=r"chat_template\.jinja: changed.*weighmaster reference build"):
        TorchEngine.load(folder, device="cpu")


def test_unknown_dtypes_and_devices_are_refused(tiny_folder: Path) -> None:
    with pytest.raises(GoldenError, match="dtype 'int4' is not one of float32"):
        TorchEngine.load(tiny_folder, device="cpu", dtype="int4")
    with pytest.raises(GoldenError, match="device 'abacus' cannot be used"):
        TorchEngine.load(tiny_folder, device="abacus")


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(GoldenError, match="not found"):
        TorchEngine.load(tmp_path / "nowhere", device="cpu")


def test_the_fingerprint_says_what_computes(tiny_folder: Path) -> None:
    full, half = (TorchEngine.load(tiny_folder, device="cpu", dtype=dtype) for dtype in ("float32", "bfloat16"))
    assert full.fingerprint.engine == "torch-cpu"
    assert {"torch", "transformers", "tokenizers"} == set(full.fingerprint.versions)
    assert full.fingerprint.weights_sha256 == half.fingerprint.weights_sha256
    assert full.fingerprint.digest != half.fingerprint.digest


def test_a_device_is_chosen() -> None:
    assert best_device() in {"cuda", "mps", "cpu"}
