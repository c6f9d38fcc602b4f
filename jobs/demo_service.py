"""The demo as a service: the lab's four endpoints watched by store, agent, judge and dashboard."""

import asyncio
import signal
import sys
from pathlib import Path

import yaml

from jobs.golden import ensure_golden
from jobs.lab import Lab
from jobs.service import begin
from jobs.settings import load_config
from jobs.up import Supervisor, children
from monitor.types import Endpoint

REFERENCE = "smollm2"
EVERY = {"speed": "2m", "logprobs": "4m"}


def run(home: Path) -> int:
    """Run the demo until SIGINT or SIGTERM."""
    begin()
    return asyncio.run(_with_lab(home, serve=True))


def run_lab(home: Path) -> int:
    """Run the lab alone until SIGINT or SIGTERM; one line per endpoint on standard output."""
    return asyncio.run(_with_lab(home, serve=False))


def config_text(endpoints: tuple[Endpoint, ...], golden: Path, data: Path) -> str:
    """A configuration that watches `endpoints` with `golden` as reference and keeps its data in `data`."""
    return yaml.safe_dump(
        {
            "vantage": "demo",
            "store": {"path": str(data / "weighmaster.duckdb"), "listen": "127.0.0.1:0"},
            "dashboard": {"listen": "127.0.0.1:0"},
            "agent": {"spool": str(data / "spool.sqlite"), "concurrency": 1},
            "references": {REFERENCE: {"engine": "torch", "path": str(golden)}},
            "endpoints": [
                {
                    "name": one.name, "provider": one.provider, "base_url": one.base_url, "model": one.model,
                    "reference": REFERENCE, "precision": one.precision,
                }
                for one in endpoints
            ],
            "probes": [{"kind": kind, "every": every} for kind, every in EVERY.items()],
        },
        sort_keys=False,
    )  # fmt: skip


async def _with_lab(home: Path, *, serve: bool) -> int:
    stop = asyncio.Event()
    for name in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(name, stop.set)
    golden = await asyncio.to_thread(ensure_golden, home, _report)
    async with Lab.start(home, _report) as lab:
        for one in lab.endpoints:
            _say("lab", f"{one.name}  {one.base_url}")
        if serve:
            await _serve(home / "demo", golden, lab.endpoints, stop)
        else:
            await stop.wait()
    return 0


async def _serve(data: Path, golden: Path, endpoints: tuple[Endpoint, ...], stop: asyncio.Event) -> None:
    path = _write(data, config_text(endpoints, golden, data))
    _say("demo", f"configuration and data in {data} (earlier demos included); first verdicts in about two minutes")
    supervisor = Supervisor(children(path, load_config(path, {})), _say)
    running = asyncio.create_task(asyncio.to_thread(supervisor.run))
    try:
        await stop.wait()
    finally:
        supervisor.stop.set()
        await running


def _write(data: Path, text: str) -> Path:
    data.mkdir(parents=True, exist_ok=True)
    path = data / "weighmaster.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def _report(line: str) -> None:
    sys.stderr.write(line + "\n")


def _say(name: str, line: str) -> None:
    sys.stdout.write(f"{name}: {line}\n")
    sys.stdout.flush()
