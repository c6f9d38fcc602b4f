"""The tiny model, built once and never written to."""

from pathlib import Path

import pytest
import transformers

from reference.engine import TorchEngine
from tests.reference.tiny import save_tiny


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model folder; copy it before changing anything."""
    transformers.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    return save_tiny(tmp_path_factory.mktemp("tiny") / "model")


@pytest.fixture(scope="session")
def tiny_engine(tiny_folder: Path) -> TorchEngine:
    """The engine on the tiny model."""
    return TorchEngine.load(tiny_folder, device="cpu", threads=1)
