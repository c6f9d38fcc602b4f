"""The main job on real engines and real weights: the verdict table, and the whole service with its page."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import sync_playwright

CHROMIUM = "/usr/bin/chromium"
FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
)  # fmt: skip
pytestmark = [pytest.mark.golden, pytest.mark.lab, pytest.mark.timeout(420)]


@pytest.fixture
def home(golden_home: Path, tmp_path: Path) -> Path:
    """A home of its own whose model files are the shared ones."""
    (golden_home / "gguf").mkdir(exist_ok=True)
    for name in ("golden", "gguf"):
        (tmp_path / name).symlink_to(golden_home / name)
    return tmp_path


def environment(home: Path) -> dict[str, str]:
    return {**os.environ, "WEIGHMASTER_HOME": str(home)}


def test_demo_once_tells_the_four_endpoints_apart(home: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "jobs.cli", "demo", "--once", "--json", "--out", str(home / "out")],
        capture_output=True, text=True, env=environment(home), check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    rows = {row["endpoint"]: row for row in json.loads(done.stdout)["endpoints"]}

    faithful = rows["lab/faithful"]
    assert (faithful["status"], faithful["cause"]) == ("pass", None)
    assert faithful["kl"] < 0.001
    assert faithful["prompt_token_match"] == {"k": 37, "n": 37}

    degraded = rows["lab/degraded"]
    assert (degraded["status"], degraded["cause"]) == ("fail", "weights")
    assert degraded["kl"] > 0.1
    assert degraded["kl_low"] > 0.05
    assert degraded["prompt_token_match"] == {"k": 37, "n": 37}

    misconfigured = rows["lab/misconfigured"]
    assert (misconfigured["status"], misconfigured["cause"]) == ("fail", "template")
    assert misconfigured["prompt_token_match"] == {"k": 0, "n": 37}

    faulty = rows["lab/faulty"]
    assert faulty["status"] == "fail"
    assert {"truncated", "rate_limited", "http_5xx", "broken_tool_call"} <= set(faulty["outcomes"])
    for fault in ("truncated", "http_5xx", "broken_tool_call"):
        assert fault in faulty["cause"]
    assert "rate_limited" not in faulty["cause"]  # no fault of the endpoint

    evidence = home / "out" / "lab__faithful"
    assert len(list(evidence.glob("*/*.capture"))) == 37
    assert json.loads((evidence / "verdicts.json").read_text())[0]["endpoint"] == "lab/faithful"


@contextmanager
def demo(home: Path) -> Iterator[dict[str, str]]:
    """The running demo service; yields the addresses that it prints, by process."""
    log = (home / "demo.log").open("w")
    with log, subprocess.Popen(
        [sys.executable, "-m", "jobs.cli", "demo"],
        stdout=subprocess.PIPE, stderr=log, text=True, env=environment(home),
    ) as process:  # fmt: skip
        try:
            yield addresses(process)
        finally:
            process.send_signal(signal.SIGTERM)
            if process.stdout is not None:
                process.stdout.close()
            process.wait(60)


def addresses(process: "subprocess.Popen[str]") -> dict[str, str]:
    found: dict[str, str] = {}
    assert process.stdout is not None
    for line in process.stdout:
        name, _, rest = line.partition(": ")
        if rest.startswith('{"url"'):
            found[name] = json.loads(rest)["url"]
        if {"store", "dashboard"} <= found.keys():
            return found
    raise AssertionError("the demo ended before it was ready")


def until(condition: Callable[[], bool], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "did not happen in time"
        time.sleep(0.5)


def overview(url: str) -> dict[str, Any]:
    try:
        reply = httpx.get(f"{url}/api/overview", trust_env=False, timeout=30)
    except httpx.TransportError:
        return {}
    return {one["endpoint"]: one for one in reply.json()["endpoints"]}


def process_of(home: Path, name: str) -> int:
    """Pid of the service's process `name`."""
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0") if entry.name.isdigit() else []
        except OSError:
            continue
        if b"jobs.cli" in words and name.encode() in words and str(home).encode() in b" ".join(words):
            return int(entry.name)
    raise AssertionError(f"no process {name}")


@pytest.mark.browser
def test_service_from_probe_to_page_over_a_killed_store(home: Path) -> None:
    with demo(home) as url:

        def judged() -> bool:
            found = overview(url["store"]).values()
            told = [{verdict["detector"] for verdict in one["verdicts"]} for one in found]
            wanted = {"availability", "accounting", "logprob_fidelity", "fidelity"}
            return len(told) == 4 and all(wanted <= detectors for detectors in told)

        until(lambda: len(overview(url["store"])) == 4, 60)
        os.kill(process_of(home, "store"), signal.SIGKILL)
        until(judged, 240)
        counts = httpx.get(f"{url['store']}/api/counts", trust_env=False).json()["counts"]
        slots = httpx.get(f"{url['store']}/api/slots?limit=1000", trust_env=False).json()["slots"]
        done = [(slot["endpoint"], slot["probe"], slot["slot_at"]) for slot in slots if slot["state"] == "done"]
        assert len(set(done)) == len(done)
        assert counts["rejected"] == 0
        statuses = {
            name: {v["detector"]: v["status"] for v in one["verdicts"] if v["cause"] != "no_history"}
            for name, one in overview(url["store"]).items()
        }
        assert set(statuses["lab/faithful"].values()) == {"pass"}
        assert statuses["lab/degraded"]["logprob_fidelity"] == statuses["lab/degraded"]["fidelity"] == "fail"
        assert statuses["lab/misconfigured"]["accounting"] == "fail"
        assert statuses["lab/faulty"]["availability"] == "fail"
        look_at(url["dashboard"])


def look_at(url: str) -> None:
    """See with a real browser what a user would see."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(url)
        page.get_by_text("lab/misconfigured", exact=True).first.wait_for(timeout=60_000)
        text = page.inner_text("body")
        assert "1 of 4 endpoints is faithful: lab/faithful" in text
        assert "lab/degraded (weights" in text
        page.goto(f"{url}/endpoint?name=lab/degraded")
        page.get_by_text("fail: weights").first.wait_for(timeout=60_000)
        page.locator("canvas, svg.marks").first.wait_for(timeout=60_000)
        browser.close()
