"""``weighmaster probe``: one probe of some endpoints now, judged in this process, evidence in a folder."""

import secrets
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from rich.console import Console

from jobs import evidence_folder
from jobs.clients import http_client
from jobs.clock import SystemClock
from jobs.event_loop import run as run_loop
from jobs.pipeline import Probed, Prober, judge_endpoint, probe_endpoint
from jobs.references import scorer_for
from jobs.terminal import show_verdicts
from jobs.verdict_table import row
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
    scorers = _scorers(config, entries, console)
    probed = run_loop(_probe_all(config, entries, probes, folder, console))
    rows = []
    for one in probed:
        scorer = scorers.get(one.endpoint.reference or "")
        judged = judge_endpoint(one, scorer, config.detectors, SystemClock())
        evidence_folder.keep_judged(folder, judged)
        rows.append(row(judged))
    show_verdicts(rows, out, as_json=as_json)
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
    if not by_kind:
        raise UsageError("the configuration has no probes; add a section `probes` (docs/configuration.md)")
    if unknown:
        raise UsageError(f"no probe of kind {', '.join(unknown)} in the configuration; it has {', '.join(by_kind)}")
    return [probe for kind, probe in by_kind.items() if not kinds or kind in kinds]


async def _probe_all(
    config: Config, entries: Sequence[EndpointConfig], probes: Sequence[Probe], folder: Path, console: Console
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
                evidence_folder.keep_probed(folder, results[-1])
            finally:
                await client.aclose()
    return results


def _scorers(config: Config, entries: Sequence[EndpointConfig], console: Console) -> dict[str, Scorer]:
    """The golden engines, loaded before anything is sent: a missing one must not cost requests."""
    scorers: dict[str, Scorer] = {}
    for name in dict.fromkeys(entry.endpoint.reference for entry in entries):
        if name is not None:
            console.print(f"loading reference {name}", markup=False, soft_wrap=True)
            scorers[name] = scorer_for(config.references[name])
    return scorers


def _reporter(name: str, console: Console) -> Callable[[Probe, int, int], None]:
    """Make what says when a probe of the endpoint called `name` is done."""

    def report(probe: Probe, done: int, total: int) -> None:
        # A line at the start, at the end and now and then between: a slow endpoint must not look like a dead prober.
        if done in {1, total} or done % 8 == 0:
            console.print(f"{name}: {probe.kind}, {done} of {total} requests answered", markup=False, soft_wrap=True)

    return report
