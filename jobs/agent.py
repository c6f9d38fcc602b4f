"""The agent: starts what the schedule says is due, probes, and writes a row for every slot.

Imports neither torch, duckdb, pandas nor scipy: it measures, and what else runs in its process would be measured too.
docs/schedule.md says what becomes of a slot, and why.
"""

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from jobs.agent_notes import AgentNotes
from jobs.agent_sign import Signing
from jobs.alarm import Alarm
from jobs.backlog import Backlog
from jobs.pushing import Pushing
from jobs.self_check import Look, busy_for, reachable
from jobs.store_client import StoreClient
from jobs.turns import Turns
from jobs.version import version
from monitor.backoff import reason as why_wait
from monitor.budget import Amount, priced
from monitor.codec import encode
from monitor.config_types import Config, EndpointConfig
from monitor.connectivity import OFFLINE, connected, suspicious
from monitor.errors import StoreError, UsageError
from monitor.kept import kept_captures
from monitor.lanes import lane_of
from monitor.maintenance import maintained
from monitor.ports import Client, Clock
from monitor.results import RunRecord
from monitor.schedule import Due, Pair, Timetable
from monitor.slot import Slot, SlotState
from monitor.types import Capture
from probes.run import run_probe

log = logging.getLogger(__name__)

SEED_MASK = 2**31 - 1
DISABLED = "endpoint disabled"
LOOK_AGAIN = timedelta(seconds=60)
"""The schedule is looked at this often even if nothing is due."""
HISTORY_WAIT_S = 5.0
"""For which the store may be asked what was begun elsewhere, before probes begin."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a slot came to: a run, or the reason why there is none.

    ``cost_known`` is False when the endpoint may have been asked and nobody knows how often.
    """

    state: SlotState = "skipped"
    reason: str | None = None
    record: RunRecord | None = None
    captures: Sequence[Capture] = ()
    cost_known: bool = True


STOPPED = Outcome(reason="agent stopped: it was told to stop while the probe ran or waited", cost_known=False)
CRASHED = Outcome(reason="probe crashed: our bug, see the log of the agent", cost_known=False)


