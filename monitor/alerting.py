"""Incidents: a reducer from (open incident, new verdict) to the incident's next state. Pure; the store remembers."""

import hashlib
from dataclasses import replace

from monitor.results import Incident, Verdict


def step(current: Incident | None, verdict: Verdict) -> Incident | None:
    """Next state of the incident of this endpoint and detector, or None when nothing changes.

    *Fail* opens an incident or prolongs the open one; *pass* closes it; *suspect* and *inconclusive* change nothing,
    since neither shows that the fault is there or gone. A verdict older than the incident's last one is ignored.
    """
    if current is not None and verdict.at <= current.last_at:
        return None
    if verdict.status == "fail":
        return _opened(verdict) if current is None else _prolonged(current, verdict)
    if verdict.status == "pass" and current is not None:
        return replace(current, last_at=verdict.at, closed_at=verdict.at, n_verdicts=current.n_verdicts + 1)
    return None


def _opened(verdict: Verdict) -> Incident:
    key = f"{verdict.endpoint}\x00{verdict.detector}\x00{verdict.at.isoformat()}"
    return Incident(
        incident_id=hashlib.blake2b(key.encode(), digest_size=10).hexdigest(),
        endpoint=verdict.endpoint,
        detector=verdict.detector,
        cause=verdict.cause,
        opened_at=verdict.at,
        last_at=verdict.at,
        closed_at=None,
        n_verdicts=1,
        verdict_id=verdict.verdict_id,
        reason=verdict.reason,
    )


def _prolonged(current: Incident, verdict: Verdict) -> Incident:
    return replace(
        current,
        cause=verdict.cause,
        last_at=verdict.at,
        n_verdicts=current.n_verdicts + 1,
        verdict_id=verdict.verdict_id,
        reason=verdict.reason,
    )
