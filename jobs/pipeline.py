"""The whole way from an endpoint to its verdicts in one process: probe, look through golden eyes, judge."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from jobs.judging import golden_side, judge
from monitor.ports import Client, Clock, Detector, JudgesAlone, Probe, Scorer
from monitor.results import GoldenView, RunRecord, Tolerances, Verdict
from monitor.summary import Summary, summarise
from monitor.types import Capture, Endpoint
from probes.run import run_probe


@dataclass(frozen=True, slots=True, kw_only=True)
class Probed:
    """An endpoint and the runs of all probes against it; ``captures[i]`` belong to ``records[i]``."""

    endpoint: Endpoint
    records: tuple[RunRecord, ...]
    captures: tuple[tuple[Capture, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A probed endpoint with what the golden side and the detectors made of it."""

    probed: Probed
    views: Mapping[str, GoldenView]
    verdicts: tuple[Verdict, ...]

    @property
    def summary(self) -> Summary:
        """The one line about the endpoint."""
        return summarise(self.verdicts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prober:
    """Who probes: clock, place, version, and the seed that the probes' choices follow from."""

    clock: Clock
    vantage: str
    version: str
    seed: int
    concurrency: int


async def probe_endpoint(
    endpoint: Endpoint, client: Client, probes: Sequence[Probe], prober: Prober,
    report: Callable[[Probe, int, int], None],
) -> Probed:  # fmt: skip
    """Run `probes` one after the other, so that none disturbs the timing of another."""
    records: list[RunRecord] = []
    captures: list[tuple[Capture, ...]] = []
    for probe in probes:
        record, seen = await run_probe(
            probe, endpoint, client, clock=prober.clock, seed=prober.seed, vantage=prober.vantage,
            prober_version=prober.version, concurrency=prober.concurrency,
            report=lambda done, total, probe=probe: report(probe, done, total),  # type: ignore[misc]
        )  # fmt: skip
        records.append(record)
        captures.append(seen)
    return Probed(endpoint=endpoint, records=tuple(records), captures=tuple(captures))


def judge_endpoint(
    probed: Probed, scorer: Scorer | None, detectors: Iterable[Detector], clock: Clock, *,
    tolerances: Tolerances | None = None,
) -> Judged:  # fmt: skip
    """Score and judge what was probed. Detectors that cannot do without history are left out: here is none."""
    present = [one for one in detectors if not one.looks_back or isinstance(one, JudgesAlone)]
    golden = golden_side(probed.records, scorer, present, tolerances=tolerances)
    verdicts = judge(probed.endpoint, probed.records, golden, present, at=clock.now())
    return Judged(probed=probed, views=golden.views, verdicts=verdicts)
