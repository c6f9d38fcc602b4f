"""The evidence of a detector over time: verdicts -> steps against the threshold that they were held against."""

import math
from collections.abc import Iterable

from dashboard.evidence_charts import Step
from monitor.results import Verdict

SUSPECT_NATS = math.log(20)
"""Evidence from which something is suspect (`monitor.standing`): the threshold where a verdict names no other."""


def steps(verdicts: Iterable[Verdict]) -> list[Step]:
    """Steps of those verdicts that carry evidence, oldest first; nats."""
    found = [Step(verdict=one, value=value, threshold=_threshold(one)) for one in verdicts
             if (value := log_e(one)) is not None]  # fmt: skip
    return sorted(found, key=lambda step: step.verdict.at)


def log_e(verdict: Verdict) -> float | None:
    """The evidence of a verdict in nats: as it tells it, else of its e-value; None without any."""
    if verdict.unit == "nats" and verdict.statistic == "joint_log_e":
        return verdict.effect
    told = verdict.details.get("log_e")
    if isinstance(told, int | float):
        return float(told)
    return math.log(verdict.e_value) if verdict.e_value is not None and verdict.e_value > 0 else None


def _threshold(verdict: Verdict) -> float | None:
    if verdict.statistic == "joint_log_e":
        return verdict.threshold
    told = verdict.details.get("log_e_to_fail")
    return float(told) if isinstance(told, int | float) else SUSPECT_NATS