class Agent:
    """Runs the plans of a configuration.

    Parameters
    ----------
    config, backlog, store, clock
        What to run, where rows go, who takes them over, and what time it is. What the backlog could hand to nobody in
        the end is for its owner to name.
    client_for
        Makes the client of an endpoint.
    lag
        Watches the event loop for a moment (`jobs.self_check`); None: nobody watches.
    speed
        Seconds of `clock` in a real second: above 1 in a simulation.
    """

    def __init__(
        self, config: Config, backlog: Backlog, store: StoreClient, clock: Clock,
        client_for: Callable[[EndpointConfig], Client], *, lag: Look | None = None, speed: float = 1.0,
    ) -> None:  # fmt: skip
        self._config, self._backlog, self._store, self._clock, self._lag = config, backlog, store, clock, lag
        self._endpoints = {entry.endpoint.name: entry for entry in config.endpoints}
        self._clients: dict[str, Client] = {}
        for name, entry in self._endpoints.items():
            if not entry.disabled:
                try:
                    self._clients[name] = client_for(entry)
                except UsageError as error:  # one that cannot be asked keeps no other from being probed
                    self._endpoints[name] = replace(entry, disabled=str(error))
        self._planned = {
            (name, str(plan.probe.kind)): planned_cost(plan.probe, self._endpoints[name])
            for plan in config.plans for name in plan.endpoints if self._endpoints[name].budget
        }  # fmt: skip
        self._turns = Turns(clock)
        self._alarm = Alarm(clock, self.look, speed=speed)
        self._pushing = Pushing(backlog, store, Signing(config.vantage, clock).sign)
        self._notes = AgentNotes(backlog.notes())
        self._running: dict[Pair, tuple[Due, asyncio.Task[None]]] = {}
        self._held: dict[Pair, list[Slot]] = {}
        self._timetable = Timetable((), {})
        self._connected_s: float | None = None
        self._stopped = False

    async def run(self, stop: asyncio.Event, *, patience_s: Callable[[], float] = lambda: 0.0) -> None:
        """Work until `stop` is set; then end running probes, hand over what there is, and close the clients.

        Asked once at the end, `patience_s` says how long running probes may take to end by themselves.
        """
        self._backlog.append([("endpoint", encode(entry.endpoint)) for entry in self._config.endpoints])
        for name, entry in self._endpoints.items():
            if entry.disabled:
                log.warning("%s is disabled: %s", name, entry.disabled)
        self._timetable = Timetable(self._config.plans, await self._history())
        try:
            async with self._alarm.running(), self._pushing.running():
                await self.look()
                await stop.wait()
        finally:
            self._stopped = True
            await self._end_probes(patience_s())
            await self._pushing.finish()
            for client in self._clients.values():
                await client.aclose()

    async def _history(self) -> Mapping[Pair, datetime]:
        """Newest slot of every plan, by this spool and by the store; one that is down or hangs is not waited for."""
        mine = self._notes.last
        try:
            async with asyncio.timeout(HISTORY_WAIT_S):
                known = await self._store.last_slots(self._config.vantage)
        except (StoreError, TimeoutError) as error:
            why = str(error) or f"no answer in {HISTORY_WAIT_S:g} s"
            log.warning("the store's history of slots is unknown: %s", why)
            return mine
        return {**known, **{pair: max(at, known.get(pair, at)) for pair, at in mine.items()}}

    async def look(self) -> None:
        """Start what is due, write rows for what was missed, and set the alarm for the next time."""
        if self._stopped:  # the alarm may have been ringing when the agent was told to stop
            return
        now = self._clock.now()
        agenda = self._timetable.look(now)
        for pair, at in agenda.begun.items():
            self._notes.begun(pair, at)
        self._write(agenda.missed)
        for one in agenda.due:
            self._start(one, now)
        coming = self._timetable.next_at
        self._alarm.set(None if coming is None else min(coming, now + LOOK_AGAIN))

    def _start(self, one: Due, now: datetime) -> None:
        if one.pair in self._running:
            why = "overlapped: the previous run of this probe had not ended"
            self._write([self._row(one, Outcome(state="overlapped", reason=why))])
            return
        why_not = self._why_not(one, now)
        if why_not is not None:
            log.info("%s %s: skipped, %s", *one.pair, why_not)
            self._write([self._row(one, Outcome(reason=why_not))])
            return
        if one.pair in self._planned:
            self._notes.reserve(one.endpoint, self._planned[one.pair], now)
            self._write([])
        self._running[one.pair] = one, asyncio.create_task(self._slot(one))

    def _why_not(self, one: Due, now: datetime) -> str | None:
        """Return why the endpoint is not asked at all now."""
        disabled = self._endpoints[one.endpoint].disabled
        if disabled:
            return f"{DISABLED}: {disabled}"
        if self._backlog.full:
            return "spool full: probing pauses until there is room"
        wait = self._notes.wait(one.endpoint, now)
        if wait is not None:
            return why_wait(wait)
        if one.pair in self._planned:
            return self._notes.over(
                one.endpoint, self._endpoints[one.endpoint].budget, self._planned[one.pair], now
            )  # fmt: skip
        return None

    async def _slot(self, one: Due) -> None:
        provider, lane = self._endpoints[one.endpoint].endpoint.provider, one.plan.lane or lane_of(one.plan.probe)
        try:
            async with self._turns.turn(provider, lane):
                # Within the turn, so that encoding a large result holds up nobody's latency.
                self._end(one, await self._outcome(one, calm=lane == "latency"))
        except asyncio.CancelledError:
            self._end(one, STOPPED)
            raise
        except UsageError as error:  # a file that the probe reads is another one now
            log.error("%s %s: not run: %s", *one.pair, error)  # noqa: TRY400  # no traceback: it is the user's to mend
            self._end(one, Outcome(reason=f"not run: {error}"))
        except Exception:
            log.exception("%s %s: our bug", *one.pair)
            self._end(one, CRASHED)

    async def _outcome(self, one: Due, *, calm: bool) -> Outcome:
        wait = self._notes.wait(one.endpoint, self._clock.now())
        if wait is not None:  # another probe was refused while this one waited for its turn
            return Outcome(reason=why_wait(wait))
        if calm and self._lag is not None:
            limit_ms = self._config.agent.busy_lag_ms
            lag_ms = await busy_for(self._lag, limit_ms)
            if lag_ms is not None:
                why = f"agent busy: its own event loop was held up for {lag_ms:.0f} ms, above {limit_ms:.0f} ms"
                return Outcome(reason=why)
        return await self._asked(one)

    async def _asked(self, one: Due) -> Outcome:
        entry = self._endpoints[one.endpoint]
        started_s = self._clock.monotonic_ns() / 1e9
        record, captures = await run_probe(
            one.plan.probe, entry.endpoint, self._clients[one.endpoint], clock=self._clock,
            seed=_seed(one.slot_at), vantage=self._config.vantage, prober_version=version(),
            concurrency=self._config.agent.concurrency, slot_at=one.slot_at,
        )  # fmt: skip
        if connected(record.exchanges):
            self._connected_s = self._clock.monotonic_ns() / 1e9
        targets = self._config.agent.self_check
        if targets and suspicious(record.exchanges, started_s, self._connected_s) and not await reachable(targets):
            return Outcome(reason=OFFLINE)
        wait = self._notes.ran(one.endpoint, record.exchanges, record.run.finished_at)
        if wait is not None:
            log.warning("%s: %s", one.endpoint, why_wait(wait))
        work = maintained(self._config.maintenance, one.endpoint, record.run.started_at, record.run.finished_at)
        clock_offset_s = self._store.offset[0] if self._store.offset else None
        record = replace(record, run=replace(record.run, maintenance=work, clock_offset_s=clock_offset_s))
        log.info("%s %s: %d of %d answered", *one.pair, record.run.n_answered, record.run.n_exchanges)
        return Outcome(state="done", record=record, captures=captures)

    def _end(self, one: Due, outcome: Outcome) -> None:
        """Write what the slot came to, and the rows of later slots that waited for it, in one batch."""
        if one.pair not in self._running:
            return
        record = outcome.record
        if one.pair in self._planned and outcome.cost_known:
            asked = record.exchanges if record is not None else ()
            endpoint = self._endpoints[one.endpoint].endpoint
            self._notes.settle(endpoint, self._planned[one.pair], asked, self._clock.now())
        if outcome.state != "done":
            log.warning("%s %s: %s, %s", *one.pair, outcome.state, outcome.reason)
        batch = [] if record is None else [("run", encode(record)), *self._kept(record, outcome.captures)]
        del self._running[one.pair]
        self._write([self._row(one, outcome), *self._held.pop(one.pair, [])], batch)

    def _kept(self, record: RunRecord, captures: Sequence[Capture]) -> Iterator[tuple[str, bytes]]:
        ages = self._config.store.retention
        return kept_captures(record, captures, answered=ages.captures > 0, failed=ages.failures > 0)

    def _row(self, one: Due, outcome: Outcome) -> Slot:
        return Slot(
            endpoint=one.endpoint, probe=one.probe, slot_at=one.slot_at, state=outcome.state, reason=outcome.reason,
            run_id=outcome.record.run.run_id if outcome.record is not None else None,
        )  # fmt: skip

    def _write(self, slots: Sequence[Slot], batch: Sequence[tuple[str, bytes]] = ()) -> None:
        """Write rows of slots, with the notes that changed; rows of a probe that runs wait until it ends.

        So rows of a pair are written in the order of its slots, and after a kill the newest tells where to go on.
        """
        now: list[Slot] = []
        for slot in slots:
            pair = slot.endpoint, slot.probe
            (self._held.setdefault(pair, []) if pair in self._running else now).append(slot)
        self._notes.accounted(now)
        rows = [("slot", encode(replace(slot, vantage=self._config.vantage))) for slot in now]
        notes = self._notes.changes()
        if batch or rows or notes:
            self._backlog.append([*batch, *rows], notes)

    async def _end_probes(self, patience_s: float) -> None:
        if patience_s and self._running:
            await asyncio.wait([task for _, task in self._running.values()], timeout=patience_s)
        running = list(self._running.values())
        for _, task in running:
            task.cancel()
        if running:
            await asyncio.wait([task for _, task in running])
        for one, _ in running:
            self._end(one, STOPPED)  # those whose task had not begun


def planned_cost(probe: Any, entry: EndpointConfig) -> Amount:
    """Return the most that one run of `probe` can cost."""
    cost = probe.cost()
    return priced(entry.endpoint, cost.tokens_in, cost.tokens_out)


def _seed(slot_at: datetime) -> int:
    """A seed that follows from the slot: repeatable, and new in every run."""
    return int(slot_at.timestamp()) & SEED_MASK
