"""The judge: takes unjudged runs from the store, looks at them through golden eyes, posts scores and verdicts."""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from jobs.drawing import Drawn
from jobs.foreseeing import Foresight
from jobs.golden_answers import GoldenAnswers
from jobs.judging import GoldenSide, evidence_of, fed, golden_side, judge, judged_run
from jobs.patience import set_within
from jobs.store_client import StoreClient
from jobs.suite_golden import SuiteGolden
from jobs.tolerances import tolerances_for
from monitor.codec import encode
from monitor.config_types import Config, ReferenceConfig
from monitor.decision import CARD, JOINED, KIND, Before, decide, page_threshold
from monitor.errors import GoldenError, StoreError
from monitor.evidence import verdict
from monitor.ports import Clock, Scorer, Spool
from monitor.results import GoldenView, JudgedRun, RunRecord, Tolerances, Verdict
from monitor.shape import TRAFFIC
from monitor.types import Endpoint

log = logging.getLogger(__name__)

POLL_EVERY_S = 2.0
BATCH = 8
NEIGHBOURS = 12
FLEET = 1000
AGAIN_AFTER_NS = 60 * 10**9


class Judge:
    """Judges the runs of one store, oldest first, each exactly once."""

    def __init__(
        self, config: Config, spool: Spool, store: StoreClient, clock: Clock,
        scorer_for: Callable[[ReferenceConfig], Scorer],
    ) -> None:  # fmt: skip
        self._spool, self._store, self._clock = spool, store, clock
        self._scorer_for = scorer_for
        self._scorers: dict[str, Scorer] = {}
        self._tolerances: dict[str, Tolerances | None] = {}
        self._drawn: Drawn = {}
        self._answers = GoldenAnswers()
        self._configure(config)

    def _configure(self, config: Config) -> None:
        self._config = config
        self._endpoints = {entry.endpoint.name: entry.endpoint for entry in config.endpoints}
        self._foresight = Foresight(config)
        self._suites = SuiteGolden(config, self._clock)
        feeding = [one.probes for one in config.detectors if one.kind in JOINED and one.probes]
        self._threshold = page_threshold(config, frozenset().union(*feeding))
        self._try_again_ns: dict[str, int] = {}

    async def run(self, stop: asyncio.Event) -> None:
        """Judge until `stop` is set; between two looks at an idle store wait `POLL_EVERY_S`."""
        while not stop.is_set():
            try:
                n_judged = await self.look()
            except StoreError as error:
                log.warning("%s; trying again", error)
                n_judged = 0
            if not n_judged:
                await set_within(stop, POLL_EVERY_S)

    def take(self, config: Config) -> None:
        """Go on with another configuration; engines of references that it leaves as they were stay loaded.

        Not while it runs.
        """
        if config is self._config:
            return
        for name in [one for one in self._scorers if config.references.get(one) != self._config.references[one]]:
            self._scorers.pop(name).close()
            self._tolerances.pop(name, None)
        self._foresight.close()
        self._configure(config)

    def close(self) -> None:
        """Close the golden engines. Idempotent."""
        self._foresight.close()
        while self._scorers:
            self._scorers.popitem()[1].close()

    async def look(self) -> int:
        """Judge the runs that can be judged now; return how many. Raises StoreError when the store does not answer."""
        await self._store.push(self._spool)
        waiting = await self._store.unjudged(BATCH + self._foresight.n_waiting)
        records = [one for one in waiting if not self._foresight.is_waiting(one)]
        for record in records:
            await self._judge(record)
            await self._store.push(self._spool)
        return len(records)

    async def _judge(self, record: RunRecord) -> None:
        endpoint = self._endpoints.get(record.run.endpoint)
        if endpoint is None:
            log.warning("%s is not in the configuration: its run stays without verdict", record.run.endpoint)
            self._append(judged_run(record, GoldenSide(), (), at=self._clock.now()), ())
            return
        scorer = await self._scorer(endpoint)
        tolerances = self._tolerances.get(endpoint.reference or "")
        detectors = fed(self._config.detectors, [record])
        own = await asyncio.to_thread(
            golden_side, [record], scorer, detectors, tolerances=tolerances, drawn=self._drawn
        )  # fmt: skip
        predictions = await self._foresight.of(record, detectors, scorer, own.views)
        if predictions is None:
            return
        own = replace(
            own, predictions=predictions, suite_golden=await self._suites.of(record, scorer),
            answers=await self._answers.of(record, detectors, scorer, self._drawn),
        )  # fmt: skip
        neighbours, their_views = await self._neighbours(record)
        golden = replace(own, views={**their_views, **own.views})
        history = await self._history(record, max((one.looks_back for one in detectors), default=0))
        verdicts = await asyncio.to_thread(
            judge, endpoint, (record, *neighbours), golden, detectors, at=self._clock.now(), history=history
        )  # fmt: skip
        verdicts += await self._joint(endpoint, record, own, verdicts)
        self._append(judged_run(record, own, verdicts, at=self._clock.now()), verdicts)
        log.info("%s %s: %s", endpoint.name, record.run.probe, ", ".join(f"{v.detector} {v.status}" for v in verdicts))

    async def _joint(
        self, endpoint: Endpoint, record: RunRecord, own: GoldenSide, verdicts: tuple[Verdict, ...]
    ) -> tuple[Verdict, ...]:
        """The joint verdict on fidelity, where a detector that it joins has judged this run."""
        joined = [one for one in fed(self._config.detectors, [record]) if one.kind in JOINED]
        if not joined:
            return ()
        at = self._clock.now()
        alone = await asyncio.to_thread(judge, endpoint, [record], own, joined, at=at)
        past = _past(await self._store.verdicts(detector=KIND, limit=FLEET), endpoint.name)
        alpha = self._config.decision.alpha
        finding = decide(alone, verdicts, past, threshold=self._threshold, alpha=alpha)
        return (verdict(CARD, finding, evidence_of(endpoint, [record], own), at),)

    async def _neighbours(self, record: RunRecord) -> tuple[tuple[RunRecord, ...], Mapping[str, GoldenView]]:
        """The newest earlier run of every other probe on this endpoint, with its golden views."""
        records, judged = await self._store.runs(record.run.endpoint, None, NEIGHBOURS)
        newest: dict[str, RunRecord] = {}
        for other in records:
            if other.run.probe not in {record.run.probe, TRAFFIC} and other.run.started_at <= record.run.started_at:
                newest.setdefault(other.run.probe, other)
        wanted = {other.run.run_id for other in newest.values()}
        views = {one.exchange_id: one for run in judged if run.run_id in wanted for one in run.views}
        return tuple(newest.values()), views

    async def _history(self, record: RunRecord, n: int) -> tuple[RunRecord, ...]:
        """Up to `n` earlier runs of the same probe on this endpoint, oldest first."""
        if not n:
            return ()
        records, _ = await self._store.runs(record.run.endpoint, record.run.probe, n + 1)
        earlier = [other for other in records if other.run.started_at < record.run.started_at]
        return tuple(sorted(earlier, key=lambda other: other.run.started_at)[-n:])

    def _append(self, judged: JudgedRun, verdicts: tuple[Verdict, ...]) -> None:
        """One atomic batch: a run is either judged with all its verdicts, or not at all."""
        self._spool.append([*(("verdict", encode(verdict)) for verdict in verdicts), ("judged", encode(judged))])

    def _loaded(self, name: str) -> tuple[Scorer, Tolerances | None]:
        """Load a golden engine with its calibration; one that cannot be used is not kept in memory."""
        reference = self._config.references[name]
        scorer = self._scorer_for(reference)
        try:
            return scorer, tolerances_for(reference, scorer.fingerprint)
        except GoldenError:
            scorer.close()
            raise

    async def _scorer(self, endpoint: Endpoint) -> Scorer | None:
        """The golden engine of the endpoint, loaded when first needed; None where there is none to be had now.

        A golden server may be down for a moment, so a failure is tried again, but not for every run.
        """
        name = endpoint.reference
        if name is None:
            return None
        if name not in self._scorers and self._clock.monotonic_ns() >= self._try_again_ns.get(name, 0):
            try:
                self._scorers[name], self._tolerances[name] = await asyncio.to_thread(self._loaded, name)
            except GoldenError as error:
                log.error("reference %s: %s", name, error)  # noqa: TRY400  # the message says all
                self._try_again_ns[name] = self._clock.monotonic_ns() + AGAIN_AFTER_NS
        return self._scorers.get(name)


def _past(verdicts: Sequence[Verdict], endpoint: str) -> Before:
    """What earlier joint verdicts, newest first, say of the fleet and of `endpoint`."""
    newest: dict[str, Verdict] = {}
    for one in verdicts:
        newest.setdefault(one.endpoint, one)
    fleet = {name: one.details["log_e"] for name, one in newest.items() if one.details.get("log_e") is not None}
    own = newest.get(endpoint)
    fleet.pop(endpoint, None)
    return Before(state=own.details.get("state") if own else None, others=fleet)
