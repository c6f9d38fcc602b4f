"""Tables that others published, recomputed from their counts. Oracle: the printed numbers (tests/golden/tools)."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from monitor.tools import k2vv, minimax
from monitor.tools.k2vv import K2vvCounts
from monitor.tools.measures import Confusion, ratio
from monitor.tools.minimax import MinimaxCounts

FOLDER = Path(__file__).parents[1] / "golden" / "tools"
K2VV: dict[str, Any] = json.loads((FOLDER / "k2vv_tables.json").read_text("utf-8"))
MODELS: list[dict[str, Any]] = json.loads((FOLDER / "minimax_counts.json").read_text("utf-8"))["models"]
FIVE = ("finish_stop", "finish_tool_calls", "finish_others", "schema_validation_error", "successful_tool_call")


@pytest.mark.parametrize("row", K2VV["schema_tables"], ids=lambda row: f"{row['table'][:18]} {row['provider']}")
def test_k2vv_schema_accuracy_is_the_published_one(row: Mapping[str, Any]) -> None:
    counts = K2vvCounts(
        finish_tool_calls=row["count_finish_reason_tool_calls"], finish_others_detail={},
        successful_tool_call_count=row["count_successful_tool_call"],
    )  # fmt: skip
    found = k2vv.schema_accuracy(counts)
    assert found.value is not None
    assert round(100 * found.value, 2) == row["schema_accuracy_published_pct"]


def test_k2vv_has_31_schema_rows() -> None:
    assert len(K2VV["schema_tables"]) == 31


def test_k2vv_similarity_is_the_published_one_for_22_of_23_and_within_rounding_for_the_last() -> None:
    official = {row["test_date"]: row for row in K2VV["similarity_tables"] if row["provider"] == "MoonshotAI"}
    off = {}
    for row in K2VV["similarity_tables"]:
        if row["similarity_published"] == "-":
            continue
        counts, right = ([one[name] for name in FIVE] for one in (row, official[row["test_date"]]))
        found = round(100 * k2vv.similarity(counts, right, row["max_distance"]), 2)
        published = float(row["similarity_published"].rstrip("%"))
        off[row["test_date"], row["provider"]] = round(found - published, 2)
    assert len(off) == 23
    assert [key for key, delta in off.items() if delta] == [("2025-09-22", "Fireworks")]
    assert off["2025-09-22", "Fireworks"] == -0.01


def test_k2vv_similarity_ignores_which_requests_agree() -> None:
    """Two endpoints with the same totals score 1, though one may have every single decision wrong."""
    assert k2vv.similarity((50, 50, 0, 0, 50), (50, 50, 0, 0, 50), 100) == 1.0


def counts_of(loop: Mapping[str, Any]) -> MinimaxCounts:
    return MinimaxCounts(
        attempts=loop["all_count"], successes=loop["success_count"], labelled=loop["expected_tool_call_total_count"],
        matrix=Confusion(tp=loop["tool_calls_finish_tool_calls"], fp=loop["stop_finish_tool_calls"],
                         fn=loop["tool_calls_finish_stop"], tn=loop["stop_finish_stop"]),
        valid=loop["tool_calls_successful_count"], only_reasoning=loop["error_only_reasoning_count"],
        language_checked=loop["language_following_checked_count"],
        language_valid=loop["language_following_valid_count"],
    )  # fmt: skip


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model["model"])
def test_minimax_averages_are_the_published_ones(model: dict[str, Any]) -> None:
    published, loops = model["published_average"], model["loops"]
    by_name = {
        name: minimax.average([one for loop in loops for one in minimax.rates(counts_of(loop)) if one.metric == name])
        for name in (metric.name for metric in minimax.METRICS)
    }
    scenario = minimax.average([
        ratio("scenario", loop["scenario_check_valid_count"], loop["scenario_check_checked_count"]) for loop in loops
    ])  # fmt: skip
    found = [
        by_name["minimax_query_success_rate"], by_name["minimax_tool_calls_match_rate"],
        by_name["minimax_schema_accuracy"], by_name["minimax_only_reasoning_rate"],
        by_name["minimax_language_following_rate"], scenario,
    ]  # fmt: skip
    assert found == pytest.approx(list(published.values()), abs=1e-12)
    assert len(loops) == 10


def test_minimax_match_rate_cannot_exceed_99_of_100() -> None:
    """In all 30 loops one labelled row is never scored; no published rate is above that."""
    loops = [loop for model in MODELS for loop in model["loops"]]
    assert len(loops) == 30
    for loop in loops:
        counts = counts_of(loop)
        assert (counts.matrix.scored, counts.labelled, counts.ceiling) == (99, 100, 0.99)
        assert loop["tool_calls_match_rate"] <= counts.ceiling


def test_minimax_ceiling_of_nothing_is_unknown() -> None:
    empty = MinimaxCounts(attempts=0, successes=0, labelled=0, matrix=Confusion(0, 0, 0, 0), valid=0, only_reasoning=0)
    assert empty.ceiling is None
    assert all(one.value is None and one.n == 0 for one in minimax.rates(empty))
