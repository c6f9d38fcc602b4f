"""The real server as a process: announces itself, obeys its options, and never outlives its purpose."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from jobs.golden import ensure_gguf
from tests.lab.server import llama_server

pytestmark = [pytest.mark.lab, pytest.mark.golden]


@pytest.fixture(scope="module")
def gguf(golden_home: Path) -> Path:
    return ensure_gguf(golden_home, "Q4_0", print)


def command(gguf: Path, *options: str) -> list[str]:
    return [sys.executable, "-m", "jobs.lab_server", str(gguf), *options]


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "zombie" not in Path(f"/proc/{pid}/status").read_text("utf-8")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_announces_itself_and_stops_cleanly(gguf: Path, number: signal.Signals) -> None:
    with subprocess.Popen(command(gguf), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        url = json.loads(process.stdout.readline())["url"]
        assert url.startswith("http://127.0.0.1:")
        assert httpx.get(f"{url}/models", timeout=30).status_code == 200
        process.send_signal(number)
        assert process.wait(30) == 0
        assert process.stdout.read() == ""  # one line and nothing else


def test_it_stops_by_itself_after_its_time(gguf: Path) -> None:
    done = subprocess.run(command(gguf, "--max-seconds", "0.5"), capture_output=True, timeout=60, check=False)
    assert done.returncode == 0


def test_it_does_not_outlive_its_parent(gguf: Path) -> None:
    """A parent that is killed without a chance to clean up."""
    code = (
        "import subprocess, sys, time\n"
        f"child = subprocess.Popen({command(gguf)!r}, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)\n"
        "child.stdout.readline()\nprint(child.pid, flush=True)\ntime.sleep(600)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        assert is_alive(child)
        parent.kill()
    deadline = time.monotonic() + 60
    while is_alive(child) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert not is_alive(child)


def test_options_reach_the_server(gguf: Path, tmp_path: Path) -> None:
    template = tmp_path / "t.jinja"
    template.write_text("{% for m in messages %}[{{ m.content }}]{% endfor %}", "utf-8")
    options = ("--template", str(template), "--alias", "renamed", "--ctx", "512", "--parallel", "1")
    with llama_server(gguf, *options, "--cache-type", "q8_0", "--rope-freq-base", "10000") as address:
        messages = {"messages": [{"role": "user", "content": "x"}]}
        assert httpx.post(f"{address}/apply-template", json=messages, timeout=30).json()["prompt"] == "[x]"
        (model,) = httpx.get(f"{address}/v1/models", timeout=30).json()["data"]
        assert model["id"] == "renamed"
        assert model["meta"]["n_ctx"] == 512


def test_the_sampler_of_the_server_can_be_another(gguf: Path) -> None:
    """Oracle: what llama.cpp itself says its defaults are."""
    options = ("--temp", "0.3", "--top-k", "7", "--top-p", "0.5", "--repeat-penalty", "1.25")
    with llama_server(gguf, *options) as address:
        found = httpx.get(f"{address}/props", timeout=30).json()["default_generation_settings"]["params"]
    names = ("temperature", "top_k", "top_p", "repeat_penalty")
    assert [found[name] for name in names] == pytest.approx([0.3, 7, 0.5, 1.25])


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("none.gguf", (), "none.gguf: not found"),
        ("broken.gguf", (), "cannot serve"),
        ("broken.gguf", ("--template", "/none.jinja"), "none.jinja: not found"),
        ("broken.gguf", ("--cache-type", "q99"), "no such type"),
    ],
)
def test_what_cannot_be_served_is_said(name: str, options: tuple[str, ...], words: str, tmp_path: Path) -> None:
    (tmp_path / "broken.gguf").write_bytes(b"GGUF" + bytes(100))
    done = subprocess.run(command(tmp_path / name, *options), capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
