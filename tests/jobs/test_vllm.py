"""Starting and stopping vLLM, on a program that only behaves as one; the real one: tests/engines/test_vllm.py."""

import json
import os
import sys
import time
from pathlib import Path

import pytest

from jobs.vllm import Vllm, check_vllm, serve_vllm
from monitor.errors import UsageError, WeighmasterError

SERVES = """
import http.server, subprocess, sys
port, dtype = (sys.argv[sys.argv.index(option) + 1] for option in ("--port", "--dtype"))
stubborn = "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(60)"
worker = subprocess.Popen([sys.executable, "-c", stubborn])
print(dtype, worker.pid, flush=True)

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path == "/health" else 404)
        self.end_headers()

http.server.HTTPServer(("127.0.0.1", int(port)), Handler).serve_forever()
"""


def program(path: Path, code: str) -> Path:
    path.write_text(f"#!{sys.executable}\n{code}", "utf-8")
    path.chmod(0o755)
    return path


def gone(pid: int) -> bool:
    """Whether it ended: reaped, or waiting for its parent to look."""
    try:
        return Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


async def test_it_answers_while_it_is_wanted_and_leaves_no_worker_behind(tmp_path: Path) -> None:
    python, log = program(tmp_path / "python", SERVES), tmp_path / "logs" / "vllm.log"
    async with serve_vllm(python, tmp_path, log, dtype="bfloat16") as url:
        assert url.startswith("http://127.0.0.1:")
        assert url.endswith("/v1")
        dtype, worker = log.read_text("utf-8").split()[:2]
        assert dtype == "bfloat16"
        assert not gone(int(worker))
        assert os.getpgid(int(worker)) != os.getpgid(0)
    until = time.monotonic() + 30
    while not gone(int(worker)) and time.monotonic() < until:
        time.sleep(0.02)  # noqa: ASYNC251  # the loop has nothing else to do
    assert gone(int(worker))


def test_keys_are_not_handed_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Oracle: the environment that the started program sees."""
    secret = "sk-secret"
    for name in ("OPENAI_API_KEY", "ACME", "HF_TOKEN", "VLLM_API_KEY", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, secret)
    monkeypatch.setenv("VLLM_CPU_KVCACHE_SPACE", "9")
    monkeypatch.setenv("VLLM_TARGET", "here")
    monkeypatch.setenv("LD_LIBRARY_PATH", "/there")
    tells, log = "import json, os; print(json.dumps(dict(os.environ)))", tmp_path / "vllm.log"
    server = Vllm.start(program(tmp_path / "python", tells), tmp_path, log, dtype="float32")
    server.process.wait()
    server.stop()
    seen = json.loads(log.read_text("utf-8"))
    assert secret not in seen.values()
    assert (seen["PATH"], seen["VLLM_TARGET"], seen["LD_LIBRARY_PATH"]) == (os.environ["PATH"], "here", "/there")
    assert (seen["VLLM_CPU_KVCACHE_SPACE"], seen["HF_HUB_OFFLINE"]) == ("1", "1")


def test_a_second_stop_kills_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the first, the number of the group may belong to somebody else."""
    killed: list[int] = []
    monkeypatch.setattr(os, "killpg", lambda group, _signal: killed.append(group))
    server = Vllm.start(program(tmp_path / "python", ""), tmp_path, tmp_path / "vllm.log", dtype="float32")
    server.stop()
    server.stop()
    assert killed == [server.process.pid]


async def test_what_does_not_start_names_its_log(tmp_path: Path) -> None:
    log = tmp_path / "vllm.log"
    server = Vllm.start(program(tmp_path / "python", "raise SystemExit('no room')"), tmp_path, log, dtype="float32")
    with pytest.raises(WeighmasterError, match=r"did not start.*vllm\.log"):
        await server.url()
    server.stop()
    server.stop()
    assert "no room" in log.read_text("utf-8")


def test_a_python_without_vllm_is_refused_before_anything_is_measured(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="has no vLLM"):
        check_vllm(Path(sys.executable))
    with pytest.raises(UsageError, match="cannot be run"):
        check_vllm(tmp_path / "python")
    check_vllm(program(tmp_path / "python", ""))
