"""The rules that are in force where the configuration says nothing else."""

from collections.abc import Mapping

from monitor.alerting.conditions import (
    AgentOffline,
    AgentTwice,
    Condition,
    ConfigInvalid,
    OfVerdict,
    ProviderDown,
    Result,
    Shift,
    Window,
)
from monitor.alerting.nouns import Count

TWO_OF_THREE = Count(n=2, m=3)

DEFAULTS: Mapping[str, tuple[Condition, Count | None]] = {
    "provider-down": (ProviderDown(), None),
    "agent-offline": (AgentOffline(), None),
    "agent-twice": (AgentTwice(), None),
    "config-invalid": (ConfigInvalid(), None),
    "refused": (
        Result(outcomes=("auth_error", "quota_exhausted", "tls_trust", "address_refused"), topic="access"), None,
    ),
    "unavailable": (Window(metric="success_rate", below=0.95, min_n=20), None),
    "unavailable-runs": (OfVerdict(detectors=("availability",)), TWO_OF_THREE),
    "slower-start": (Shift(metric="ttft_ms"), None),
    "slower-tokens": (Shift(metric="tps"), None),
    "verdicts": (OfVerdict(other_than=("availability",)), None),
}  # fmt: skip
"""Conditions by name, and how they are counted where not as their kind is."""
