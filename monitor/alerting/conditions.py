"""What a rule may look at. The fields of these classes are the keys of a rule in the configuration.

Each has a ``kind``, and how its signals are counted unless the rule says otherwise.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from monitor.alerting.nouns import Count, Topic
from monitor.config_fields import Duration, Text
from monitor.types import Outcome

Timing = Literal["ttft_ms", "tpot_ms", "tps"]

HOUR_S = 3600.0
WEEK_S = 7 * 24 * HOUR_S


def _one_limit(above: float | None, below: float | None) -> None:
    if (above is None) == (below is None):
        raise ValueError("needs one of `above` and `below`")


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """Single requests: how they ended, or how long they took."""

    kind: ClassVar[str] = "result"
    fire: ClassVar[Count] = Count(n=3, m=5)
    resolve: ClassVar[Count] = Count(n=3, m=5)

    outcomes: tuple[Outcome, ...] = ()
    """Outcomes that are bad."""
    metric: Timing | None = None
    """What to compare with `above` or `below` instead."""
    above: float | None = None
    """Bad above this, in the unit of the metric."""
    below: float | None = None
    """Bad below this."""
    probe: Text | None = None
    """Only requests of this probe; absent: all."""
    topic: Topic = "availability"
    """What an incident is about: rules of one topic share one incident per endpoint."""
    cause: Text | None = None
    """What to call it; absent: the outcome or the metric."""

    def __post_init__(self) -> None:
        if bool(self.outcomes) == bool(self.metric):
            raise ValueError("needs either `outcomes` or `metric`")
        if self.metric:
            _one_limit(self.above, self.below)


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A figure over a window: a quantile of a timing, or the success rate."""

    kind: ClassVar[str] = "window"
    fire: ClassVar[Count] = Count(n=2, m=3)
    resolve: ClassVar[Count] = Count(n=2, m=3)

    metric: Timing | Literal["success_rate"]
    """What is measured."""
    quantile: Annotated[float, Field(gt=0, lt=1)] = 0.95
    """Which quantile of a timing."""
    over: Duration = HOUR_S
    """Length of the window."""
    above: float | None = None
    """Bad when it is surely above this."""
    below: float | None = None
    """Bad when it is surely below this."""
    min_n: Annotated[int, Field(ge=1)] = 20
    """Fewest requests; with less nothing fires and nothing resolves."""
    probe: Text | None = None
    """Only requests of this probe; absent: `speed` for timings, all for the success rate."""

    def __post_init__(self) -> None:
        _one_limit(self.above, self.below)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shift:
    """The median of a timing against the endpoint's own past, or against others that serve the same model."""

    kind: ClassVar[str] = "shift"
    fire: ClassVar[Count] = Count(n=2, m=3)
    resolve: ClassVar[Count] = Count(n=2, m=3)

    metric: Timing
    """What is measured."""
    against: Literal["history", "peers"] = "history"
    """What it is compared with."""
    factor: Annotated[float, Field(gt=1)] = 1.5
    """Bad when it is surely worse by this factor: times for latencies, divided by for tokens per second."""
    over: Duration = HOUR_S
    """Length of the window."""
    history: Duration = WEEK_S
    """How far back the own past goes."""
    min_n: Annotated[int, Field(ge=1)] = 20
    """Fewest requests in the window; with less nothing fires and nothing resolves."""
    min_hours: Annotated[int, Field(ge=1)] = 24
    """Fewest hours with measurements in the own past."""
    min_peers: Annotated[int, Field(ge=1)] = 2
    """Fewest other endpoints of the same model with enough requests."""
    probe: Text = "speed"
    """The probe whose requests count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OfVerdict:
    """Verdicts of detectors. A pass resolves; verdicts that could not decide change nothing."""

    kind: ClassVar[str] = "verdict"
    fire: ClassVar[Count] = Count(n=1, m=1)
    resolve: ClassVar[Count] = Count(n=1, m=1)

    detectors: Annotated[tuple[Text, ...], Field(min_length=1)] = ("*",)
    """Names or patterns of detectors; each is counted by itself."""
    other_than: tuple[Text, ...] = ()
    """Detectors that the patterns do not mean."""
    statuses: Annotated[tuple[Literal["fail", "suspect"], ...], Field(min_length=1)] = ("fail",)
    """Which verdicts are bad."""
    causes: tuple[Text, ...] = ()
    """Only verdicts that name one of these; absent: any."""
    share_above: Annotated[float, Field(ge=0, lt=1)] | None = None
    """Only verdicts that put more than this share of the requests on other weights."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BurnRate:
    """How fast the error budget of an objective is used up, over pairs of a long and a short window."""

    kind: ClassVar[str] = "burn_rate"
    fire: ClassVar[Count] = Count(n=1, m=1)
    resolve: ClassVar[Count] = Count(n=2, m=3)

    objective: Annotated[float, Field(gt=0, lt=1)] = 0.99
    """Share of requests that should be answered."""
    factors: Annotated[tuple[float, ...], Field(min_length=3, max_length=3)] = (14.4, 6.0, 1.0)
    """Burn rates that are too fast over 1 h and 5 m, 6 h and 30 m, 3 d and 6 h."""
    min_n: Annotated[int, Field(ge=1)] = 20
    """Fewest requests in a long window."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderDown:
    """No endpoint of a provider answers. While that is so, nothing else of this provider is told."""

    kind: ClassVar[str] = "provider_down"
    fire: ClassVar[Count] = Count(n=1, m=1)
    resolve: ClassVar[Count] = Count(n=2, m=2)

    failures: Annotated[int, Field(ge=1)] = 3
    """Newest requests to each endpoint that must have failed."""
    over: Duration = HOUR_S
    """How old a request may be to count."""
    min_endpoints: Annotated[int, Field(ge=1)] = 2
    """Fewest endpoints with requests. One endpoint alone has rules of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentOffline:
    """No results from a vantage point. While that is so, nothing that only it measures is told."""

    kind: ClassVar[str] = "agent_offline"
    fire: ClassVar[Count] = Count(n=1, m=1)
    resolve: ClassVar[Count] = Count(n=1, m=1)

    after: Duration | None = None
    """How long without a result; absent: three times the shortest interval of the probes, at least 10 minutes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigInvalid:
    """The configuration file was changed and is not valid: the service goes on with the one before."""

    kind: ClassVar[str] = "config_invalid"
    fire: ClassVar[Count] = Count(n=1, m=1)
    resolve: ClassVar[Count] = Count(n=1, m=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentTwice:
    """Two agents run under the name of one vantage: each slot has the row of whichever was first."""

    kind: ClassVar[str] = "agent_twice"
    fire: ClassVar[Count] = Count(n=1, m=1)
    resolve: ClassVar[Count] = Count(n=3, m=3)


Condition = Result | Window | Shift | OfVerdict | BurnRate | ProviderDown | AgentOffline | AgentTwice | ConfigInvalid

CONDITIONS: dict[str, type[Condition]] = {
    one.kind: one
    for one in (
        Result, Window, Shift, OfVerdict, BurnRate, ProviderDown, AgentOffline, AgentTwice, ConfigInvalid,
    )
}  # fmt: skip
"""The kinds of rules by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A rule in force: a condition, the endpoints it looks at, and how its signals are counted."""

    name: str
    condition: Condition
    endpoints: frozenset[str]
    fire: Count
    resolve: Count
    severity: Literal["page", "ticket"] = "page"
    routes: tuple[str, ...] = ()
