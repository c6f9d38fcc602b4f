"""Fixtures that several folders share."""

import os
from pathlib import Path

import pytest

from jobs.golden import default_home, ensure_golden


@pytest.fixture(scope="session")
def golden_home() -> Path:
    """The cache folder of the product, with the golden model built. Mark tests that use it ``golden``."""
    home = default_home(os.environ)
    ensure_golden(home, print)
    return home


@pytest.fixture(scope="session")
def golden_folder(golden_home: Path) -> Path:
    """The golden folder itself."""
    return ensure_golden(golden_home, print)
