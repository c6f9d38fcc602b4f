"""Thresholds that others published, as data: under whose name, on what, and as of when.

They are quoted, not derived: most come from a handful of runs without an interval. `met` compares an observation with
one, and says that it cannot where the interval holds the threshold.
"""

from dataclasses import dataclass
from datetime import date
from typing import Literal

Direction = Literal["at_least", "at_most"]
Met = Literal["met", "missed", "undecided"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """One published threshold of a metric of ours."""

    name: str
    metric: str
    threshold: float
    direction: Direction
    source: str
    as_of: date


def _preset(name: str, metric: str, threshold: float, source: str, as_of: date, *, most: bool = False) -> Preset:
    return Preset(
        name=name, metric=metric, threshold=threshold, direction="at_most" if most else "at_least", source=source,
        as_of=as_of,
    )  # fmt: skip


_K2VV = "MoonshotAI/K2-Vendor-Verifier README"
_MINIMAX = "MiniMax-AI/MiniMax-Provider-Verifier README"
_KVV = "MoonshotAI/Kimi-Vendor-Verifier README"
_NOVEMBER, _JULY, _AUGUST = date(2025, 11, 15), date(2026, 7, 2), date(2026, 8, 13)

PRESETS: tuple[Preset, ...] = (
    _preset("k2vv-kimi-k2-thinking", "k2vv_tool_call_f1", 0.73, _K2VV, _NOVEMBER),
    _preset("k2vv-kimi-k2-0905", "k2vv_tool_call_f1", 0.80, _K2VV, _NOVEMBER),
    _preset("minimax-success", "minimax_query_success_rate", 1.0, _MINIMAX, _JULY),
    _preset("minimax-match", "minimax_tool_calls_match_rate", 0.98, _MINIMAX, _JULY),
    _preset("minimax-trigger", "k2vv_tool_call_f1", 0.98, _MINIMAX, _JULY),
    _preset("minimax-schema", "minimax_schema_accuracy", 0.98, _MINIMAX, _JULY),
    _preset("minimax-reasoning", "minimax_only_reasoning_rate", 0.0, _MINIMAX, _JULY, most=True),
    _preset("kvv-schema", "tool_schema_accuracy", 1.0, _KVV, _AUGUST),
)


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
