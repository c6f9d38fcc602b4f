"""A disk that is full, for real (a file size limit on a process of its own). Oracle: what was acknowledged is there."""

import subprocess
import sys
from pathlib import Path

import orjson

from storage.store import DuckStore


def test_nothing_acknowledged_is_lost_and_the_store_recovers(tmp_path: Path) -> None:
    path = tmp_path / "store.duckdb"
    done = subprocess.run(
        [sys.executable, "-m", "tests.storage.full_disk", str(path)],
        capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2],
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = orjson.loads(done.stdout)
    acknowledged = 100 * lines[:4].count("ok")
    refused = [line for line in lines[:4] if line.startswith("StoreError")]
    assert acknowledged >= 100
    assert refused
    assert all("File too large" in line for line in refused)
    assert lines[4] == "fatal"
    assert "fatal error of the database, opening it again" in lines[5]
    assert lines[6:] == [f"{acknowledged} runs", "ok", f"{acknowledged + 100} runs"]
    store = DuckStore(path)
    assert store.counts()["runs"] == acknowledged + 100
    assert store.mark("w") == acknowledged + 100
    store.close()
