"""The agent: fires what the schedule says is due, probes, spools every result, pushes batches to the store.

Imports neither torch, duckdb, pandas nor scipy: it measures, and what else runs in its process would be measured too.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta

from apscheduler.schedulers.asyncio import AsyncIOScheduler

from jobs.backlog import Backlog
from jobs.store_client import StoreClient
from jobs.version import version
from monitor.codec import encode
from monitor.config_types import Config, EndpointConfig
from monitor.errors import StoreError
from monitor.ports import Client, Clock
from monitor.results import Slot, SlotState
from monitor.schedule import Due, due, wake_at
from probes.run import run_probe

log = logging.getLogger(__name__)

PUSH_EVERY_S = 1.0
SEED_MASK = 2**31 - 1


class Agent:
    """Runs the plans of a configuration. Probes of one provider run one at a time, providers side by side."""

    def __init__(
        self, config: Config, backlog: Backlog, store: StoreClient, clock: Clock,
        client_for: Callable[[EndpointConfig], Client],
    ) -> None:  # fmt: skip
        self._config, self._backlog, self._store, self._clock = config, backlog, store, clock
        self._endpoints = {entry.endpoint.name: entry for entry in config.endpoints}
        self._clients = {name: client_for(entry) for name, entry in self._endpoints.items()}
        self._lanes = {entry.endpoint.provider: asyncio.Lock() for entry in config.endpoints}
        self._running: dict[tuple[str, str], asyncio.Task[None]] = {}
        self._last: Mapping[tuple[str, str], datetime] = {}
        self._scheduler = AsyncIOScheduler(timezone=UTC)
        self._store_answers = True

    async def run(self, stop: asyncio.Event) -> None:
        """Work until `stop` is set; then end running probes, hand over what there is, and close the clients."""
        self._backlog.append([("endpoint", encode(entry.endpoint)) for entry in self._config.endpoints])
        self._last = await self._history()
        self._scheduler.start()
        pushing = asyncio.create_task(self._push_forever())
        try:
            await self._tick()
            await stop.wait()
        finally:
            self._scheduler.shutdown(wait=False)
            pushing.cancel()
            await self._end_probes()
            await self._push()
            if self._backlog.full:
                # The push may have made room.
                self._backlog.retry()
                await self._push()
            self._backlog.say_what_is_lost()
            for client in self._clients.values():
                await client.aclose()

    async def _tick(self) -> None:
        """Start what is due and ask APScheduler for the next wake-up. APScheduler decides nothing.

        A coroutine, because APScheduler runs plain functions in a thread.
        """
        now = self._clock.now()
        agenda = due(self._config.plans, now, self._last)
        self._last = agenda.accounted(self._last)
        if agenda.missed:
            self._backlog.append([("slot", encode(slot)) for slot in agenda.missed])
        for one in agenda.due:
            self._start(one)
        at = wake_at(self._config.plans, now)
        if at is not None:
            # A millisecond later, so that rounding never wakes us just before the slot.
            when = at + timedelta(milliseconds=1)
            self._scheduler.add_job(self._tick, "date", run_date=when, misfire_grace_time=None)

    def _start(self, one: Due) -> None:
        key = (one.endpoint, one.probe)
        if key in self._running:
            self._note(one, "overlapped", "the previous run of this probe had not ended")
        elif self._backlog.full:
            self._note(one, "skipped", "the spool is full")
        else:
            task = asyncio.create_task(self._probe(one))
            self._running[key] = task
            task.add_done_callback(lambda done: self._ended(key, done))

    def _ended(self, key: tuple[str, str], task: "asyncio.Task[None]") -> None:
        del self._running[key]
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("%s %s: our bug", *key, exc_info=error)

    async def _probe(self, one: Due) -> None:
        entry = self._endpoints[one.endpoint]
        try:
            async with self._lanes[entry.endpoint.provider]:
                record, _captures = await run_probe(
                    one.plan.probe, entry.endpoint, self._clients[one.endpoint], clock=self._clock,
                    seed=_seed(one.slot_at), vantage=self._config.vantage, prober_version=version(),
                    concurrency=self._config.agent.concurrency, slot_at=one.slot_at,
                )  # fmt: skip
        except asyncio.CancelledError:
            self._note(one, "skipped", "the agent was stopped")
            raise
        except Exception:
            self._note(one, "skipped", "the probe crashed: see the agent's log")
            raise
        slot = _slot(one, "done", None, record.run.run_id)
        self._backlog.append([("run", encode(record)), ("slot", encode(slot))])
        log.info("%s %s: %d of %d answered", one.endpoint, one.probe, record.run.n_answered, record.run.n_exchanges)

    def _note(self, one: Due, state: SlotState, reason: str) -> None:
        self._backlog.append([("slot", encode(_slot(one, state, reason, None)))])
        level = logging.INFO if state == "overlapped" else logging.WARNING
        log.log(level, "%s %s: %s, %s", one.endpoint, one.probe, state, reason)

    async def _history(self) -> Mapping[tuple[str, str], datetime]:
        """Newest slot of every plan that the store knows; without an answer each plan starts with its newest slot."""
        try:
            await self._store.push(self._backlog.spool)
            return await self._store.last_slots()
        except StoreError as error:
            log.warning("history of slots unknown: %s", error)
            return {}

    async def _push_forever(self) -> None:
        while True:
            await asyncio.sleep(PUSH_EVERY_S)
            await self._push()

    async def _push(self) -> None:
        """Hand over to the store; say once when it stops answering, and once when it is back."""
        try:
            self._backlog.retry()
            await self._store.push(self._backlog.spool)
        except StoreError as error:
            if self._store_answers:
                log.warning("%s; results stay in the spool", error)
            self._store_answers = False
        else:
            if not self._store_answers:
                log.info("the store is back")
            self._store_answers = True

    async def _end_probes(self) -> None:
        tasks = list(self._running.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)


def _slot(one: Due, state: SlotState, reason: str | None, run_id: str | None) -> Slot:
    return Slot(
        endpoint=one.endpoint, probe=one.probe, slot_at=one.slot_at, state=state, reason=reason, run_id=run_id
    )  # fmt: skip


def _seed(slot_at: datetime) -> int:
    """A seed that follows from the slot: repeatable, and new in every run."""
    return int(slot_at.timestamp()) & SEED_MASK
