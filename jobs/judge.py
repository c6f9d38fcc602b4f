"""The judge: takes unjudged runs from the store, looks at them through golden eyes, posts scores and verdicts."""

import asyncio
import logging
from collections.abc import Callable, Mapping

from jobs.judging import judge, judged_run, view
from jobs.store_client import StoreClient
from monitor.alerting import step
from monitor.codec import encode
from monitor.config_types import Config, ReferenceConfig
from monitor.errors import GoldenError, StoreError
from monitor.ports import Clock, Scorer, Spool
from monitor.results import GoldenView, Incident, JudgedRun, RunRecord, Verdict
from monitor.types import Endpoint

log = logging.getLogger(__name__)

POLL_EVERY_S = 2.0
BATCH = 8
NEIGHBOURS = 12
AGAIN_AFTER_NS = 60 * 10**9


class Judge:
    """Judges the runs of one store, oldest first, each exactly once."""

    def __init__(
        self, config: Config, spool: Spool, store: StoreClient, clock: Clock,
        scorer_for: Callable[[ReferenceConfig], Scorer],
    ) -> None:  # fmt: skip
        self._config, self._spool, self._store, self._clock = config, spool, store, clock
        self._endpoints = {entry.endpoint.name: entry.endpoint for entry in config.endpoints}
        self._scorer_for = scorer_for
        self._scorers: dict[str, Scorer] = {}
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
                await _wait(stop, POLL_EVERY_S)

    async def look(self) -> int:
        """Judge the runs that wait now; return how many. Raises StoreError when the store does not answer."""
        await self._store.push(self._spool)
        records = await self._store.unjudged(BATCH)
        for record in records:
            await self._judge(record)
            await self._store.push(self._spool)
        return len(records)

    async def _judge(self, record: RunRecord) -> None:
        endpoint = self._endpoints.get(record.run.endpoint)
        if endpoint is None:
            log.warning("%s is not in the configuration: its run stays without verdict", record.run.endpoint)
            self._append(judged_run(record, {}, (), None, at=self._clock.now()), (), ())
            return
        scorer = await self._scorer(endpoint)
        views = await asyncio.to_thread(view, [record], scorer)
        neighbours, their_views = await self._neighbours(record)
        detectors = [one for one in self._config.detectors if one.probes is None or record.run.probe in one.probes]
        verdicts = await asyncio.to_thread(
            judge, endpoint, (record, *neighbours), {**their_views, **views}, scorer, detectors, at=self._clock.now()
        )  # fmt: skip
        incidents = await self._incidents(verdicts)
        self._append(judged_run(record, views, verdicts, scorer, at=self._clock.now()), verdicts, incidents)
        log.info("%s %s: %s", endpoint.name, record.run.probe, ", ".join(f"{v.detector} {v.status}" for v in verdicts))

    async def _neighbours(self, record: RunRecord) -> tuple[tuple[RunRecord, ...], Mapping[str, GoldenView]]:
        """The newest earlier run of every other probe on this endpoint, with its golden views."""
        records, judged = await self._store.runs(record.run.endpoint, None, NEIGHBOURS)
        newest: dict[str, RunRecord] = {}
        for other in records:
            if other.run.probe != record.run.probe and other.run.started_at <= record.run.started_at:
                newest.setdefault(other.run.probe, other)
        wanted = {other.run.run_id for other in newest.values()}
        views = {one.exchange_id: one for run in judged if run.run_id in wanted for one in run.views}
        return tuple(newest.values()), views

    async def _incidents(self, verdicts: tuple[Verdict, ...]) -> tuple[Incident, ...]:
        if not verdicts:
            return ()
        opened = {one.detector: one for one in await self._store.open_incidents(verdicts[0].endpoint)}
        steps = (step(opened.get(verdict.detector), verdict) for verdict in verdicts)
        return tuple(incident for incident in steps if incident is not None)

    def _append(self, judged: JudgedRun, verdicts: tuple[Verdict, ...], incidents: tuple[Incident, ...]) -> None:
        """One atomic batch: a run is either judged with all that follows from it, or not at all."""
        self._spool.append([
            *(("verdict", encode(verdict)) for verdict in verdicts),
            *(("incident", encode(incident)) for incident in incidents),
            ("judged", encode(judged)),
        ])  # fmt: skip

    async def _scorer(self, endpoint: Endpoint) -> Scorer | None:
        """The golden engine of the endpoint, loaded when first needed; None where there is none to be had now.

        A golden server may be down for a moment, so a failure is tried again, but not for every run.
        """
        name = endpoint.reference
        if name is None:
            return None
        if name not in self._scorers and self._clock.monotonic_ns() >= self._try_again_ns.get(name, 0):
            try:
                self._scorers[name] = await asyncio.to_thread(self._scorer_for, self._config.references[name])
            except GoldenError as error:
                log.error("reference %s: %s", name, error)  # noqa: TRY400  # the message says all
                self._try_again_ns[name] = self._clock.monotonic_ns() + AGAIN_AFTER_NS
        return self._scorers.get(name)


async def _wait(stop: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await stop.wait()
    except TimeoutError:
        return
