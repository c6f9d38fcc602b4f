"""``weighmaster probe``: one probe of some endpoints now, judged in this process, evidence in a folder."""

import secrets
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from rich.console import Console

from jobs import evidence_folder
from jobs.clock import SystemClock
from jobs.endpoints_now import INTERRUPTED, chosen, each, exit_code, interruptible, scorers
from jobs.event_loop import run as run_loop
from jobs.pipeline import Beside, Probed, Prober, ask_golden, is_paired, judge_endpoint, probe_endpoint
from jobs.suite_golden import SuiteGolden
from jobs.terminal import show_verdicts
from jobs.tolerances import tolerances_for
from jobs.verdict_table import row
from jobs.version import version
from monitor.config_types import Config, EndpointConfig
from monitor.errors import UsageError
from monitor.ports import Client, Probe, Scorer


def run(config: Config, patterns: Sequence[str], kinds: Sequence[str], out: Path, *, as_json: bool) -> int:
    """Probe, judge and print; return the exit code of the worst endpoint (DESIGN section 7).

    Ctrl-C and SIGTERM end it early: runs that were finished stay in `out`, and one line says so.
    """
    console = Console(stderr=True, highlight=False)
    entries, probes = chosen(config, patterns), _probes(config, kinds)
    folder = evidence_folder.prepare(out)
    rows, kept = [], list[Probed]()
    try:
        with interruptible(), scorers(config, entries, console) as golden:
            # Before anything is sent: a calibration that cannot be used must not cost requests.
            tolerated = {name: tolerances_for(config.references[name], one.fingerprint) for name, one in golden.items()}
            probed = run_loop(_probe_all(config, entries, probes, _keeper(folder, kept), console))
            beside = run_loop(_ask_golden(config, probed, golden, console))
            for one, answers in zip(probed, beside, strict=True):
                name = one.endpoint.reference or ""
                judged = judge_endpoint(
                    one, golden.get(name), config.detectors, SystemClock(), tolerances=tolerated.get(name),
                    beside=answers,
                )  # fmt: skip
                evidence_folder.keep_judged(folder, judged)
                rows.append(row(judged))
    except KeyboardInterrupt:
        console.print(f"stopped; finished runs kept in {out}: {len(kept)}", markup=False, soft_wrap=True)
        return INTERRUPTED
    show_verdicts(rows, out, as_json=as_json)
    return exit_code([one["status"] for one in rows])


def _keeper(folder: Path, kept: list[Probed]) -> Callable[[Probed], None]:
    """Make what writes a finished run at once, and notes it in `kept`."""

    def keep(probed: Probed) -> None:
        evidence_folder.keep_probed(folder, probed)
        kept.append(probed)

    return keep


def _probes(config: Config, kinds: Sequence[str]) -> list[Probe]:
    by_kind: dict[str, Probe] = {plan.probe.kind: plan.probe for plan in config.plans}
    unknown = [kind for kind in kinds if kind not in by_kind]
    if not by_kind:
        raise UsageError("the configuration has no probes; add a section `probes` (docs/configuration.md)")
    if unknown:
        raise UsageError(f"no probe of kind {', '.join(unknown)} in the configuration; it has {', '.join(by_kind)}")
    return [probe for kind, probe in by_kind.items() if not kinds or kind in kinds]


async def _probe_all(
    config: Config, entries: Sequence[EndpointConfig], probes: Sequence[Probe], keep: Callable[[Probed], None],
    console: Console,
) -> list[Probed]:  # fmt: skip
    prober = Prober(
        clock=SystemClock(), vantage=config.vantage, version=version(), seed=secrets.randbits(31),
        concurrency=config.agent.concurrency,
    )  # fmt: skip

    async def measure(entry: EndpointConfig, client: Client) -> Probed:
        report, runs = _reporter(entry.endpoint.name, console), []
        for probe in probes:
            runs.append(await probe_endpoint(entry.endpoint, client, [probe], prober, report))
            keep(runs[-1])
        return _together(runs)

    return await each(entries, measure)


async def _ask_golden(
    config: Config, probed: Sequence[Probed], golden: Mapping[str, Scorer], console: Console
) -> list[Beside]:
    """Golden's answers to the requests of each endpoint, all in one loop: a golden server keeps its connections."""
    found, suites = [], SuiteGolden(config, SystemClock())
    for one in probed:
        scorer = golden.get(one.endpoint.reference or "")
        if scorer is not None and is_paired(one, config.detectors):
            console.print(f"{one.endpoint.name}: golden answers the same requests", markup=False, soft_wrap=True)
        found.append(await ask_golden(one, scorer, config.detectors, suites))
    return found


def _together(runs: Sequence[Probed]) -> Probed:
    """All runs against one endpoint as one."""
    return Probed(
        endpoint=runs[0].endpoint, records=tuple(record for one in runs for record in one.records),
        captures=tuple(captures for one in runs for captures in one.captures),
    )  # fmt: skip


def _reporter(name: str, console: Console) -> Callable[[Probe, int, int], None]:
    """Make what says when a probe of the endpoint called `name` is done."""

    def report(probe: Probe, done: int, total: int) -> None:
        # A line at the start, at the end and now and then between: a slow endpoint must not look like a dead prober.
        if done in {1, total} or done % 8 == 0:
            console.print(f"{name}: {probe.kind}, {done} of {total} requests ended", markup=False, soft_wrap=True)

    return report
