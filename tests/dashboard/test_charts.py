"""Oracles: the Vega-Lite specification that comes out; case OP-11 for few points, equal points and gaps."""

from datetime import UTC, datetime, timedelta
from typing import Any

import altair as alt
import pytest

from dashboard.axes import HEIGHT, ChartLike, inline, specification
from dashboard.charts import (
    FLOOR_NATS,
    deviations,
    fidelity,
    log_ticks,
    outcomes,
    over_time,
    posterior,
)
from dashboard.evidence import Band, Count
from dashboard.store_reader import Point
from dashboard.strips import strips
from monitor.results import Verdict
from tests.dashboard.scenes import NOW

BAND = Band(pass_nats=0.012, fail_nats=0.045)


def at(minute: int, value: float | None, **changes: Any) -> Point:
    return Point(at=NOW + timedelta(minutes=minute), value=value, low=value, high=value, n=1 if value else 0, **changes)


def layers(chart: ChartLike | None) -> dict[str, list[dict[str, Any]]]:
    """The rows that each kind of mark is given."""
    assert chart is not None
    spec = specification(chart)
    found: dict[str, list[dict[str, Any]]] = {}
    for layer in spec["layer"]:
        rows = spec["datasets"][layer.get("data", spec.get("data"))["name"]]
        found.setdefault(layer["mark"]["type"], []).extend(rows)
    return found


def scale(chart: ChartLike | None, channel: str, mark: str) -> dict[str, Any]:
    assert chart is not None
    layer = next(layer for layer in chart.to_dict()["layer"] if layer["mark"]["type"] == mark)
    found: dict[str, Any] = layer["encoding"][channel]["scale"]
    return found


def instants(chart: ChartLike | None) -> list[datetime]:
    found = []
    for bound in scale(chart, "x", "circle")["domain"]:
        assert bound["utc"]
        year, month, day = bound["year"], bound["month"], bound["date"]
        found.append(datetime(year, month, day, bound["hours"], bound["minutes"], bound["seconds"], tzinfo=UTC))
    return found


def test_nothing_to_draw_is_none_and_not_an_empty_box() -> None:
    assert over_time([], unit="ms") is None
    assert fidelity([], BAND) is None
    assert outcomes([]) is None


def test_one_point_is_a_point_within_a_range_that_is_not_zero() -> None:
    chart = over_time([at(0, 350.0)], unit="ms")
    assert [row["value"] for row in layers(chart)["circle"]] == [350.0]
    assert "area" not in layers(chart)
    low, high = scale(chart, "y", "circle")["domain"]
    assert low == 0
    assert high > 350
    first, last = instants(chart)
    assert first < NOW < last
    assert last - first >= timedelta(minutes=2)


@pytest.mark.parametrize("value", [0.0, 350.0])
def test_equal_points_have_a_range(value: float) -> None:
    low, high = scale(over_time([at(minute, value) for minute in range(3)], unit="ms"), "y", "circle")["domain"]
    assert low < high


def test_a_failure_among_successes_is_a_gap_with_a_cross_and_never_a_zero() -> None:
    chart = over_time([at(0, None), at(1, 350.0), at(2, None)], unit="ms")
    drawn = layers(chart)
    assert [row["value"] for row in drawn["circle"]] == [350.0]
    assert [row["value"] for row in drawn["line"]] == [None, 350.0, None]
    assert len(drawn["point"]) == 2
    assert {row["text"] for row in drawn["point"]} == {"–"}


def test_three_points_get_an_area_and_two_do_not() -> None:
    three = [at(minute, 1.0 + minute) for minute in range(3)]
    assert "area" in layers(over_time(three, unit="ms"))
    assert "area" not in layers(over_time(three[:2], unit="ms"))


def test_only_failures_still_make_a_chart() -> None:
    drawn = layers(over_time([at(0, None)], unit="ms"))
    assert len(drawn["point"]) == 1
    assert drawn["circle"] == []


def test_fidelity_has_a_log_axis_that_holds_values_and_both_thresholds() -> None:
    chart = fidelity([at(minute, 0.3) for minute in range(3)], BAND)
    axis = scale(chart, "y", "circle")
    low, high = axis["domain"]
    assert axis["type"] == "log"
    assert 0 < low < 0.012
    assert high > 0.3
    assert [row["text"] for row in layers(chart)["text"]] == ["pass up to 0.012 nats", "fail from 0.045 nats"]
    zones = [(row["start"], row["end"]) for row in layers(chart)["rect"]]
    assert zones == [(low, 0.012), (0.012, 0.045), (0.045, high)]


