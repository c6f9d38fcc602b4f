"""A simulated service: endpoints with a noise like that of real ones, and faults that begin and end."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import numpy as np

from monitor.alerting.conditions import Rule
from monitor.alerting.defaults import DEFAULTS
from monitor.alerting.evaluate import signals
from monitor.alerting.facts import Facts, HourMedian, Sample, grouped, hourly
from monitor.alerting.machine import step
from monitor.alerting.nouns import Counting, Event, Policy, State
from monitor.results import Verdict
from monitor.types import Endpoint
from tests.alerts.made import START

EVERY = timedelta(minutes=10)
N_REQUESTS = 5
TTFT_MS, TPS = 300.0, 80.0


@dataclass(frozen=True, kw_only=True)
class Fault:
    """What endpoints that start with `match` do from minute `begins` to `ends`."""

    match: str
    begins: float
    ends: float
    ttft: float = 1.0
    tps: float = 1.0
    outcome: str | None = None

    def holds(self, endpoint: str, at: datetime) -> bool:
        minute = (at - START).total_seconds() / 60
        return endpoint.startswith(self.match) and self.begins <= minute < self.ends


def endpoints(n_providers: int, n_models: int) -> dict[str, Endpoint]:
    names = [(f"p{i}", f"p{i}/m{j}", f"m{j}") for i in range(n_providers) for j in range(n_models)]
    return {
        name: Endpoint(name=name, provider=provider, base_url="http://h/v1", model=model)
        for provider, name, model in names
    }


def rules(names: Sequence[str]) -> tuple[Rule, ...]:
    """The default rules."""
    every = frozenset(names)
    return tuple(
        Rule(
            name=name, condition=condition, endpoints=every, fire=fire or condition.fire,
            resolve=fire or condition.resolve,
        )
        for name, (condition, fire) in DEFAULTS.items()
    )  # fmt: skip


@dataclass(kw_only=True)
class Fleet:
    """Probes on schedule, with noise: between requests, between runs, over the day, and now and then an outlier."""

    seed: int
    n_providers: int = 3
    n_models: int = 2
    faults: Sequence[Fault] = ()
    verdicts: Sequence[Verdict] = ()
    samples: list[Sample] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.endpoints = endpoints(self.n_providers, self.n_models)
        self._rng = np.random.default_rng(self.seed)
        self._next = {
            name: START + EVERY * float(self._rng.random()) for name in self.endpoints
        }
        self.past = hourly(self._past())

    def _day(self, at: datetime) -> float:
        return 1 + 0.15 * float(np.sin(2 * np.pi * at.hour / 24))

    def _past(self) -> Iterator[HourMedian]:
        for name in self.endpoints:
            for hour in range(1, 7 * 24):
                at = START - timedelta(hours=hour)
                noise = self._rng.lognormal(0, 0.08, size=2)
                for metric, usual in (("ttft_ms", TTFT_MS * self._day(at)), ("tps", TPS / self._day(at))):
                    value = usual * float(noise[int(metric == "tps")])
                    yield HourMedian(endpoint=name, metric=metric, at=at, value=value, n=30)

    def run_until(self, now: datetime) -> None:
        """Make what was measured up to `now`; forget what is older than any window."""
        for name in self.endpoints:
            while self._next[name] <= now:
                self.samples += self._run(name, self._next[name])
                self._next[name] += EVERY
        self.samples = [one for one in self.samples if one.at > now - timedelta(hours=2)]

    def _run(self, name: str, at: datetime) -> Iterator[Sample]:
        own = [fault for fault in self.faults if fault.holds(name, at)]
        ttft, tps = (float(np.prod([getattr(one, key) for one in own])) for key in ("ttft", "tps"))
        outcome = next((one.outcome for one in own if one.outcome), None)
        run = self._rng.lognormal(0, 0.12)
        for i in range(N_REQUESTS):
            noise, outlier = self._rng.lognormal(0, 0.25), 6 if self._rng.random() < 0.02 else 1
            ended = outcome or ("http_5xx" if self._rng.random() < 0.004 else "ok")
            one = Sample(
                endpoint=name, exchange_id=f"{name}{at.isoformat()}.{i}", at=at + timedelta(seconds=i), probe="speed",
                vantage="berlin", outcome=ended,
            )  # fmt: skip
            yield one if ended != "ok" else replace(
                one, ttft_ms=TTFT_MS * ttft * self._day(at) * run * noise * outlier,
                tps=TPS * tps / self._day(at) / run * float(self._rng.lognormal(0, 0.15)),
            )  # fmt: skip

    def facts(self, now: datetime, state: State) -> Facts:
        slow = {one.endpoint: one.opened_at for one in state.incidents.values() if one.topic == "speed"}
        seen = [one for one in self.verdicts if now - timedelta(hours=1) < one.at <= now]
        return Facts(
            now=now, endpoints=self.endpoints, samples=grouped(self.samples), verdicts=seen, past=self.past,
            heard={"berlin": max((one.at for one in self.samples), default=now)}, outages=state.outages,
            slow_since=slow,
        )  # fmt: skip

    def watch(self, hours: float, every: timedelta, state: State | None = None) -> tuple[list[Event], State]:
        """Look at it again and again; return what is told, and the last state."""
        own = rules(list(self.endpoints))
        policy = Policy(counting={one.name: Counting(fire=one.fire, resolve=one.resolve) for one in own}, remind=None)
        events: list[Event] = []
        state, now = state or State(), START
        while now <= START + timedelta(hours=hours):
            self.run_until(now)
            stepped = step(state, signals(own, self.facts(now, state)), now, policy)
            state = stepped.state
            events += [event for message in stepped.messages for event in message.events]
            now += every
        return events, state
