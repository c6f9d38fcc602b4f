"""``weighmaster audit``: asks in small rounds, cheapest first, and stops as soon as the evidence suffices.

A round is one run of a probe. Weights are asked first (greedy answers of a few tokens, with logprobs where there are
any), because they need the fewest tokens; then the sampler (answers at temperature 1).
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from jobs.audit_report import Budget, Round, finding, spent_on
from jobs.judging import GoldenSide, evidence_of, golden_side, judge
from monitor.audit import AREAS, REQUIRED, Area, Level, Sight, level_of, standing
from monitor.config_types import ReferenceConfig
from monitor.evidence import Card, verdict
from monitor.ports import Client, Clock, Detector, Probe, Scorer
from monitor.results import RunRecord, Tolerances, Verdict
from monitor.types import Capture, Endpoint
from probes.run import run_probe

KIND = "audit"
VERSION = 1
CARD = Card(detector=KIND, version=VERSION, statistic="joint_log_e", unit="nats")
_ASKED_FOR: dict[Area, str] = {"weights": "greedy", "sampler": "sample"}
NAMING_ANSWERS, UNSURE_ANSWERS = 32, 96
"""Greedy answers before a fault that shows in the weights gets its name, and as long as that is unsure.

To know that there is a fault takes a quarter of the first.
"""
_AHEAD = {"greedy": 1, "sample": 0}


Keep = Callable[[RunRecord, tuple[Capture, ...]], None]
"""Takes the record and the captures of a round as soon as it is over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Audited:
    """The end of an audit: its verdict, the way to it, and the evidence."""

    endpoint: Endpoint
    verdict: Verdict
    rounds: tuple[Round, ...]
    records: tuple[RunRecord, ...]
    captures: tuple[tuple[Capture, ...], ...]
    golden: GoldenSide


