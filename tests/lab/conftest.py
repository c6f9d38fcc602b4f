"""Real servers and the golden engine, shared by the tests of this folder."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from jobs.golden import ensure_gguf
from reference.engine import TorchEngine
from tests.lab.server import llama_server


@pytest.fixture(scope="session")
def golden_engine(golden_folder: Path) -> TorchEngine:
    """The golden engine on the real weights."""
    return TorchEngine.load(golden_folder, device="cpu")


@pytest.fixture(scope="session")
def f16_server(golden_home: Path) -> Iterator[str]:
    """The faithful server of the lab, F16."""
    with llama_server(ensure_gguf(golden_home, "F16", print)) as address:
        yield address


@pytest.fixture(scope="session")
def f32_server(golden_home: Path) -> Iterator[str]:
    """The same weights in F32."""
    with llama_server(ensure_gguf(golden_home, "F32", print)) as address:
        yield address
