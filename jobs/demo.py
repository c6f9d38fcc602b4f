"""The main job on local real endpoints: which of four is faithful, and what is wrong with the others."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from rich.console import Console

from jobs import evidence_folder
from jobs.clock import SystemClock
from jobs.golden import ensure_golden
from jobs.lab import Lab
from jobs.pipeline import Judged, Probed, Prober, judge_endpoint, probe_endpoint
from jobs.references import scorer_for
from jobs.settings import catalogues
from jobs.terminal import show_verdicts
from jobs.verdict_table import row
from jobs.version import version
from monitor.config_types import ReferenceConfig
from monitor.ports import Probe, Scorer
from monitor.types import Endpoint
from monitor.wire.dispatch import protocols
from probes.client import HttpClient
from probes.heartbeat import Heartbeat
from probes.limits import Limits

SEED = 20260101
PROBES = ("logprobs", "speed")
"""What tells the four endpoints apart in a minute; the other probes need longer on two cores."""
# What the lab is built to show: status, and a word that the cause must contain.
EXPECTED: Mapping[str, tuple[str, str]] = {
    "lab/faithful": ("pass", ""),
    "lab/degraded": ("fail", "weights"),
    "lab/misconfigured": ("fail", "template"),
    "lab/faulty": ("fail", "truncated"),
}


async def once(home: Path, out: Path, console: Console) -> list[dict[str, Any]]:
    """Probe and judge the four lab endpoints once; return the rows of the verdict table.

    Evidence goes to `out`; progress to `console`.
    """
    folder = evidence_folder.prepare(out)
    golden = await asyncio.to_thread(ensure_golden, home, console.print)
    async with Lab.start(home, console.print) as lab:
        probed = []
        for endpoint in lab.endpoints:
            probed.append(await _probe(endpoint, console))
            evidence_folder.keep_probed(folder, probed[-1])
    console.print("loading the golden engine and scoring")
    scorer = await asyncio.to_thread(scorer_for, ReferenceConfig(path=str(golden)))
    rows = []
    try:
        for one in probed:
            judged = await asyncio.to_thread(_judge, one, scorer)
            evidence_folder.keep_judged(folder, judged)
            rows.append(row(judged))
    finally:
        scorer.close()
    return rows


def as_expected(rows: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the faithful endpoint passed and the others were caught for the right cause."""
    found = {one["endpoint"]: (one["status"], one["cause"] or "") for one in rows}
    return all(
        name in found and found[name][0] == status and cause in found[name][1]
        for name, (status, cause) in EXPECTED.items()
    )


def run_once(home: Path, out: Path, *, as_json: bool) -> int:
    """Run the cycle and print the table (or one JSON document); 0 when the lab was told apart rightly, else 1."""
    console = Console(stderr=True, highlight=False)
    rows = asyncio.run(once(home, out, console))
    show_verdicts(rows, out, as_json=as_json)
    return 0 if as_expected(rows) else 1


async def _probe(endpoint: Endpoint, console: Console) -> Probed:
    def report(probe: Probe, done: int, total: int) -> None:
        if done == total:
            console.print(f"{endpoint.name}: {probe.kind} done, {total} requests", markup=False, soft_wrap=True)

    clock = SystemClock()
    prober = Prober(clock=clock, vantage="local", version=version(), seed=SEED, concurrency=1)
    kinds = catalogues(detectors=False).probes
    probes = [kinds[kind]() for kind in PROBES]
    async with _client(endpoint, clock) as client:
        return await probe_endpoint(endpoint, client, probes, prober, report)


@asynccontextmanager
async def _client(endpoint: Endpoint, clock: SystemClock) -> AsyncIterator[HttpClient]:
    async with Heartbeat(clock).beating() as heartbeat:
        client = HttpClient(
            endpoint, protocols()[endpoint.protocol], key=None, clock=clock, heartbeat=heartbeat,
            limits=Limits(first_byte_s=30, stall_s=15, total_s=90),
        )  # fmt: skip
        try:
            yield client
        finally:
            await client.aclose()


def _judge(probed: Probed, scorer: Scorer) -> Judged:
    detectors = [detector() for detector in (catalogues().detectors or {}).values()]
    return judge_endpoint(probed, scorer, detectors, SystemClock())
