"""``weighmaster probe``: one probe of some endpoints now, judged in this process, evidence in a folder."""

import secrets
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from fnmatch import fnmatchcase
from pathlib import Path

from rich.console import Console

from jobs import evidence_folder
from jobs.clients import client_of
from jobs.clock import SystemClock
from jobs.event_loop import run as run_loop
from jobs.pipeline import Probed, Prober, judge_endpoint, probe_endpoint
from jobs.references import scorer_for
from jobs.terminal import show_verdicts
from jobs.tolerances import tolerances_for
from jobs.verdict_table import row
from jobs.version import version
from monitor.config_types import Config, EndpointConfig
from monitor.errors import UsageError
from monitor.ports import Probe, Scorer
from probes.heartbeat import Heartbeat

INTERRUPTED = 130
"""Exit code after Ctrl-C or SIGTERM."""


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
            for one in run_loop(_probe_all(config, entries, probes, _keeper(folder, kept), console)):
                name = one.endpoint.reference or ""
                scorer, tolerances = golden.get(name), tolerated.get(name)
                judged = judge_endpoint(one, scorer, config.detectors, SystemClock(), tolerances=tolerances)
                evidence_folder.keep_judged(folder, judged)
                rows.append(row(judged))
    except KeyboardInterrupt:
        console.print(f"stopped; finished runs kept in {out}: {len(kept)}", markup=False, soft_wrap=True)
        return INTERRUPTED
    show_verdicts(rows, out, as_json=as_json)
    return exit_code([one["status"] for one in rows])


@contextmanager
def interruptible() -> Iterator[None]:
    """Let SIGTERM do what Ctrl-C does, also where Ctrl-C is ignored (a background job of a shell script)."""

    def stop(*_: object) -> None:
        if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
            raise KeyboardInterrupt
        signal.raise_signal(signal.SIGINT)

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _keeper(folder: Path, kept: list[Probed]) -> Callable[[Probed], None]:
    """Make what writes a finished run at once, and notes it in `kept`."""

    def keep(probed: Probed) -> None:
        evidence_folder.keep_probed(folder, probed)
        kept.append(probed)

    return keep


def exit_code(statuses: Sequence[str]) -> int:
    """1 when anything fails or is suspect, 3 when something could not be measured (or nothing is known), else 0."""
    if any(status in {"fail", "suspect"} for status in statuses):
        return 1
    return 3 if not statuses or "inconclusive" in statuses else 0


def chosen(config: Config, patterns: Sequence[str]) -> list[EndpointConfig]:
    """The endpoints that `patterns` name. Raises UsageError when one names none."""
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
    config: Config, entries: Sequence[EndpointConfig], probes: Sequence[Probe], keep: Callable[[Probed], None],
    console: Console,
) -> list[Probed]:  # fmt: skip
    clock = SystemClock()
    prober = Prober(
        clock=clock, vantage=config.vantage, version=version(), seed=secrets.randbits(31),
        concurrency=config.agent.concurrency,
    )  # fmt: skip
    results = []
    async with Heartbeat(clock).beating() as heartbeat:
        for entry in entries:
            client = client_of(entry, clock, heartbeat)
            report = _reporter(entry.endpoint.name, console)
            try:
                runs = []
                for probe in probes:
                    runs.append(await probe_endpoint(entry.endpoint, client, [probe], prober, report))
                    keep(runs[-1])
                results.append(_together(runs))
            finally:
                await client.aclose()
    return results


def _together(runs: Sequence[Probed]) -> Probed:
    """All runs against one endpoint as one."""
    return Probed(
        endpoint=runs[0].endpoint, records=tuple(record for one in runs for record in one.records),
        captures=tuple(captures for one in runs for captures in one.captures),
    )  # fmt: skip


@contextmanager
def scorers(config: Config, entries: Sequence[EndpointConfig], console: Console) -> Iterator[dict[str, Scorer]]:
    """The golden engines, loaded before anything is sent: a missing one must not cost requests. Closed on leaving."""
    made: dict[str, Scorer] = {}
    with ExitStack() as stack:
        for name in dict.fromkeys(entry.endpoint.reference for entry in entries):
            if name is not None:
                console.print(f"loading reference {name}", markup=False, soft_wrap=True)
                made[name] = scorer_for(config.references[name])
                stack.callback(made[name].close)
        yield made


def _reporter(name: str, console: Console) -> Callable[[Probe, int, int], None]:
    """Make what says when a probe of the endpoint called `name` is done."""

    def report(probe: Probe, done: int, total: int) -> None:
        # A line at the start, at the end and now and then between: a slow endpoint must not look like a dead prober.
        if done in {1, total} or done % 8 == 0:
            console.print(f"{name}: {probe.kind}, {done} of {total} requests answered", markup=False, soft_wrap=True)

    return report
