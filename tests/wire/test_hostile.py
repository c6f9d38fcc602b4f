"""Servers that mean harm: a named outcome, in bounded memory and time. Oracle: the operating system's limits."""

import json
import subprocess
import sys
from typing import get_args

import pytest

from monitor.types import Outcome
from tests.wire.hostile import CAPTURES


@pytest.mark.parametrize("name", CAPTURES)
def test_hostile(name: str) -> None:
    """Each in its own process, which the system ends beyond 3 GB or 120 s of CPU (most take a tenth of it)."""
    command = [sys.executable, "-W", "error", "-m", "tests.wire.hostile", name]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    outcomes = set(json.loads(done.stdout)["outcomes"])
    assert outcomes <= set(get_args(Outcome))
    assert CAPTURES[name][1] in ({*outcomes}, set())
