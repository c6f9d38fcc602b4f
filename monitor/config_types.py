"""What a configuration holds once it is read: frozen dataclasses whose fields are the schema of the file.

The same rule holds for probes and detectors: a field of the dataclass is a key of the file.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any

from pydantic import Field, SecretStr

from monitor.budget import Budget
from monitor.cadence import Cadence
from monitor.config_alerts import AlertsConfig
from monitor.config_fields import (
    Address,
    BaseUrl,
    DialectName,
    Duration,
    Listen,
    Name,
    Precision,
    Protocol,
    Proxy,
    ReferenceName,
    Secret,
    Text,
)
from monitor.config_reference import ReferenceConfig
from monitor.config_store import StoreConfig
from monitor.config_times import CronText, Every, Instant, Target, Zone
from monitor.lanes import Lane
from monitor.maintenance import Window
from monitor.types import Endpoint
from monitor.wire.wording import Dialect

__all__ = [
    "AgentConfig", "Catalogues", "Config", "DashboardConfig", "DecisionConfig", "EndpointConfig", "EndpointEntry",
    "FileShape", "JudgeConfig", "MaintenanceEntry", "PlanEntry", "ProbePlan", "ReferenceConfig", "StoreConfig",
]  # fmt: skip

_DASHBOARD_AT = Address(host="127.0.0.1", port=8501)

@dataclass(frozen=True, slots=True, kw_only=True)
class Catalogues:
    """What exists in this installation: the config loader knows no probe by itself."""

    probes: Mapping[str, type]
    """Frozen dataclass types by kind."""
    detectors: Mapping[str, type] | None
    """The same; None in a process that runs no detectors (they import scipy): that section of the file is skipped."""
    protocols: Collection[str]
    """Names of the wire protocols."""
    dialects: Mapping[str, Dialect] = field(default_factory=dict)
    """Dialects by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DashboardConfig:
    """The pages."""

    listen: Listen = _DASHBOARD_AT
    """host:port of the dashboard; port 0 takes any free one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentConfig:
    """The process that probes."""

    spool: Text = "weighmaster-data/spool.sqlite"
    """The SQLite file that keeps results until the store has them."""
    concurrency: Annotated[int, Field(ge=1)] = 4
    """Requests in flight per provider at once; more than a few disturb each other's timing."""
    self_check: tuple[Target, ...] = ()
    """host:port to connect to when no endpoint can be: if none of these answers, the agent is offline."""
    busy_lag_ms: Annotated[float, Field(gt=0)] = 250.0
    """A latency probe is skipped while the agent's own event loop is held up for longer than this."""
    listen: Listen | None = None
    """host:port where the agent answers GET /healthz, for monitors; absent: it listens nowhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeConfig:
    """The process that judges."""

    listen: Listen | None = None
    """host:port where the judge answers GET /healthz, for monitors; absent: it listens nowhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionConfig:
    """When evidence is enough to call somebody."""

    false_pages_per_month: Annotated[float, Field(gt=0)] = 1.0
    """False alarms about fidelity that the whole fleet may expect in 30 days."""
    alpha: Annotated[float, Field(gt=0, lt=1)] = 0.01
    """Expected share of wrong names among the endpoints that are said to differ now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointEntry:
    """One endpoint as the file writes it."""

    name: Name
    """Unique, usually provider/model."""
    provider: Name | None = None
    """Absent: the part of the name before "/"."""
    base_url: BaseUrl
    """Address of the API without the last path part, such as https://api.acme.example/v1."""
    model: Text
    """The model name that requests carry."""
    protocol: Protocol = "openai_chat"
    """How the endpoint speaks."""
    dialect: DialectName | None = None
    """How its provider or engine words that protocol; absent: as the protocol's inventor does."""
    upstream: Text | None = None
    """The provider that a router must use, with dialects that can hold it to one."""
    api_key: Secret = None
    """Written as ${NAME} or ${file:PATH}; absent or empty: no key is sent. One without content disables it."""
    http2: bool = False
    """Offer HTTP/2. httpx's own transport then carries the bytes, whose stamps are later; records say so."""
    proxy: Proxy = None
    """Address of a proxy, http://HOST:PORT, as ${NAME} where it holds credentials; the same holds as for HTTP/2."""
    allow_private: bool = False
    """Whether its host name may lead to a private or loopback address; written-out ones and localhost may."""
    reference: ReferenceName | None = None
    """The golden model it claims to serve, one of ``references``."""
    precision: Precision | None = None
    """What the provider declares that it serves: bf16, fp8, int4, q4_k_m, ...; absent or unknown: full precision."""
    context: Annotated[int, Field(ge=1)] | None = None
    """Declared context length in tokens."""
    price_in_usd: Annotated[float, Field(ge=0)] | None = None
    """USD per million prompt tokens; absent: unknown, which is not free."""
    price_out_usd: Annotated[float, Field(ge=0)] | None = None
    """USD per million output tokens."""
    tags: tuple[Text, ...] = ()
    """Free labels for filters."""
    since: Instant | None = None
    """Its launch: cadences such as 1h for 14d then 1d count from here."""
    budget_tokens_per_day: Annotated[int, Field(ge=1)] | None = None
    """Most tokens, prompt and output together, that scheduled probes may use per UTC day."""
    budget_usd_per_day: Annotated[float, Field(gt=0)] | None = None
    """Most USD that scheduled probes may cost per UTC day; needs both prices."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanEntry:
    """The keys that every entry of ``probes`` has beside the fields of its probe."""

    kind: str
    """The probe."""
    every: Every | None = None
    """How often: 90s, 10m, 1h, 1d, or in stages from a launch: 1h for 14d then 1d."""
    cron: CronText | None = None
    """Or at which times: minute, hour, day of month, month, weekday by name, such as 0 9 * * mon-fri."""
    timezone: Zone = "UTC"
    """Of cron, such as Europe/Berlin."""
    since: Instant | None = None
    """From when the stages of every count; absent: the since of the endpoint."""
    lane: Lane | None = None
    """latency runs alone, bulk beside other providers' bulk; absent: what the probe says of itself."""
    endpoints: Annotated[tuple[Text, ...], Field(min_length=1)] = ("*",)
    """Names or patterns such as acme/*; absent: all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MaintenanceEntry:
    """Announced work, once (start) or again and again (cron): runs are marked, and nobody is alerted."""

    endpoints: Annotated[tuple[Text, ...], Field(min_length=1)] | None = None
    """Names or patterns; absent together with providers: all."""
    providers: Annotated[tuple[Name, ...], Field(min_length=1)] | None = None
    """All endpoints of these providers."""
    start: Instant | None = None
    """When it begins, once."""
    cron: CronText | None = None
    """Or at which times it begins."""
    timezone: Zone = "UTC"
    """Of cron."""
    duration: Duration
    """How long it lasts."""
    reason: Text = "maintenance"
    """Stands in the runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileShape:
    """The configuration file of Weighmaster.

    The top level only: the sections are looked at one by one, so that a mistake in one hides none in another.
    """

    vantage: Name = "local"
    """Where this installation measures from; stands in every result."""
    store: dict[str, Any] = field(default_factory=dict)
    """The process that owns the database."""
    dashboard: dict[str, Any] = field(default_factory=dict)
    """The pages."""
    agent: dict[str, Any] = field(default_factory=dict)
    """The process that probes."""
    judge: dict[str, Any] = field(default_factory=dict)
    """The process that judges."""
    decision: dict[str, Any] = field(default_factory=dict)
    """When evidence is enough to call somebody."""
    alerts: dict[str, Any] = field(default_factory=dict)
    """What is told to whom, and when."""
    references: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Golden models by name."""
    endpoints: Annotated[tuple[dict[str, Any], ...], Field(min_length=1)]
    """What is watched."""
    probes: tuple[dict[str, Any], ...] = ()
    """What is asked, and how often."""
    maintenance: tuple[dict[str, Any], ...] = ()
    """Announced work, in which nobody is alerted."""
    detectors: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Detector kind to the fields that differ from the defaults."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointConfig:
    """An endpoint, and what only its client sees: the key, and how to get there.

    ``disabled`` says why it cannot be asked: its key has no value. The others go on (case OP-08).
    """

    endpoint: Endpoint
    api_key: SecretStr | None = None
    http2: bool = False
    proxy: SecretStr | None = None
    allow_private: bool = False
    disabled: str | None = None
    since: datetime | None = None
    budget: Budget = field(default_factory=Budget)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbePlan:
    """A probe, when it runs, and the names of the endpoints that it asks. ``lane`` None is what the probe says."""

    probe: Any
    cadence: Cadence
    endpoints: tuple[str, ...]
    lane: Lane | None = None

    @property
    def every_s(self) -> float:
        """Seconds between two runs: the mean where they differ, of the fastest stage where there are several."""
        return self.cadence.every_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """A configuration without mistakes. ``detectors`` are all of the catalogue, with the file's overrides applied."""

    vantage: str
    store: StoreConfig
    dashboard: DashboardConfig
    agent: AgentConfig
    decision: DecisionConfig
    references: Mapping[str, ReferenceConfig]
    endpoints: tuple[EndpointConfig, ...]
    plans: tuple[ProbePlan, ...]
    detectors: tuple[Any, ...]
    maintenance: tuple[Window, ...] = ()
    alerts: AlertsConfig = field(default_factory=AlertsConfig)
    judge: JudgeConfig = field(default_factory=JudgeConfig)
