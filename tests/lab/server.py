"""A llama.cpp server for the length of a test."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def llama_server(gguf: Path, *options: str) -> Iterator[str]:
    """Serve `gguf`; yields the address without ``/v1``."""
    command = [sys.executable, "-m", "jobs.lab_server", str(gguf), "--max-seconds", "280", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        try:
            yield str(json.loads(process.stdout.readline())["url"]).removesuffix("/v1")
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(30)
