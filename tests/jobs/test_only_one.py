"""One process at a time on a file. Oracle: who came first."""

import os
from pathlib import Path

import pytest

from jobs.only_one import only_one
from monitor.errors import StoreError


def test_the_second_is_told_who_was_first(tmp_path: Path) -> None:
    path = tmp_path / "spool.sqlite"
    told = pytest.raises(StoreError, match=rf"in use by an agent with pid {os.getpid()}")
    with only_one(path, "an agent"), told, only_one(path, "an agent"):
        pass
    with only_one(path, "an agent"):
        pass


def test_a_full_disk_is_for_the_spool_to_tell(tmp_path: Path) -> None:
    """Nothing can be written into the lock file: the lock holds all the same."""
    (tmp_path / "spool.sqlite.lock").symlink_to("/dev/full")
    with only_one(tmp_path / "spool.sqlite", "an agent"):
        pass