def test_zero_and_negative_divergences_stand_at_the_floor_with_their_true_value_in_the_tooltip() -> None:
    rows = layers(fidelity([at(0, 0.0), at(1, -0.002), at(2, 0.01)], BAND))["circle"]
    assert [row["value"] for row in rows] == [FLOOR_NATS, FLOOR_NATS, 0.01]
    assert [row["text"] for row in rows] == ["0 nats", "-0.002 nats", "0.01 nats"]


def test_without_a_band_no_zone_is_invented() -> None:
    drawn = layers(fidelity([at(0, 0.01)], Band(pass_nats=None, fail_nats=None)))
    assert "rect" not in drawn
    assert "text" not in drawn


@pytest.mark.parametrize(("low", "high"), [(0.003, 0.36), (0.001, 0.032), (5e-6, 8.0), (0.25, 8.0)])
def test_a_log_axis_always_has_two_ticks_or_more(low: float, high: float) -> None:
    ticks = log_ticks(low, high)
    assert len(ticks) >= 2
    assert all(low <= tick <= high for tick in ticks)


def test_outcomes_say_k_of_n_and_whose_fault_in_words() -> None:
    counts = [Count(outcome="ok", kind="answered", n=43), Count(outcome="stalled", kind="endpoint's fault", n=7)]
    texts = {row["text"] for row in layers(outcomes(counts))["text"]}
    assert texts == {"43 of 50, answered", "7 of 50, endpoint's fault"}


def test_charts_of_one_page_have_one_height() -> None:
    for chart in (over_time([at(0, 1.0)], unit="ms"), fidelity([at(0, 1.0)], BAND)):
        assert chart is not None
        assert chart.to_dict()["height"] == HEIGHT


def identification(**details: Any) -> Verdict:
    schemes = [{"name": "Q8_0", "family": "8-bit", "posterior": 0.97, "twins": []},
               {"name": "golden", "family": "bf16-class", "posterior": 0.03, "twins": []}]  # fmt: skip
    return Verdict(
        verdict_id="v", endpoint="acme/m", detector="identify", detector_version=2, at=NOW, status="suspect",
        cause="weights: Q8_0", statistic="coarser_posterior", effect=0.97, unit="share", low=0.97, high=0.97, n=20,
        threshold=0.99, p_value=None, e_value=None, mde=None, band=None, reason="after 20 prompts", run_ids=("r",),
        fingerprint=None, details={"schemes": schemes, "nearest": "Q8_0", **details},
    )  # fmt: skip


def test_the_posterior_is_drawn_likeliest_first() -> None:
    bars = layers(posterior(identification()))["bar"]
    assert [(row["scheme"], row["posterior"]) for row in bars] == [("Q8_0", 0.97), ("golden", 0.03)]


def test_a_specification_has_the_rows_as_they_were_and_is_what_vega_lite_takes() -> None:
    """Oracle: the rows themselves, and Altair's own schema."""
    rows = [{"x": 0.1, "text": 'a "b" \u202e', "n": None}, {"x": 1e-9, "text": "", "n": 3}]
    chart = alt.layer(inline(rows).mark_line().encode(x="x:Q"), inline(rows[:1]).mark_point().encode(x="x:Q"))
    spec = specification(chart)
    assert sorted(spec["datasets"].values(), key=len) == [rows[:1], rows]
    assert spec["config"] == {"mark": {"aria": False}}
    alt.LayerChart.from_dict(spec)  # raises where it is none
    alone = specification(inline(rows).mark_line().encode(x="x:Q"))
    assert alone["datasets"] == {alone["data"]["name"]: rows}


def test_deviations_are_drawn_on_equal_axes_and_not_at_all_for_text() -> None:
    chart = deviations(identification(dots=[(0.1, 0.12), (-0.3, -0.2)]))
    assert [(row["predicted"], row["observed"]) for row in layers(chart)["circle"]] == [(0.1, 0.12), (-0.3, -0.2)]
    assert scale(chart, "x", "circle")["domain"] == scale(chart, "y", "circle")["domain"] == [-0.3, 0.3]
    assert deviations(identification(dots=[])) is None
    assert deviations(identification()) is None


def test_strips_stand_side_by_side_and_not_at_all_for_text() -> None:
    # Oracle: the numbers of the verdict; a line ends where its position does.
    found = [{"prompt": "pool-1", "tokens": [[-0.1, -0.2], [0.3, 0.25]]}, {"prompt": "pool-1", "tokens": [[0.5, 0.4]]}]
    drawn = layers(strips(identification(strips=found)))
    lines = [(row["strip"], row["at"], row["predicted"]) for row in drawn["line"]]
    assert lines == [(0, 0, -0.1), (0, 1, 0.3), (1, 3, 0.5)]
    assert [row["observed"] for row in drawn["circle"]] == [-0.2, 0.25, 0.4]
    assert [row["at"] for row in drawn["rule"]] == [2]
    assert strips(identification(strips=[])) is None
    assert strips(identification()) is None
