"""What the notifier reads from the store: what is in force, and the facts that rules look at."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from jobs.store_client import StoreClient
from monitor.agent_sign import AgentSign
from monitor.alerting.conditions import HOUR_S, BurnRate, Rule, Shift, Window
from monitor.alerting.facts import Facts, HourMedian, Sample, Tally, grouped, hourly
from monitor.alerting.nouns import PROVIDER, Ack, Outage, Silence, State, Track
from monitor.alerting.outbox import Delivery
from monitor.incident import Incident
from monitor.results import Verdict
from monitor.types import Endpoint, Exchange

OUTAGES = timedelta(days=8)
FIRST_LOOK = timedelta(days=1)
"""How far back verdicts are read by a process that has just begun. What was seen before changes nothing."""

OVERLAP = timedelta(minutes=15)
PAST_LASTS = timedelta(minutes=30)
FINE, FINE_S, COARSE, COARSE_S = timedelta(hours=6), 300, timedelta(days=3), 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class InForce:
    """The answer of ``/api/alert-state``."""

    tracks: tuple[Track, ...]
    incidents: tuple[Incident, ...]
    outages: tuple[Incident, ...]
    silences: tuple[Silence, ...]
    acks: tuple[Ack, ...]
    deliveries: tuple[Delivery, ...]
    heard: Mapping[str, datetime]
    signs: tuple[AgentSign, ...] = ()

    def state(self) -> State:
        """What the state machine remembers."""
        ended = (one for one in self.outages if one.closed_at is not None)
        return State(
            tracks={one.track_id: one for one in self.tracks},
            incidents={one.incident_id: one for one in self.incidents},
            outages=tuple(
                Outage(provider=one.endpoint.removeprefix(PROVIDER), since=one.opened_at, until=one.closed_at)
                for one in ended if one.closed_at is not None
            ),
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class _Samples:
    samples: tuple[Sample, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Past:
    medians: tuple[HourMedian, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tallies:
    tallies: tuple[Tally, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Verdicts:
    verdicts: tuple[Verdict, ...]
    maintained: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Exchanges:
    exchanges: tuple[Exchange, ...]


class AlertReads:
    """Reads for the rules of one configuration. The own past is kept for half an hour, since it hardly moves."""

    def __init__(
        self, store: StoreClient, rules: Sequence[Rule], endpoints: Mapping[str, Endpoint], *, patience_s: float
    ) -> None:
        self._store, self._endpoints, self._patience_s = store, endpoints, patience_s
        conditions = [one.condition for one in rules]
        windows = [one.over for one in conditions if isinstance(one, Window | Shift)]
        self._over = timedelta(seconds=max([HOUR_S, *windows])) * 1.25
        self._shifts = [one for one in conditions if isinstance(one, Shift) and one.against == "history"]
        self._burns = any(isinstance(one, BurnRate) for one in conditions)
        self._past: dict[tuple[str, str], list[HourMedian]] = {}
        self._past_at: datetime | None = None
        self._looked_at: datetime | None = None

    async def in_force(self, now: datetime) -> InForce:
        """All that is remembered."""
        return await self._store.read(
            InForce, "alert-state", now=now.isoformat(), since=(now - OUTAGES).isoformat()
        )

    async def facts(self, now: datetime, force: InForce, state: State) -> Facts:
        """All that rules look at."""
        since = now - FIRST_LOOK if self._looked_at is None else self._looked_at - OVERLAP
        told = await self._store.read(_Verdicts, "alert-verdicts", since=since.isoformat())
        samples = await self._store.read(_Samples, "alert-samples", since=(now - self._over).isoformat())
        return Facts(
            now=now, endpoints=self._endpoints, samples=grouped(samples.samples), verdicts=told.verdicts,
            maintained=told.maintained, past=await self._hours(now), tallies=await self._tallies(now),
            heard=force.heard, signs=force.signs, outages=state.outages, patience_s=self._patience_s,
            slow_since={one.endpoint: one.opened_at for one in state.incidents.values() if one.topic == "speed"},
        )  # fmt: skip

    def acted_on(self, facts: Facts) -> None:
        """Say that all that follows from `facts` is kept: from now on verdicts are read from about then."""
        self._looked_at = facts.now

    async def exchanges(self, endpoint: str, limit: int = 200) -> tuple[Exchange, ...]:
        """The newest exchanges of an endpoint."""
        return (await self._store.read(_Exchanges, "exchanges", endpoint=endpoint, limit=limit)).exchanges

    async def _hours(self, now: datetime) -> Mapping[tuple[str, str], Sequence[HourMedian]]:
        if self._shifts and (self._past_at is None or now - self._past_at >= PAST_LASTS):
            found: list[HourMedian] = []
            for metric, probe, history in {(one.metric, one.probe, one.history) for one in self._shifts}:
                since = now - timedelta(seconds=history)
                more = await self._store.read(
                    _Past, "alert-past", metric=metric, probe=probe, since=since.isoformat(), until=now.isoformat()
                )
                found += more.medians
            self._past, self._past_at = hourly(found), now
        return self._past

    async def _tallies(self, now: datetime) -> Sequence[Tally]:
        """Five minutes each for six hours, whole hours before."""
        if not self._burns:
            return ()
        edge = (now - FINE).replace(minute=0, second=0, microsecond=0)
        ends = now.replace(minute=now.minute - now.minute % 5, second=0, microsecond=0)
        return [
            *await self._counts(edge - COARSE + FINE, edge, COARSE_S), *await self._counts(edge, ends, FINE_S),
        ]  # fmt: skip

    async def _counts(self, since: datetime, until: datetime, width_s: int) -> Iterable[Tally]:
        found = await self._store.read(
            _Tallies, "alert-tallies", since=since.isoformat(), until=until.isoformat(), width_s=width_s
        )
        return found.tallies
