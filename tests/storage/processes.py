"""Real store processes for tests."""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import orjson

ROOT = Path(__file__).parents[2]


@contextmanager
def store_process(
    path: Path, *, module: str = "jobs.store_process", more: Sequence[str] = (), token: str | None = None
) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """A store on port 0: the process and its address. Killed at the end if it still runs."""
    process = subprocess.Popen(
        [sys.executable, "-m", module, "--path", str(path), "--port", "0", *more],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT,
        env={**os.environ, "WEIGHMASTER_TOKEN": token or ""},
    )  # fmt: skip
    try:
        assert process.stdout is not None
        assert process.stderr is not None
        line = process.stdout.readline()
        assert line, process.stderr.read().decode()
        yield process, orjson.loads(line)["url"]
    finally:
        process.kill()
        process.communicate()
