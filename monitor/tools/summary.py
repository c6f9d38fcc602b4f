"""A run as the summary that K2VV writes, which others read too, with ours beside it."""

from collections.abc import Mapping, Sequence
from typing import Any

from monitor.results import Observation
from monitor.stats.rates import wilson
from monitor.tools import bfcl, k2vv, minimax
from monitor.tools.all_measures import all_observed
from monitor.tools.forms import design_of
from monitor.tools.graded import Graded
from monitor.tools.presets import PRESETS, met

_NOTHING: Mapping[str, Any] = {"value": None}
_PER_CASE = frozenset({"tool_eventual_success", "tool_forms_same_prompt", "tool_forms_same_faults"})
"""Rates whose n are cases already."""


def summary(graded: Sequence[Graded], *, model: str) -> dict[str, Any]:
    """Return the document. It is a function of the responses alone, so a second one of the same run is the same.

    The keys at the top are K2VV's; ``metrics`` are ours and those of other verifiers with k, n and a 95% interval
    (Wilson; the answers to a case count as one), ``reason`` says why a value is null. ``bfcl_errors`` counts answers by
    the error that BFCL's check names. ``presets`` is what the published
    thresholds make of them; ``met`` is null where nothing was measured that one can be held against.
    """
    counts = k2vv.counts_of(graded)
    tokens = counts.prompt_tokens, counts.completion_tokens
    n_cases, design = len({one.case.case_id for one in graded}), design_of(graded)
    rows = [
        _row(one, 1.0 if one.metric in _PER_CASE else max(design, one.n / max(1, n_cases)))
        for one in all_observed(graded)
    ]
    return {
        "model": model,
        "success_count": counts.success_count,
        "failure_count": counts.failure_count,
        "finish_stop": counts.finish_stop,
        "finish_tool_calls": counts.finish_tool_calls,
        "finish_others": counts.finish_others,
        "finish_others_detail": dict(counts.finish_others_detail),
        "schema_validation_error_count": counts.schema_validation_error_count,
        "successful_tool_call_count": counts.successful_tool_call_count,
        "usage": {
            "prompt_tokens": counts.prompt_tokens, "completion_tokens": counts.completion_tokens,
            "total_tokens": None if None in tokens else sum(filter(None, tokens)),
        },
        "minimax_match_rate_ceiling": minimax.counts_of(graded).ceiling,
        "bfcl_errors": bfcl.counted(graded),
        "metrics": rows,
        "presets": _presets({row["metric"]: row for row in rows}),
    }  # fmt: skip


def _row(one: Observation, design: float) -> dict[str, Any]:
    low = high = None
    if one.k is not None:
        rate = wilson(one.k, one.n, design=design)
        low, high = rate.low, rate.high
    return {
        "metric": one.metric, "value": one.value, "k": one.k, "n": one.n, "low": low, "high": high,
        "reason": one.reason,
    }  # fmt: skip


def _presets(rows: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    found = []
    for preset in PRESETS:
        row = rows.get(preset.metric or "", _NOTHING)
        known = row["value"] is not None
        found.append({
            "preset": preset.name, "metric": preset.metric, "threshold": preset.threshold,
            "direction": preset.direction, "says": preset.says, "source": preset.source,
            "as_of": preset.as_of.isoformat(),
            "met": met(preset, row["value"], row["low"], row["high"]) if known else None,
        })  # fmt: skip
    return found
