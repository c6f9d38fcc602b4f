"""What rules look at: requests, verdicts, the own past, and who was heard of."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from monitor.agent_sign import AgentSign
from monitor.alerting.nouns import Outage
from monitor.results import Verdict
from monitor.types import ANSWERED, NOT_THE_ENDPOINTS_FAULT, Endpoint


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One request, as far as rules care. Timings are None where they were not measured or are not valid.

    ``maintenance`` names the window that its run began in.
    """

    endpoint: str
    exchange_id: str
    at: datetime
    probe: str
    vantage: str
    outcome: str
    ttft_ms: float | None = None
    tpot_ms: float | None = None
    tps: float | None = None
    maintenance: str | None = None

    @property
    def is_own(self) -> bool:
        """Whether how it ended says something of the endpoint."""
        return self.outcome not in NOT_THE_ENDPOINTS_FAULT

    @property
    def answered(self) -> bool:
        """Whether a complete answer came back."""
        return self.outcome in ANSWERED

    def timing(self, metric: str) -> float | None:
        """The timing named `metric`."""
        return {"ttft_ms": self.ttft_ms, "tpot_ms": self.tpot_ms, "tps": self.tps}[metric]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """Requests to an endpoint that began in the `width_s` seconds from ``at``: ``good`` of ``n``."""

    endpoint: str
    at: datetime
    width_s: float
    good: int
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HourMedian:
    """Median of a timing over the requests of one hour."""

    endpoint: str
    metric: str
    at: datetime
    value: float
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Mistake:
    """The configuration file is not valid, so an older one is in force. ``text`` holds no values of variables."""

    since: datetime
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """All that is known at ``now``. ``samples`` by endpoint, oldest first (`grouped`)."""

    now: datetime
    endpoints: Mapping[str, Endpoint]
    samples: Mapping[str, Sequence[Sample]] = field(default_factory=dict)
    verdicts: Sequence[Verdict] = ()
    maintained: Mapping[str, str] = field(default_factory=dict)
    """Verdicts on runs that began in a maintenance window, and in which."""
    past: Mapping[tuple[str, str], Sequence[HourMedian]] = field(default_factory=dict)
    """Medians by endpoint and metric, oldest first (`hourly`)."""
    tallies: Sequence[Tally] = ()
    heard: Mapping[str, datetime] = field(default_factory=dict)
    """When each vantage point was heard of last."""
    signs: Sequence[AgentSign] = ()
    """The newest sign of each agent."""
    outages: Sequence[Outage] = ()
    slow_since: Mapping[str, datetime] = field(default_factory=dict)
    """Endpoints with an open incident about speed, and since when: their past ends there."""
    configuration: Mistake | None = None
    """What is wrong with the file that the process of the rules reads; None: nothing."""
    patience_s: float = 600.0
    """How long an agent may be silent, unless a rule says."""
    listening_since: datetime | None = None
    """Since when the store has been looked at without a long gap; None: ever. Before, nobody could be heard."""

    def counting(self, endpoint: str) -> list[Sample]:
        """The requests to `endpoint` that no outage of its provider explains, oldest first."""
        provider = self.endpoints[endpoint].provider
        gone = [outage for outage in self.outages if outage.provider == provider]
        own = self.samples.get(endpoint, ())
        if not gone:
            return list(own)
        return [one for one in own if not any(outage.since <= one.at <= outage.until for outage in gone)]


def hourly(medians: Iterable[HourMedian]) -> dict[tuple[str, str], list[HourMedian]]:
    """Medians by endpoint and metric, oldest first."""
    found: dict[tuple[str, str], list[HourMedian]] = {}
    for one in sorted(medians, key=lambda one: one.at):
        found.setdefault((one.endpoint, one.metric), []).append(one)
    return found


def grouped(samples: Iterable[Sample]) -> dict[str, list[Sample]]:
    """Samples by endpoint, oldest first, whatever order they came in."""
    found: dict[str, list[Sample]] = {}
    for sample in sorted(samples, key=lambda one: (one.at, one.exchange_id)):
        found.setdefault(sample.endpoint, []).append(sample)
    return found
