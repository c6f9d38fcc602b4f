"""Endpoints of one model side by side: the nouns of a comparison (`monitor.comparison_rows` computes them).

The dashboard, the report and the terminal show these; none of them computes a number of its own.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from monitor.comparison_facts import Bill, Example, ProbeRuns
from monitor.incident import Incident
from monitor.results import Fingerprint, Status, Verdict
from monitor.types import Endpoint

Better = Literal["lower", "higher"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """What is compared: its name in data, its title for people, its unit, and what it means."""

    name: str
    title: str
    unit: str
    better: Better
    definition: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """One measure of one endpoint. ``value`` None: not measured, and ``reason`` says why.

    ``low`` and ``high`` are a 95% interval, None where there is none (``remark`` says why). ``k`` of ``n`` for rates;
    ``counts`` names one of the n (token, answer, request, run).
    ``exact`` for what is declared and has no error, such as a price. ``threshold`` is what a verdict compared it with.
    ``apart`` says why a measured value has no place among the others. ``top_k`` is how many alternatives a divergence
    is computed from, ``n_prompts`` over how many prompts, ``basis`` whatever else must be equal for two estimates to be
    comparable (the digest of the golden weights). Instants are those of the first and last measurement.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0
    k: int | None = None
    counts: str = ""
    exact: bool = False
    reason: str | None = None
    remark: str | None = None
    threshold: float | None = None
    apart: str | None = None
    top_k: int | None = None
    n_prompts: int | None = None
    basis: str | None = None
    first_at: datetime | None = None
    last_at: datetime | None = None
    verdict_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where an endpoint stands in one measure: from ``best`` to ``worst`` of ``of`` measured ones.

    The two are equal only where the intervals leave no other order; otherwise it is a tie. ``best`` is 1 plus the
    number of endpoints that are surely better, ``worst`` is ``of`` less the number of those that are surely worse.
    """

    best: int
    worst: int
    of: int

    @property
    def is_tied(self) -> bool:
        """Whether another place is possible too."""
        return self.best != self.worst


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """The order in one measure: endpoint names in tiers, best first; all of a tier are surely better than the next.

    Within a tier there are ties, which ``places`` by name tell. ``decided`` is False where no endpoint is surely better
    than another: then there is no ranking. ``remarks`` say which pairs cannot be compared, and why. Those
    ``without_interval`` have a value, but no place; neither have those in ``apart``, by name with why.
    """

    measure: Measure
    tiers: tuple[tuple[str, ...], ...]
    unmeasured: tuple[str, ...]
    decided: bool
    places: Mapping[str, Place] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    without_interval: tuple[str, ...] = ()
    apart: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Since:
    """From when an endpoint has failed or been suspect: ``n_bad`` verdicts of the ``detector`` that saw it first.

    It began after ``last_good_at``, the last pass of any that tells of this fault (None: none in the window), and not
    later than ``first_bad_at``.
    """

    detector: str
    first_bad_at: datetime
    last_good_at: datetime | None
    n_bad: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Identified:
    """What an identification says is served. ``share`` is that of the requests, with its 95% interval.

    ``full`` for golden weights in 16 bit or more, whichever engine and type they are served with; the posterior is
    then that of all of these together.
    """

    name: str
    full: bool
    posterior: float
    share: float | None
    share_low: float | None
    share_high: float | None
    n_prompts: int
    verdict_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Endings:
    """How the requests of the window ended: ``good`` of ``n`` that count, and why the others of ``n`` did not.

    ``faults`` sum to ``n - good``. Left out of ``n`` are those ``apart`` (by outcome, no fault of the endpoint) and the
    ``n_maintenance`` of announced maintenance; where there are such, the reasons are not known and ``faults`` is None.
    """

    good: int
    n: int
    faults: Mapping[str, int] | None
    apart: Mapping[str, int]
    n_maintenance: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What measuring this endpoint cost. ``usd`` is None where its prices are not declared."""

    n_requests: int
    tokens_in: int
    tokens_out: int
    n_uncounted: int
    usd: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One endpoint in a comparison. ``estimates`` and ``places`` go by the name of the measure.

    ``status`` is that of all verdicts, ``fidelity`` that of those which say something of what is served.
    """

    endpoint: Endpoint
    status: Status
    fidelity: Status
    causes: tuple[str, ...]
    reason: str
    since: Since | None
    identified: Identified | None
    estimates: Mapping[str, Estimate]
    places: Mapping[str, Place]
    verdicts: tuple[Verdict, ...]
    probes: tuple[ProbeRuns, ...]
    outcomes: Mapping[str, int]
    endings: Endings
    examples: tuple[Example, ...]
    spent: Spent
    fingerprint: Fingerprint | None
    limits: tuple[str, ...]
    incidents: tuple[Incident, ...] = ()
    bills: tuple[Bill, ...] = ()


def is_good(row: Row) -> bool:
    """Whether an endpoint serves what it declares, and nothing is known to be wrong with it."""
    return row.fidelity == "pass" and row.status not in {"fail", "suspect"}


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestSize:
    """Mean tokens that an endpoint bills for a request: ``reported`` by itself.

    Else it reports none, and golden's count of the prompts and the length of the other endpoint's answers stand in.
    """

    tokens_in: float
    tokens_out: float
    reported: bool
    n: int = 0
    """Requests of the two endpoints that the means are over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Switch:
    """What changes for a user who goes from one endpoint to another. None where a number is not known.

    Prices are USD per million tokens; ``blended`` is at three prompt tokens for each output token. ``per_thousand`` are
    the same 1,000 requests, by the tokens that each of the two bills for them (``size_from``, ``size_to``). Ratios are
    new over old; those of speed are None too where the intervals leave open which of the two is faster; ``timed`` where
    a speed is known of both.
    """

    from_: str
    to: str
    price_in_change_usd: float | None
    price_out_change_usd: float | None
    blended_change_usd: float | None
    blended_ratio: float | None
    ttft_ratio: float | None
    tps_ratio: float | None
    timed: bool
    size_from: RequestSize | None = None
    size_to: RequestSize | None = None
    per_thousand_from_usd: float | None = None
    per_thousand_to_usd: float | None = None
    per_thousand_ratio: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rung:
    """One step of the ladder: a calibrated way to serve the model, at its divergence from golden."""

    name: str
    faithful: bool
    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ladder:
    """Calibrated variants of a model by divergence, ascending, and what faithful engines may show; in nats."""

    rungs: tuple[Rung, ...]
    tolerance: float | None
    n_prompts: int | None
    at: datetime | None
    weights_sha256: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelComparison:
    """All endpoints that claim to serve one model; ``rows`` best first as far as an order is known, else by name."""

    model: str
    rows: tuple[Row, ...]
    rankings: tuple[Ranking, ...]
    switches: tuple[Switch, ...]
    ladder: Ladder | None
    words: tuple[str, ...] = ()
    limits: tuple[str, ...] = ()

    def ranking(self, measure: str) -> Ranking | None:
        """The ranking by this measure; None where nobody was measured."""
        return next((one for one in self.rankings if one.measure.name == measure), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A comparison over a window of data. ``first_at`` and ``last_at`` are instants of the data, not of the making.

    ``config_sha256`` stands for what was asked and how it was judged: probes with their parameters, detectors with
    their versions and thresholds.
    """

    first_at: datetime | None
    last_at: datetime | None
    models: tuple[ModelComparison, ...]
    vantages: tuple[str, ...]
    versions: Mapping[str, tuple[str, ...]]
    config_sha256: str
    source: str = ""
    notes: tuple[str, ...] = field(default=())
