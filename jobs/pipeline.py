"""The whole way from an endpoint to its verdicts in one process: probe, look through golden eyes, judge."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from jobs.drawing import Drawn
from jobs.golden_answers import GoldenAnswers
from jobs.judging import fed, golden_side, judge
from jobs.suite_golden import KIND, SuiteGolden
from monitor.ports import Client, Clock, Detector, JudgesAlone, Probe, Scorer, WantsAnswers
from monitor.results import GoldenView, RunRecord, Tolerances, Verdict
from monitor.suites.tally import Tally
from monitor.summary import Summary, summarise
from monitor.types import Capture, Endpoint, Exchange
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """Golden's own answers by the id of the endpoint's exchange, and all that golden drew for them.

    ``suite`` are its tallies of the cases of a private suite.
    """

    answers: Mapping[str, Exchange] = field(default_factory=dict)
    drawn: Drawn = field(default_factory=dict)
    suite: tuple[Tally, ...] = ()


async def ask_golden(
    probed: Probed, scorer: Scorer | None, detectors: Sequence[Detector], suites: SuiteGolden | None = None
) -> Beside:
    """Put the requests of `probed` to golden too, as the judge of the service does, as far as `detectors` compare.

    Cases of a private suite are put to it by `suites`; without, they have no golden side.
    """
    asker, drawn, found, graded = GoldenAnswers(), Drawn(), dict[str, Exchange](), tuple[Tally, ...]()
    for record in probed.records:
        found |= await asker.of(record, fed(detectors, [record]), scorer, drawn)
        graded += await suites.of(record, scorer) if suites else ()
    return Beside(answers=found, drawn=drawn, suite=graded)


def is_paired(probed: Probed, detectors: Iterable[Detector]) -> bool:
    """Whether a detector compares a run of `probed` with golden's own answers."""
    wanted = {KIND} | {kind for one in detectors if isinstance(one, WantsAnswers) for kind in one.paired}
    return any(record.run.probe in wanted for record in probed.records)


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
    tolerances: Tolerances | None = None, beside: Beside | None = None,
) -> Judged:  # fmt: skip
    """Score and judge what was probed, `beside` golden's own answers where it was asked (`ask_golden`).

    Detectors that cannot do without history are left out: here is none.
    """
    present = [one for one in detectors if not one.looks_back or isinstance(one, JudgesAlone)]
    found = beside or Beside()
    golden = golden_side(probed.records, scorer, present, tolerances=tolerances, drawn=found.drawn)
    golden = replace(golden, answers=found.answers, suite_golden=found.suite)
    verdicts = judge(probed.endpoint, probed.records, golden, present, at=clock.now())
    return Judged(probed=probed, views=golden.views, verdicts=verdicts)
