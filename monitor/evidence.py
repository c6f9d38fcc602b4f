"""What detectors share: picking exchanges out of the evidence, and writing verdicts."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from monitor.results import Evidence, Status, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The part of a verdict that a detector decides."""

    status: Status
    cause: str | None
    reason: str
    effect: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0
    threshold: float | None = None
    p_value: float | None = None
    mde: float | None = None
    band: str | None = None
    details: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """The part of a verdict that is the same for all verdicts of a detector."""

    detector: str
    version: int
    statistic: str
    unit: str


def verdict(card: Card, finding: Finding, evidence: Evidence, at: datetime) -> Verdict:
    """Make the verdict. Its id is a hash of detector, endpoint, runs and time, so that re-sending is harmless."""
    run_ids = tuple(run.run_id for run in evidence.runs)
    parts = "\x00".join((card.detector, str(card.version), evidence.endpoint.name, at.isoformat(), *run_ids))
    return Verdict(
        verdict_id=hashlib.blake2b(parts.encode(), digest_size=10).hexdigest(),
        endpoint=evidence.endpoint.name,
        detector=card.detector,
        detector_version=card.version,
        at=at,
        status=finding.status,
        cause=finding.cause,
        statistic=card.statistic,
        effect=finding.effect,
        unit=card.unit,
        low=finding.low,
        high=finding.high,
        n=finding.n,
        threshold=finding.threshold,
        p_value=finding.p_value,
        mde=finding.mde,
        band=finding.band,
        reason=finding.reason,
        run_ids=run_ids,
        fingerprint=evidence.fingerprint.digest if evidence.fingerprint else None,
        details=dict(finding.details or {}),
    )
