"""One verdict on fidelity per run and endpoint, out of all detectors that carry e-values.

Within a run the e-values are averaged: they share requests, so nothing else is allowed. Over the runs of an endpoint
they go into an e-detector (Shiryaev-Roberts), which notices a change however long the endpoint was faithful before; its
threshold follows from how many runs the whole fleet has in a month and how many false pages are accepted. Across
endpoints, which share a golden reference and so are dependent, e-BH says which of them differ now.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from monitor.audit import joint_log_e
from monitor.causes import explain
from monitor.config_types import Config
from monitor.evidence import Card, Finding
from monitor.results import Status, Verdict
from monitor.stats.change import e_detector, fleet_threshold
from monitor.stats.evalues import e_bh

KIND = "fidelity"
CARD = Card(detector=KIND, version=1, statistic="joint_log_e", unit="nats")
JOINED = frozenset({"logprob_fidelity", "greedy_flips", "logprob_profile", "sampler", "border"})
"""Detectors that carry e-values and speak through the joint verdict: their failures open no incident of their own."""

UNDECIDED = frozenset({"undecided"})
"""Causes of verdicts of detectors that ran and could not decide; all other inconclusive ones could not run."""

MONTH_S = 30 * 86400.0
_SUSPECT_NATS = math.log(20)


@dataclass(frozen=True, slots=True, kw_only=True)
class Before:
    """What was known before: state of the endpoint's e-detector, newest log e-value of every other endpoint."""

    state: float | None = None
    others: Mapping[str, float] = field(default_factory=dict)


def page_threshold(config: Config, joined: frozenset[str]) -> float:
    """Nats at which the e-detector of an endpoint pages, for `config`; `joined` are probes that feed it."""
    runs = sum(
        math.ceil(MONTH_S / plan.every_s) * len(plan.endpoints) for plan in config.plans if plan.probe.kind in joined
    )
    return fleet_threshold(1, max(runs, 1), false_alarms=config.decision.false_pages_per_month)


def decide(
    alone: Sequence[Verdict], seen: Sequence[Verdict], past: Before, *, threshold: float, alpha: float
) -> Finding:
    """Join the verdicts of a run.

    Parameters
    ----------
    alone
        Verdicts on this run alone: only new requests may go into the e-detector.
    seen
        Verdicts of the same detectors with everything else that is known of the endpoint: for status and cause.
    threshold
        Nats, of `page_threshold`.
    alpha
        Expected share of wrong names among those that e-BH rejects.

    Notes
    -----
    *Fail* when the e-detector is beyond its threshold; *suspect* when a detector is, or the run alone reaches 20;
    *pass* when something passes and nothing that could run is undecided. A pass starts the e-detector afresh, which can
    only delay an alarm.
    """
    heard = [verdict for verdict in seen if verdict.detector in JOINED]
    joined = [one for one in alone if one.detector in JOINED]
    log_e = joint_log_e(joined)
    state, log_m = past.state, past.state
    if log_e is not None:
        step = e_detector(np.array([[log_e]]), threshold=np.inf, state=None if state is None else [state])
        log_m = float(step.log_m[0])
    status = _status(heard, log_e, log_m, threshold)
    cause = explain(heard) if status in {"fail", "suspect"} else None
    kept = None if status == "pass" else log_m
    return Finding(
        status=status, cause=cause.cause if cause else _no_cause(status),
        reason=_reason(heard, log_e, log_m, past.state, threshold), effect=log_m,
        n=sum(one.e_value is not None for one in joined), threshold=threshold, log_e=log_e,
        details={"log_e": log_e, "state": kept, "detectors": {one.detector: one.status for one in heard},
                 **_fleet(log_e, past.others, alpha)},
    )  # fmt: skip


def _status(heard: Sequence[Verdict], log_e: float | None, log_m: float | None, threshold: float) -> Status:
    ran = [one for one in heard if one.status != "inconclusive" or one.cause in UNDECIDED]
    statuses = {verdict.status for verdict in ran}
    if log_m is not None and log_m >= threshold:
        return "fail"
    if {"fail", "suspect"} & statuses or (log_e is not None and log_e >= _SUSPECT_NATS):
        return "suspect"
    return "pass" if statuses == {"pass"} else "inconclusive"


def _no_cause(status: Status) -> str | None:
    return {"pass": None, "inconclusive": "undecided"}.get(status, "unexplained")


def _reason(
    heard: Sequence[Verdict], log_e: float | None, log_m: float | None, before: float | None, threshold: float
) -> str:
    told = "; ".join(f"{one.detector} {one.status}: {one.reason}" for one in heard if one.status != "pass")
    if log_m is None:
        return told or "no detector gave evidence"
    text = f"joint evidence {log_m:.1f} nats{_runs(log_e, before)}; {threshold:.1f} would page"
    return f"{told}; {text}" if told else text


def _runs(log_e: float | None, before: float | None) -> str:
    """What the joint evidence is of. Whether there ever was a pass is not known here."""
    if before is None:
        return " of this run alone"
    now = "none" if log_e is None else f"{log_e:.1f}"
    return f" of all runs since the last pass, or the first look where none passed; {now} from this run"


def _fleet(log_e: float | None, others: Mapping[str, float], alpha: float) -> dict[str, object]:
    """Whether e-BH counts this endpoint among those of the fleet that differ now."""
    if log_e is None:
        return {"fleet_rejected": None, "fleet_n": len(others)}
    found = e_bh([log_e, *others.values()], alpha=alpha)
    return {"fleet_rejected": found.rejected[0], "fleet_n": found.m}
