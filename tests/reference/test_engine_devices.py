"""Where weights go. No GPU is needed: what is told to torch and transformers is looked at, not what they do with it."""

import importlib.util
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

from jobs.references import scorer_for
from monitor.config_types import ReferenceConfig
from monitor.errors import GoldenError
from reference.engine import SPREAD, TorchEngine
from reference.fingerprint import seal


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the next load tells transformers (``device_map``) and torch (``to``); the weights stay on the CPU."""
    found: dict[str, Any] = {}
    loader: Any = transformers.AutoModelForCausalLM
    load = loader.from_pretrained

    def from_pretrained(folder: Path, **options: Any) -> Any:
        found["device_map"] = options.pop("device_map", None)
        return load(folder, **options)

    def to(model: Any, place: Any) -> Any:
        found["to"] = place
        return model

    monkeypatch.setattr(loader, "from_pretrained", from_pretrained)
    monkeypatch.setattr(transformers.PreTrainedModel, "to", to)
    return found


def with_accelerate(monkeypatch: pytest.MonkeyPatch, *, installed: bool) -> None:
    find = importlib.util.find_spec

    def find_spec(name: str, package: str | None = None) -> Any:
        return find("json" if installed else "no_such_module") if name == "accelerate" else find(name, package)

    monkeypatch.setattr("reference.engine.importlib.util.find_spec", find_spec)


@pytest.mark.parametrize("device", ["cpu", "cuda:1"])
def test_one_device_gets_the_whole_model(device: str, tiny_folder: Path, told: dict[str, Any]) -> None:
    engine = TorchEngine.load(tiny_folder, device=device)
    assert told == {"device_map": None, "to": device}
    assert engine.fingerprint.engine == f"torch-{device}"


@pytest.mark.parametrize("device", SPREAD)
def test_several_devices_are_left_to_transformers(
    device: str, tiny_folder: Path, told: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model that was spread must not be moved as a whole afterwards."""
    with_accelerate(monkeypatch, installed=True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    engine = TorchEngine.load(tiny_folder, device=device)
    assert told == {"device_map": device}
    assert engine.fingerprint.engine == f"torch-{device}"


def test_spreading_without_accelerate_or_gpus_is_refused(tiny_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    with_accelerate(monkeypatch, installed=False)
    with pytest.raises(GoldenError, match=r"'balanced' spreads the model .* missing: pip install accelerate"):
        TorchEngine.load(tiny_folder, device="balanced")
    with_accelerate(monkeypatch, installed=True)
    with pytest.raises(GoldenError, match="'balanced' spreads the model over GPUs, and there is none; use auto or cpu"):
        TorchEngine.load(tiny_folder, device="balanced")


def test_the_configuration_reaches_the_engine(tiny_folder: Path, told: dict[str, Any]) -> None:
    scorer_for(ReferenceConfig(path=str(tiny_folder), device="cuda:1"))
    assert told["to"] == "cuda:1"


@pytest.fixture
def sealed(tiny_folder: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "model"
    shutil.copytree(tiny_folder, folder)
    seal(folder, source="hub", source_sha256=None, versions={}, revision="4fca21")
    return folder


@pytest.mark.parametrize("workers", [1, 2])
def test_another_revision_is_refused(workers: int, sealed: Path) -> None:
    """In this process and in those of a pool."""
    with pytest.raises(GoldenError, match=r"is revision 4fca21, wanted beef .*reference build"):
        scorer_for(ReferenceConfig(path=str(sealed), device="cpu", revision="beef", workers=workers))


def test_the_wanted_revision_is_loaded_and_stands_in_the_fingerprint(sealed: Path) -> None:
    engine = scorer_for(ReferenceConfig(path=str(sealed), device="cpu", revision="4fca"))
    assert engine.fingerprint.revision == "4fca21"


def test_a_folder_that_does_not_say_its_revision_is_refused_with_the_remedy(tiny_folder: Path) -> None:
    with pytest.raises(GoldenError, match=r"has no seal.*reference build \S+ --revision 4fca21`"):
        scorer_for(ReferenceConfig(path=str(tiny_folder), device="cpu", revision="4fca21"))


@pytest.mark.parametrize("engine", ["server", "official"])
def test_engines_that_compute_elsewhere_check_their_folder(engine: Any, sealed: Path) -> None:
    config = ReferenceConfig(engine=engine, path=str(sealed), url="http://127.0.0.1:1/v1", model="m", revision="beef")
    with pytest.raises(GoldenError, match="wanted beef"):
        scorer_for(config)
