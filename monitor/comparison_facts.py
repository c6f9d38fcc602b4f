"""What a comparison is made of: the facts about one endpoint, whoever tells them (a store, a folder of evidence)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from monitor.incident import Incident
from monitor.results import Fingerprint, Verdict
from monitor.types import Endpoint


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeRuns:
    """Runs of one probe that asked the same from the same place: how many, and the instants of first and last."""

    probe: str
    probe_version: int
    params_sha256: str
    vantage: str
    prober_version: str
    n_runs: int
    n_exchanges: int
    first_at: datetime
    last_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Bill:
    """Tokens that an endpoint counted for ``n`` answers to one probe with one set of parameters: the same questions."""

    probe: str
    params_sha256: str
    n: int
    tokens_in: int
    tokens_out: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """Requests that count for availability: ``good`` of ``n`` in ``n_runs`` runs (the clusters).

    ``nn``, ``gg`` and ``ng`` are sums over runs of n_i^2, good_i^2 and n_i good_i, which tell how alike the requests of
    one run are (`monitor.stats.tallies`).
    """

    n_runs: int
    n: int
    good: int
    nn: int
    gg: int
    ng: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbers:
    """Numbers of runs (or of single requests of ``n_runs`` runs) in the unit of their metric, and when they were taken.

    There is at least one.
    """

    values: tuple[float, ...]
    first_at: datetime
    last_at: datetime
    n_runs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Streak:
    """What a detector has said since its last pass at ``last_good_at`` (None: none in the window).

    ``n_bad`` times it failed or was suspect, the first time at ``first_bad_at``; looks that decided nothing are not
    counted.
    """

    last_good_at: datetime | None
    first_bad_at: datetime | None
    n_bad: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """An answer that shows a fault. Its texts are what an endpoint said: hostile, to be shown as text only.

    ``fault`` is the outcome, or the name of what is wrong with a complete answer.
    """

    fault: str
    exchange_id: str
    run_id: str
    probe: str
    at: datetime | None
    prompt_id: str | None
    status: int | None
    error: str | None
    text: str
    remark: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """All that is known of one endpoint in the window of a comparison.

    ``series`` are the numbers of its runs by metric; ``singles`` those of single requests by metric (``ttft_ms``,
    ``tps``), of the newest runs. ``verdicts`` are the newest of each detector; ``past`` says by detector what came
    since its last pass. ``outcomes`` count every request. ``incidents`` are those of the window, newest first. Tokens
    are as the endpoint counted; ``n_uncounted`` answers did not. ``bills`` are those of answers that both were counted
    for.
    """

    endpoint: Endpoint
    probes: tuple[ProbeRuns, ...] = ()
    outcomes: Mapping[str, int] = field(default_factory=dict)
    tally: Tally | None = None
    series: Mapping[str, Numbers] = field(default_factory=dict)
    singles: Mapping[str, Numbers] = field(default_factory=dict)
    verdicts: tuple[Verdict, ...] = ()
    past: Mapping[str, Streak] = field(default_factory=dict)
    examples: tuple[Example, ...] = ()
    fingerprint: Fingerprint | None = None
    incidents: tuple[Incident, ...] = ()
    tokens_in: int = 0
    tokens_out: int = 0
    n_uncounted: int = 0
    bills: tuple[Bill, ...] = ()
