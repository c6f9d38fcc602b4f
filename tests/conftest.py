"""Fixtures that several folders share."""

import os
import signal
from pathlib import Path

import pytest
from hypothesis import settings

from jobs.golden import default_home, ensure_golden

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # As in a background job of a shell. Tests press Ctrl-C, and processes that they start inherit what is ignored here.
    signal.signal(signal.SIGINT, signal.default_int_handler)

# One run of the tests is like the next; look further with `pytest --hypothesis-profile=default`.
settings.register_profile("same", derandomize=True)
settings.load_profile("same")


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
