"""The notifier: looks at the store, has the state machine step, keeps what follows, and drains the outbox.

Nothing is remembered between two looks but in the store. All that follows from a look (what rules remember, incidents,
messages) is one atomic batch of the spool: after a kill it is either done or was never decided. A message is sent after
that, and marked as sent after that: so it arrives at least once, and again with the same key if the kill came between.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from jobs.alert_reads import AlertReads, InForce
from jobs.notify_routes import Sender, SendError, ping
from jobs.outbox_drain import Drain
from jobs.patience import set_within
from jobs.store_client import StoreClient
from monitor.alerting.changes import changes
from monitor.alerting.evaluate import signals
from monitor.alerting.facts import Facts, Mistake
from monitor.alerting.machine import Stepped, step
from monitor.alerting.nouns import AGENT, CONFIGURATION, PROVIDER, VANTAGE, Counting, Event, Message, Policy, State
from monitor.alerting.outage import in_doubt
from monitor.alerting.outbox import Delivery, deliveries
from monitor.codec import encode
from monitor.config_types import Config
from monitor.errors import StoreError
from monitor.ports import Clock, Spool

log = logging.getLogger(__name__)

DRAIN_EVERY_S = 2.0
LEAST_PATIENCE_S = 600.0
MISSED_RUNS = 3
GONE_AFTER = timedelta(days=7)
"""An agent that was silent for so long counts as taken away."""


class Notifier:
    """Runs the rules of a configuration against one store and tells its routes."""

    def __init__(
        self, config: Config, spool: Spool, store: StoreClient, clock: Clock, senders: Mapping[str, Sender], *,
        file: Callable[[], Mistake | None] = lambda: None,
    ) -> None:  # fmt: skip
        self._file = file
        self._alerts, self._spool, self._store, self._clock = config.alerts, spool, store, clock
        self._endpoints = {entry.endpoint.name: entry.endpoint for entry in config.endpoints}
        self._reads = AlertReads(store, config.alerts.rules, self._endpoints, patience_s=patience_s(config))
        self._drain = Drain(senders, clock, self._keep)
        self._pinged_at: datetime | None = None
        self._patience_s = patience_s(config)
        self._looked_at: datetime | None = None
        self._listening_since: datetime | None = None

    async def run(self, stop: asyncio.Event) -> None:
        """Look and deliver until `stop` is set; then let deliveries under way end."""
        looked_at: datetime | None = None
        while not stop.is_set():
            now = self._clock.now()
            if looked_at is None or (now - looked_at).total_seconds() >= self._alerts.every_s:
                looked_at = now
                try:
                    await self.look()
                    await self._ping(now)
                except StoreError as error:
                    log.warning("alerts: %s; looking again", error)
                except Exception:  # judging goes on, and the heartbeat stays away
                    log.exception("alerts: our bug")
            self._drain.start_due()
            await set_within(stop, DRAIN_EVERY_S)
        await self._drain.end()

    async def look(self) -> Stepped:
        """One look at the store. Raises StoreError when it does not answer; nothing is decided then."""
        await self._store.push(self._spool)
        now = self._clock.now()
        force = await self._reads.in_force(now)
        state = force.state()
        facts = replace(
            await self._reads.facts(now, force, state), configuration=self._file(), listening_since=self._listened(now)
        )
        stepped = await asyncio.to_thread(self._step, state, facts, force)
        fresh = await self._deliveries(stepped.messages)
        self._keep([*_changed(force, stepped), *(("delivery", encode(one)) for one in fresh)])
        self._reads.acted_on(facts)
        await self._store.push(self._spool)
        self._drain.waiting({one.delivery_id: one for one in (*force.deliveries, *fresh)})
        for message in stepped.messages:
            told = ", ".join(f"{event.kind} {event.incident.endpoint}" for event in message.events)
            log.info("alerts: %s", told)
        return stepped

    def _listened(self, now: datetime) -> datetime:
        """Since when the store has answered without a gap in which agents could not have been heard."""
        gap_s = None if self._looked_at is None else (now - self._looked_at).total_seconds()
        if self._listening_since is None or gap_s is None or not 0 <= gap_s <= self._patience_s / 2:
            self._listening_since = now
        self._looked_at = now
        return self._listening_since

    async def deliver(self) -> None:
        """Try all that is due once, and wait for it."""
        self._drain.start_due()
        await self._drain.end()

    def _step(self, state: State, facts: Facts, force: InForce) -> Stepped:
        alerts, now = self._alerts, facts.now
        providers = {PROVIDER + one.provider for one in self._endpoints.values()}
        agents = {AGENT + name for name, at in force.heard.items() if now - at < GONE_AFTER}
        places = {VANTAGE + one.vantage for one in facts.signs if now - one.at < GONE_AFTER}
        policy = Policy(
            counting={
                one.name: Counting(fire=one.fire, resolve=one.resolve, severity=one.severity) for one in alerts.rules
            },
            subjects=frozenset({*self._endpoints, *providers, *agents, *places, CONFIGURATION}),
            silences=(*alerts.silences, *force.silences), acks={one.incident_id: one for one in force.acks},
            group_wait=timedelta(seconds=alerts.group_wait_s),
            remind=None if alerts.remind_s is None else timedelta(seconds=alerts.remind_s),
            in_doubt=in_doubt(alerts.rules, facts),
        )  # fmt: skip
        return step(state, signals(alerts.rules, facts), now, policy)

    async def _deliveries(self, messages: Iterable[Message]) -> list[Delivery]:
        found: list[Delivery] = []
        for message in messages:
            events = tuple([await self._explained(event) for event in message.events])
            found += deliveries(replace(message, events=events), self._alerts.routes)
        return found

    async def _explained(self, event: Event) -> Event:
        """The event with what changed before it, where an endpoint is at fault."""
        if event.kind == "resolved" or event.incident.endpoint not in self._endpoints:
            return event
        seen = await self._reads.exchanges(event.incident.endpoint)
        return replace(event, changes=changes(seen, event.incident.opened_at))

    def _keep(self, batch: list[tuple[str, bytes]]) -> None:
        if batch:
            self._spool.append(batch)

    async def _ping(self, now: datetime) -> None:
        beat = self._alerts.heartbeat
        if beat is None or (self._pinged_at is not None and (now - self._pinged_at).total_seconds() < beat.every):
            return
        try:
            await ping(beat)
        except SendError as error:
            log.warning("alerts: the heartbeat %s; pinging again after the next look", error)
        else:
            self._pinged_at = now


def _changed(force: InForce, stepped: Stepped) -> list[tuple[str, bytes]]:
    """Entries for all that is no longer as it was read."""
    before = force.state()
    tracks = [one for name, one in stepped.state.tracks.items() if before.tracks.get(name) != one]
    incidents = [one for name, one in stepped.state.incidents.items() if before.incidents.get(name) != one]
    return [
        *(("alert_track", encode(one)) for one in tracks),
        *(("incident", encode(one)) for one in (*incidents, *stepped.closed)),
    ]


def patience_s(config: Config) -> float:
    """How long an agent may be silent: three times the shortest interval, at least ten minutes."""
    shortest = min((plan.every_s for plan in config.plans), default=LEAST_PATIENCE_S)
    return max(MISSED_RUNS * shortest, LEAST_PATIENCE_S)
