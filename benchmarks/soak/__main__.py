"""Drives a soak: starts the processes, breaks things by a plan, ends all in order, and counts."""

import argparse
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import mean
from typing import Any

import httpx

from benchmarks.soak.counted import Findings, counted
from benchmarks.soak.world import DOWN, LIMITED, begin, config, written
from jobs.dashboard_process import free_port

SPEED = 20.0
UNLIMITED = resource.RLIM_INFINITY
GROWTH = 0.10

# At which share of the time what is done. Kills, full disks and steps are over by the half; then memory is watched.
PLAN: tuple[tuple[float, str, str], ...] = (
    (0.03, "limit", "on"), (0.04, "kill", "agent"), (0.07, "kill", "store"), (0.10, "kill", "judge"),
    (0.11, "full", "agent"), (0.13, "room", "agent"), (0.14, "limit", "off"), (0.15, "kill", "store"),
    (0.18, "step", "480"), (0.20, "kill", "agent"), (0.22, "full", "store"), (0.24, "room", "store"),
    (0.25, "kill", "judge"), (0.28, "kill", "store"), (0.30, "step", "0"), (0.31, "full", "agent"),
    (0.32, "kill", "agent"), (0.33, "room", "agent"), (0.35, "kill", "judge"), (0.37, "kill", "store"),
    (0.39, "stop", "store"), (0.41, "limit", "on"), (0.44, "start", "store"), (0.46, "limit", "off"),
    (0.47, "down", "on"), (0.72, "down", "off"),
)  # fmt: skip


class Soak:
    """The processes of one soak in a folder."""

    def __init__(self, folder: Path, seconds: float) -> None:
        self.folder, self.seconds = folder, seconds
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        self.memory: dict[str, list[tuple[float, float]]] = {"agent": [], "store": [], "judge": []}
        self.done: dict[str, int] = {}
        self.faults: dict[str, str] = {}

    def start(self, name: str) -> None:
        """Start a process; its log grows in the folder."""
        log = (self.folder / f"{name}.log").open("ab")
        line = [sys.executable, "-m", "benchmarks.soak.actor", name, str(self.folder)]
        out = subprocess.PIPE if name == "endpoints" else log
        self.running[name] = subprocess.Popen(line, stdout=out, stderr=log)
        log.close()

    def end(self, name: str, how: signal.Signals) -> None:
        """End a process and wait for it."""
        process = self.running.pop(name)
        process.send_signal(how)
        process.wait(120)

    def act(self, what: str, about: str) -> None:
        """Do one thing of the plan."""
        self.done[what] = self.done.get(what, 0) + 1
        match what:
            case "kill":
                self.end(about, signal.SIGKILL)
                self.start(about)
            case "stop":
                self.end(about, signal.SIGTERM)
            case "start":
                self.start(about)
            case "full":
                file = self.folder / {"agent": "spool.sqlite", "store": "store.duckdb"}[about]
                self._limit(about, file.stat().st_size if file.exists() else 0)
            case "room":
                self._limit(about, UNLIMITED)
            case "step":
                (self.folder / "step").write_text(about)
            case "limit" | "down":
                self._fault(LIMITED if what == "limit" else DOWN, "429" if what == "limit" else "503", on=about == "on")

    def _limit(self, name: str, size: int) -> None:
        if name in self.running:
            resource.prlimit(self.running[name].pid, resource.RLIMIT_FSIZE, (size, UNLIMITED))

    def _fault(self, provider: str, status: str, *, on: bool) -> None:
        self.faults = {**{k: v for k, v in self.faults.items() if k != provider}, **({provider: status} if on else {})}
        fresh = self.folder / "faults.new"
        fresh.write_text(json.dumps(self.faults))
        fresh.replace(self.folder / "faults")

    def watch(self, at: float) -> None:
        """Note the memory of each process; start again what ended by itself, as a supervisor does."""
        for name in self.memory:
            process = self.running.get(name)
            if process is None:
                continue
            if process.poll() is not None:
                self.done[f"{name} ended by itself"] = self.done.get(f"{name} ended by itself", 0) + 1
                self.start(name)
                continue
            pages = int(Path(f"/proc/{process.pid}/statm").read_text().split()[1])
            self.memory[name].append((at, pages * os.sysconf("SC_PAGE_SIZE") / 2**20))

    def run(self) -> None:
        """Follow the plan to its end."""
        began, left = time.monotonic(), list(PLAN)
        while (at := (time.monotonic() - began) / self.seconds) < 1.0:
            while left and left[0][0] <= at:
                _, what, about = left.pop(0)
                sys.stderr.write(f"{at:5.0%} {what} {about}\n")
                self.act(what, about)
            self.watch(at)
            time.sleep(0.5)

    def finish(self) -> None:
        """End agent and judge in order; the store is the last."""
        for name in ("agent", "judge", "store", "endpoints"):
            if name in self.running:
                self.end(name, signal.SIGTERM)

    def abandon(self) -> None:
        """End what still runs, at once."""
        for name in list(self.running):
            self.end(name, signal.SIGKILL)


