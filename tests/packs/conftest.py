"""A pack of the tiny model, recorded once."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
import torch
import transformers

from monitor.types import Request
from reference.engine import TorchEngine
from reference.pack import Pack
from reference.pack_making import record
from tests.reference.tiny import save_tiny

ASKED = tuple(
    Request(prompt_id=f"p{n}", messages=({"role": "user", "content": f"{n} boats on the river"},), max_tokens=4)
    for n in range(3)
)


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model folder; copy it before changing anything."""
    transformers.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    return save_tiny(tmp_path_factory.mktemp("tiny") / "model")


@pytest.fixture(scope="session")
def tiny_engine(tiny_folder: Path) -> TorchEngine:
    """The engine on the tiny model."""
    return TorchEngine.load(tiny_folder, device="cpu", threads=1)


@pytest.fixture(scope="session")
def tiny_pack(tiny_engine: TorchEngine, tiny_folder: Path) -> Pack:
    """Everything that a pack can hold; its only variant has logits 1.1 times as large."""
    weight = tiny_engine.weights.model.model.norm.weight

    @contextmanager
    def varied(name: str) -> Iterator[None]:
        assert name == "louder"
        with torch.no_grad():
            weight.mul_(1.1)
        yield
        with torch.no_grad():
            weight.div_(1.1)

    return record(
        tiny_engine, ASKED, folder=tiny_folder, created_at=datetime(2026, 11, 29, 12, tzinfo=UTC),
        about={"made_by": "a test"}, template={}, top_k=30, n_samples=2, sample_tokens=6, seed=5, variants=["louder"],
        varied=varied, report=lambda _: None,
    )  # fmt: skip
