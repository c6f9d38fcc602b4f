"""``weighmaster probe``: one probe of some endpoints now, judged in this process, evidence in a folder."""

import asyncio
import secrets
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

import orjson
from rich.console import Console

from jobs import evidence_folder
from jobs.clients import http_client
from jobs.clock import SystemClock
from jobs.judge import torch_scorer
from jobs.pipeline import Judged, Probed, Prober, judge_endpoint, probe_endpoint
from jobs.verdict_table import row, table
from jobs.version import version
from monitor.config_types import Config, EndpointConfig
from monitor.errors import UsageError
from monitor.ports import Probe, Scorer
from probes.heartbeat import Heartbeat


def run(config: Config, patterns: Sequence[str], kinds: Sequence[str], out: Path, *, as_json: bool) -> int:
    """Probe, judge and print; return the exit code of the worst endpoint (DESIGN section 7)."""
    console = Console(stderr=True, highlight=False)
    entries, probes = _chosen(config, patterns), _probes(config, kinds)
    folder = evidence_folder.prepare(out)
    probed = asyncio.run(_probe_all(config, entries, probes, console))
    judged = _judge_all(config, probed, console)
    rows = []
    for one in judged:
        evidence_folder.keep(folder, one)
        rows.append(row(one))
    if as_json:
        print(orjson.dumps({"endpoints": rows}).decode())  # noqa: T201  # the document that --json promises
    else:
        Console(width=None if Console().is_terminal else 160).print(table(rows))
        for shown in rows:
            console.print(f"{shown['endpoint']}: {shown['reason']}", markup=False, soft_wrap=True)
        console.print(f"evidence: {out}", markup=False, soft_wrap=True)
    return exit_code([one["status"] for one in rows])


def exit_code(statuses: Sequence[str]) -> int:
    """1 when anything fails or is suspect, 3 when something could not be measured (or nothing is known), else 0."""
    if any(status in {"fail", "suspect"} for status in statuses):
        return 1
    return 3 if not statuses or "inconclusive" in statuses else 0


def _chosen(config: Config, patterns: Sequence[str]) -> list[EndpointConfig]:
    names = [entry.endpoint.name for entry in config.endpoints]
    unmatched = [pattern for pattern in patterns if not any(fnmatchcase(name, pattern) for name in names)]
    if unmatched:
        raise UsageError(f"no endpoint is called {', '.join(unmatched)}; the configuration has {', '.join(names)}")
    return [entry for entry in config.endpoints if any(fnmatchcase(entry.endpoint.name, one) for one in patterns)]


def _probes(config: Config, kinds: Sequence[str]) -> list[Probe]:
    by_kind: dict[str, Probe] = {plan.probe.kind: plan.probe for plan in config.plans}
    unknown = [kind for kind in kinds if kind not in by_kind]
    if unknown or not by_kind:
        known = ", ".join(by_kind) or "none"
        raise UsageError(f"no probe of kind {', '.join(unknown) or 'any'} in the configuration; it has {known}")
    return [probe for kind, probe in by_kind.items() if not kinds or kind in kinds]


async def _probe_all(
    config: Config, entries: Sequence[EndpointConfig], probes: Sequence[Probe], console: Console
) -> list[Probed]:
    clock = SystemClock()
    prober = Prober(
        clock=clock, vantage=config.vantage, version=version(), seed=secrets.randbits(31),
        concurrency=config.agent.concurrency,
    )  # fmt: skip
    results = []
    async with Heartbeat(clock).beating() as heartbeat:
        for entry in entries:
            name = entry.endpoint.name
            key = entry.api_key.get_secret_value() if entry.api_key else None
            client = http_client(entry.endpoint, key, clock, heartbeat)
            try:
                results.append(await probe_endpoint(entry.endpoint, client, probes, prober, _reporter(name, console)))
            finally:
                await client.aclose()
    return results


def _judge_all(config: Config, probed: Sequence[Probed], console: Console) -> list[Judged]:
    scorers: dict[str, Scorer] = {}
    judged = []
    for one in probed:
        name = one.endpoint.reference
        if name is not None and name not in scorers:
            console.print(f"loading reference {name}", markup=False, soft_wrap=True)
            scorers[name] = torch_scorer(config.references[name])
        scorer = scorers[name] if name is not None else None
        judged.append(judge_endpoint(one, scorer, config.detectors, SystemClock()))
    return judged


def _reporter(name: str, console: Console) -> Callable[[Probe, int, int], None]:
    """Make what says when a probe of the endpoint called `name` is done."""

    def report(probe: Probe, done: int, total: int) -> None:
        if done == total:
            console.print(f"{name}: {probe.kind} done, {total} requests", markup=False, soft_wrap=True)

    return report
