"""Both stores under one name: whatever is promised must hold for each."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from storage.interface import ReadStore
from storage.memory import MemoryStore
from storage.store import DuckStore


@pytest.fixture(params=["memory", "duckdb"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ReadStore]:
    made = MemoryStore() if request.param == "memory" else DuckStore(tmp_path / "store.duckdb")
    yield made
    made.close()


@pytest.fixture
def duck(tmp_path: Path) -> Iterator[DuckStore]:
    made = DuckStore(tmp_path / "store.duckdb")
    yield made
    made.close()
