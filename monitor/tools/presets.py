"""Thresholds that others published, as data: under whose name, on what, and as of when.

They are quoted, not derived: most come from a handful of runs without an interval. `met` compares an observation with
one, and says that it cannot where the interval holds the threshold.
"""

from dataclasses import dataclass
from datetime import date
from typing import Literal

from monitor.tools.thvv import BUCKETS

Direction = Literal["at_least", "at_most"]
Met = Literal["met", "missed", "undecided"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """One published threshold.

    ``metric`` is ours that it is held against, None where we compute no such; ``says`` is what was published.
    """

    name: str
    metric: str | None
    threshold: float
    direction: Direction
    says: str
    source: str
    as_of: date


_K2VV = "MoonshotAI/K2-Vendor-Verifier README"
_MINIMAX = "MiniMax-AI/MiniMax-Provider-Verifier README"
_KVV = "MoonshotAI/Kimi-Vendor-Verifier README"
_THVV = "Tencent/TokenHub-Vendor-Verifier README at 042423d"
_AS_OF = {
    _K2VV: date(2025, 11, 15), _MINIMAX: date(2026, 7, 2), _KVV: date(2026, 8, 13), _THVV: date(2026, 11, 30),
}  # fmt: skip
"""The state that was read: of a release or table where it has a date, else the day of reading."""


def _preset(
    name: str, metric: str | None, threshold: float, says: str, source: str, *, direction: Direction = "at_least"
) -> Preset:
    return Preset(
        name=name, metric=metric, threshold=threshold, direction=direction, says=says, source=source,
        as_of=_AS_OF[source],
    )  # fmt: skip


PRESETS: tuple[Preset, ...] = (
    _preset("k2vv-kimi-k2-thinking", "k2vv_tool_call_f1", 0.73, "tool_call_f1 >= 73%", _K2VV),
    _preset("k2vv-kimi-k2-0905", "k2vv_tool_call_f1", 0.80, "tool_call_f1 >= 80%", _K2VV),
    _preset("minimax-success", "minimax_query_success_rate", 1.0, "Query-Success-Rate 100%", _MINIMAX),
    _preset("minimax-match", "minimax_tool_calls_match_rate", 0.98, "ToolCalls-Match-Rate about 98%, +-1%", _MINIMAX),
    _preset("minimax-trigger", "k2vv_tool_call_f1", 0.98, "Trigger Similarity >= 98%", _MINIMAX),
    _preset("minimax-schema", "minimax_schema_accuracy", 0.98, "Schema-Accuracy >= 98%", _MINIMAX),
    _preset("minimax-reasoning", "minimax_only_reasoning_rate", 0.0, "Error-Only-Reasoning-Rate 0%", _MINIMAX,
            direction="at_most"),
    _preset("minimax-language", "minimax_language_following_rate", 0.4, "Language-Following >= 40%", _MINIMAX),
    _preset("minimax-scenario", None, 1.0, "Scenario-Check-Pass-Rate 100%", _MINIMAX),
    _preset("kvv-schema", "tool_schema_accuracy", 1.0, "408 of 408 tool-call schema cases pass", _KVV),
    _preset("kvv-parameters", None, 1.0, "18 of 18 immutable-parameter cases pass", _KVV),
    *(_preset(f"thvv-ttft-{one.label}", one.metric, 0.9, f"TTFT P90 < {one.limit_s:g} s", _THVV) for one in BUCKETS),
    _preset("thvv-otps-l1", "thvv_otps_30", 0.5, "OTPS >= 30 tokens/s (above 10B active, L1)", _THVV),
    _preset("thvv-otps-l2", "thvv_otps_10", 0.5, "OTPS >= 10 tokens/s (above 10B active, L2)", _THVV),
    _preset("thvv-otps-small", "thvv_otps_100", 0.5, "OTPS >= 100 tokens/s (up to 10B active)", _THVV),
)  # fmt: skip


def met(preset: Preset, value: float, low: float, high: float) -> Met:
    """Whether a rate of `value` with the interval [`low`, `high`] keeps to `preset`.

    No sample proves a threshold at the end of the scale: there the rate itself must reach it.
    """
    at_end = preset.threshold in {0.0, 1.0} and value == preset.threshold
    if preset.direction == "at_least":
        good, bad = at_end or low >= preset.threshold, high < preset.threshold
    else:
        good, bad = at_end or high <= preset.threshold, low > preset.threshold
    return "met" if good else "missed" if bad else "undecided"