def growth(samples: list[tuple[float, float]]) -> tuple[float, float]:
    """Memory in the last eighth against that at the beginning of the last half, and the last in MiB."""
    early = [one for at, one in samples if 0.5 <= at < 0.625]
    late = [one for at, one in samples if at >= 0.875]
    return (mean(late) / mean(early) - 1, mean(late)) if early and late else (float("nan"), float("nan"))


def hook(told: list[dict[str, Any]]) -> ThreadingHTTPServer:
    """A route that writes down what it is told, and refuses each third message once."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            told.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(503 if len(told) % 3 == 1 else 200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def until_works(folder: Path, seconds: float) -> None:
    """Wait until runs arrive and somebody judges them."""
    url, until = config(folder).store.url, time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            if httpx.get(f"{url}/api/counts", trust_env=False).json()["counts"]["judged"]:
                return
        except httpx.HTTPError:
            pass
        time.sleep(0.5)


def judged(folder: Path, seconds: float) -> None:
    """Wait until the last resolved message can have been told."""
    url, until = config(folder).store.url, time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            if not httpx.get(f"{url}/api/incidents", params={"open_only": "true"}, trust_env=False).json()["incidents"]:
                return
        except httpx.HTTPError:
            pass
        time.sleep(1)


def soak(minutes: float, folder: Path, say: Callable[[str], object]) -> bool:
    """Run it; return whether all promises held."""
    told: list[dict[str, Any]] = []
    route, one = hook(told), Soak(folder, minutes * 60)
    begin(folder, SPEED)
    one.start("endpoints")
    out = one.running["endpoints"].stdout
    address = f"http://127.0.0.1:{int(out.readline()) if out is not None else 0}"
    written(folder, address, f"http://127.0.0.1:{route.server_address[1]}/", free_port("127.0.0.1"))
    try:
        for name in ("store", "judge", "agent"):
            one.start(name)
        until_works(folder, 120)
        one.run()
        judged(folder, 120)
        time.sleep(6)
        one.finish()
    finally:
        one.abandon()
        route.shutdown()
    found = counted(folder, told) | _memory(one)
    say(f"{minutes:g} minutes at {SPEED:g} times the speed: {minutes * SPEED / 60:.1f} hours; "
        + ", ".join(f"{n} {what}" for what, n in sorted(one.done.items())))  # fmt: skip
    for name, (held, text) in found.items():
        say(f"{'held  ' if held else 'BROKEN'} {name}: {text}")
    return all(held for held, _ in found.values())


def _memory(one: Soak) -> Findings:
    found: Findings = {}
    for name, samples in one.memory.items():
        more, last = growth(samples)
        tenths = [[one for at, one in samples if n / 10 <= at < (n + 1) / 10] for n in range(10)]
        curve = " ".join(f"{mean(one):.0f}" if one else "–" for one in tenths)
        text = f"{last:.0f} MiB at the end, {more:+.1%} over the last half; by tenths {curve}"
        found[f"memory of the {name}"] = (more < GROWTH, text)
    return found


def main() -> int:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak")
    parser.add_argument("--minutes", type=float, default=15.0)
    parser.add_argument("--folder", type=Path, help="where files stay; default: a temporary one, removed")
    given = parser.parse_args()
    if given.folder is not None:
        given.folder.mkdir(parents=True)
        return 0 if soak(given.minutes, given.folder.absolute(), print) else 1
    with tempfile.TemporaryDirectory() as folder:
        return 0 if soak(given.minutes, Path(folder), print) else 1


if __name__ == "__main__":
    sys.exit(main())