@dataclass(kw_only=True)
class Audit:
    """One audit of one endpoint.

    ``ask`` makes the probe of the n-th round of a kind, with logprobs or (True) by text, None when all its prompts were
    asked; ``look`` is what the golden side says of the records of a round; ``areas`` are those that it can see at all;
    ``told`` hears of every round.
    """

    endpoint: Endpoint
    look: Callable[[Sequence[RunRecord]], GoldenSide]
    detectors: Sequence[Detector]
    ask: Mapping[str, Callable[[int, bool], Probe | None]]
    alpha: float
    budget: Budget
    clock: Clock
    vantage: str
    version: str
    areas: tuple[Area, ...] = REQUIRED
    concurrency: int = 4
    told: Callable[[Round], None] = lambda _round: None
    _records: list[RunRecord] = field(default_factory=list)
    _captures: list[tuple[Capture, ...]] = field(default_factory=list)
    _rounds: list[Round] = field(default_factory=list)
    _golden: GoldenSide = field(default_factory=GoldenSide)

    async def run(self, client: Client, *, seed: int, keep: Keep) -> Audited:
        """Ask until it is decided, the budget is used up, or the endpoint does not answer. `keep` gets every round."""
        while self._goes_on() and (probe := self._probe()) is not None:
            record, captures = await run_probe(
                probe, self.endpoint, client, clock=self.clock, seed=seed, vantage=self.vantage,
                prober_version=self.version, concurrency=self.concurrency,
            )  # fmt: skip
            keep(record, captures)
            self._records.append(record)
            self._captures.append(captures)
            await asyncio.to_thread(self._look, self.clock.now())
            self.told(self._rounds[-1])
        return self._end(self.clock.now())

    def again(self, records: Sequence[RunRecord], captures: Sequence[tuple[Capture, ...]], *, at: datetime) -> Audited:
        """Go the way of an earlier audit again, from its records, without asking anybody."""
        for record, seen in zip(records, captures, strict=True):
            self._records.append(record)
            self._captures.append(seen)
            self._look(at)
        return self._end(at)

    def _goes_on(self) -> bool:
        if not self._rounds:
            return True
        last = self._rounds[-1]
        over = self.budget.is_used_up(last.spent)
        if over or (self._silent and not _refuses_logprobs(self._records[-1])):
            return False
        return self._needs_a_name() if self._failed else bool(last.standing.open)

    @property
    def _silent(self) -> bool:
        return not any(exchange.answered for exchange in self._records[-1].exchanges)

    @property
    def _failed(self) -> bool:
        return any(one.standing.status == "fail" for one in self._rounds)

    def _needs_a_name(self) -> bool:
        """Whether the fault is certain and its cause not yet: KV cache, routing and weights differ by little."""
        last = self._rounds[-1]
        cause = last.standing.cause
        if cause is None or AREAS.get(cause.detector) != "weights":
            return False
        unsure = any(one.details.get("cause_unsure") for one in last.verdicts)
        greedy = [one for record in self._records if record.run.probe == "greedy" for one in record.exchanges]
        return sum(one.answered for one in greedy) < (UNSURE_ANSWERS if unsure else NAMING_ANSWERS)

    def _probe(self) -> Probe | None:
        """The probe of the next round: of prompts that this audit has not asked, or an answer would count twice."""
        by_text = any(map(_refuses_logprobs, self._records)) or self._level == "text"
        asked = [record.run.probe for record in self._records]
        probes = (self.ask[kind](asked.count(kind), by_text) for kind in self._wanted(asked))
        return next((probe for probe in probes if probe is not None), None)

    @property
    def _level(self) -> Level | None:
        return level_of(evidence_of(self.endpoint, self._records, self._golden))

    def _wanted(self, asked: Sequence[str]) -> list[str]:
        """What the undecided areas need, most urgent first; while both are open, weights twice and then in turns."""
        undecided = self._rounds[-1].standing.open if self._rounds and not self._failed else ("weights",)
        wanted = [_ASKED_FOR[area] for area in undecided] or list(_ASKED_FOR.values())
        return sorted(wanted, key=lambda kind: max(0, asked.count(kind) - _AHEAD[kind]) - (kind == "greedy") / 2)

    def _look(self, at: datetime) -> None:
        """Judge all that is there by now."""
        new = self.look(self._records[-1:])
        self._golden = replace(new, views={**self._golden.views, **new.views})
        verdicts = judge(self.endpoint, self._records, self._golden, self.detectors, at=at)
        self._rounds.append(Round(
            spent=spent_on(self.endpoint, self._records, self._golden.views), verdicts=verdicts,
            standing=standing(verdicts, alpha=self.alpha, areas=self.areas),
        ))  # fmt: skip

    def _end(self, at: datetime) -> Audited:
        evidence = evidence_of(self.endpoint, self._records, self._golden)
        conclusion = finding(
            self._rounds, Sight(level=self._level, areas=self.areas), self.alpha, self.budget,
            named=not (self._failed and self._needs_a_name()), silent=self._silent,
        )  # fmt: skip
        return Audited(
            endpoint=self.endpoint, verdict=verdict(CARD, conclusion, evidence, at), rounds=tuple(self._rounds),
            records=tuple(self._records), captures=tuple(self._captures), golden=self._golden,
        )  # fmt: skip


def looking(scorer: Scorer, tolerances: Tolerances | None) -> Callable[[Sequence[RunRecord]], GoldenSide]:
    """What `Audit.look` is with a golden engine."""
    return lambda records: golden_side(records, scorer, (), tolerances=tolerances)


def visible(reference: ReferenceConfig) -> tuple[Area, ...]:
    """What an audit against `reference` can see: to judge a sampler takes whole distributions, so weights at hand."""
    return REQUIRED if reference.engine == "torch" else ("weights",)


def listens_to(detector: Detector) -> bool:
    """Whether an audit uses `detector`."""
    return detector.kind in AREAS and not detector.looks_back


def _refuses_logprobs(record: RunRecord) -> bool:
    """Whether the endpoint refused requests because they ask for logprobs (or may have)."""
    return any(one.outcome == "unsupported_param" and one.request and one.request.top_logprobs is not None
               for one in record.exchanges)  # fmt: skip
