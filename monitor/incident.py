"""The noun of alerting that everybody shows: an incident."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Incident:
    """A fault of an endpoint from the first sign of it to the one that closed it (`monitor.alerting`).

    ``endpoint`` is ``provider NAME`` or ``agent VANTAGE`` where no single endpoint is at fault. ``detector`` is what
    saw it: a detector, or the kind of the rule. ``n_verdicts`` counts the signs. ``rules`` are those that fire now, the
    first one first; ``causes`` all that were named, ``told`` those of them that were told. ``effect`` with ``low`` and
    ``high`` in ``unit``, ``n`` and ``threshold`` are the newest figures of the first rule. ``muted`` says why nobody is
    told, ``detected_at`` when the rule fired (of an outage, for the first of its parts), ``announced_at`` when it was
    told first, ``told_at`` when last.
    ``vantages`` are the places that saw it, ``endpoints`` those that it concerns where no single one is at fault.
    """

    incident_id: str
    endpoint: str
    detector: str
    cause: str | None
    opened_at: datetime
    last_at: datetime
    closed_at: datetime | None
    n_verdicts: int
    verdict_id: str | None
    reason: str
    provider: str | None = None
    topic: str | None = None
    severity: str | None = None
    rules: tuple[str, ...] = ()
    causes: tuple[str, ...] = ()
    effect: float | None = None
    low: float | None = None
    high: float | None = None
    unit: str = ""
    n: int = 0
    threshold: float | None = None
    muted: str | None = None
    detected_at: datetime | None = None
    announced_at: datetime | None = None
    told_at: datetime | None = None
    told: tuple[str, ...] = ()
    vantages: tuple[str, ...] = ()
    endpoints: tuple[str, ...] = ()
