"""The process around the pages: its command line, its start and its failures."""

import json
import os
import signal
import socket
import subprocess
import sys

import httpx
import pytest

from jobs.dashboard_process import command, free_port

START = [sys.executable, "-W", "error", "-m", "jobs.dashboard_process"]


def options(host: str = "127.0.0.1") -> list[str]:
    return command(store_url="http://127.0.0.1:1", host=host, port=1234)


@pytest.mark.parametrize(
    "flag",
    [
        "--browser.gatherUsageStats=false", "--server.address=127.0.0.1", "--server.port=1234",
        "--server.headless=true", "--client.showErrorDetails=none", "--client.toolbarMode=minimal",
    ],
)  # fmt: skip
def test_the_command_line_is_private_and_quiet(flag: str) -> None:
    assert flag in options()


def test_the_store_url_follows_the_double_dash_and_the_app_exists() -> None:
    line = options()
    assert line[line.index("--") :] == ["--", "--store-url", "http://127.0.0.1:1"]
    assert os.path.isfile(line[line.index("run") + 1])  # noqa: PTH113


def test_other_host_names_are_refused_on_loopback_only() -> None:
    def allowed(host: str) -> list[str]:
        return [flag.split("=")[1] for flag in options(host) if flag.startswith("--server.allowedHosts")]

    assert allowed("127.0.0.1") == ["127.0.0.1", "localhost"]
    assert allowed("::1") == ["::1", "localhost"]
    assert allowed("0.0.0.0") == []  # noqa: S104  nothing is bound


def test_a_free_port_can_be_bound() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", free_port("127.0.0.1")))


def test_it_prints_one_line_when_healthy_and_a_terminate_stops_all_of_it() -> None:
    arguments = [*START, "--store-url", "http://127.0.0.1:1", "--port", "0"]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = json.loads(process.stdout.readline())["url"]
        assert httpx.get(f"{url}/_stcore/health", trust_env=False).text == "ok"
        assert httpx.get(f"{url}/healthz", trust_env=False).json() == {"status": "ok", "process": "dashboard"}
        process.send_signal(signal.SIGTERM)
        rest, _ = process.communicate(timeout=30)
    assert process.returncode == 0
    assert rest == ""
    with pytest.raises(httpx.ConnectError):
        httpx.get(url, trust_env=False)


def test_a_taken_port_is_an_error_with_exit_code_3() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        arguments = [*START, "--store-url", "http://127.0.0.1:1", "--port", port]
        done = subprocess.run(arguments, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 3
    assert done.stdout == ""
    assert "ended at its start" in done.stderr
