"""Oracles: small cases of each page's view model, counted by hand."""

import math
import random
from dataclasses import replace
from datetime import timedelta
from html import escape
from typing import Any

import pytest

from dashboard import evidence_charts, instrument_view, ladder, speed_view
from dashboard.axes import specification
from dashboard.compare_view import served_table
from dashboard.incident_view import BEFORE, LONGEST, around, bars, lasted, metrics_of, shaded, told
from dashboard.instrument_view import Used, accounts, slot_rows
from dashboard.plot_names import NARROWEST, WIDEST, Spot, placed
from dashboard.positions import Place
from dashboard.speed_view import Bin, Bucket, Speeds, quantile
from dashboard.store_reader import Point
from dashboard.tools_view import failures, few_of_each, funnel, graded_of, named
from dashboard.trades import Trade, frontier, plot
from dashboard.verdict_steps import SUSPECT_NATS, log_e, steps
from monitor import comparison_cells as cells
from monitor.budget import Budget
from monitor.comparison import Ladder
from monitor.comparison_marks import on_ladder
from monitor.comparison_rows import compare
from monitor.comparison_weights import served
from monitor.results import RunRecord
from monitor.types import Endpoint
from monitor.wire.waterfall import Phase
from tests.dashboard import rich_others, scenes
from tests.dashboard.scenes import NOW, verdict
from tests.dashboard.store import LADDER
from tests.report import made as report

KL = "logprob_fidelity"


def rows_of(chart: Any) -> list[dict[str, Any]]:
    """All rows that a chart was given."""
    assert chart is not None
    return [row for rows in specification(chart)["datasets"].values() for row in rows]


def test_evidence_is_what_a_verdict_tells_of_itself_or_its_e_value() -> None:
    plain = verdict("a", KL, "pass", e_value=math.e**3)
    assert log_e(plain) == pytest.approx(3)
    assert log_e(replace(plain, details={"log_e": 7.5})) == 7.5
    assert log_e(replace(plain, statistic="joint_log_e", effect=4.0)) == 4.0
    assert log_e(replace(plain, e_value=None)) is None


def test_steps_come_oldest_first_with_the_threshold_that_each_was_held_against() -> None:
    old = verdict("a", KL, "pass", e_value=2.0, at=NOW - timedelta(days=1))
    new = replace(old, at=NOW, details={"log_e": 9.0, "log_e_to_fail": 6.9})
    joint = replace(old, at=NOW + timedelta(days=1), statistic="joint_log_e", effect=1.0, threshold=12.9)
    assert [step.threshold for step in steps([joint, new, old])] == [SUSPECT_NATS, 6.9, 12.9]


def test_the_ladder_puts_the_endpoint_between_calibrated_variants() -> None:
    made = ladder.of_verdict(verdict("a", KL, "fail", effect=0.1, low=0.07, high=0.13), LADDER)
    drawn = rows_of(made)
    assert made is not None
    labels = next(layer["encoding"]["y"]["sort"] for layer in made.to_dict()["layer"] if "y" in layer["encoding"])
    order = [label.split("\n")[0] for label in labels]  # the number stands on a line of its own
    assert order.index("Q4_K") < order.index("a") < order.index("Q4_0")
    kinds = {row["name"]: row["kind"] for row in drawn}
    assert kinds["Q4_K"] == "degraded"
    assert kinds["vLLM bf16"] == "faithful"
    assert {kinds["passes up to"], kinds["fails from"]} == {"limit"}


def test_a_comparison_is_drawn_with_the_marks_of_the_report() -> None:
    """Oracle: `monitor.comparison_marks`, which the report draws; an endpoint of another prompt is hollow in both."""
    first, second, *_ = report.facts()
    other = verdict(second.endpoint.name, "accounting", "fail", cause="template")
    (model,) = compare([first, replace(second, verdicts=(*second.verdicts, other))]).models
    marks = {one.name: (one.text, one.hollow) for one in on_ladder(model)}
    assert marks[second.endpoint.name][1] is True
    assert marks[first.endpoint.name][1] is False
    drawn = {row["name"]: row for row in rows_of(ladder.of_model(model))}
    assert {name: (drawn[name]["text"], drawn[name]["hollow"]) for name in marks} == marks
    assert drawn["tolerated 0.002"]["kind"] == "limit"
    traded = rows_of(plot(model, Trade(across="price_out_usd", up="kl")))
    assert {row["endpoint"]: row["hollow"] for row in traded} == {name: hollow for name, (_, hollow) in marks.items()}


@pytest.mark.parametrize("seed", range(20))
def test_names_of_a_plot_lie_neither_over_each_other_nor_over_a_mark(seed: int) -> None:
    """Oracle: boxes by themselves, on the narrowest plot and on one twice as wide."""
    draw = random.Random(seed)
    spots = [Spot(name="x" * draw.randint(4, 30), across=draw.random(), up=draw.random()) for _ in range(6)]
    spots = [replace(one, name=f"{place}{one.name}") for place, one in enumerate(spots)]
    found = placed([one.name for one in spots], spots, high=280)
    assert found or seed
    for wide in (NARROWEST, 2 * NARROWEST):
        boxes = []
        for one in spots:
            x, y = one.across * wide, (1 - one.up) * 280
            boxes.append((x - 5, x + 5, y - 5, y + 5))
            if one.name in found:
                align, dx, dy = found[one.name]
                long = min(WIDEST, 6.2 * len(one.name))
                left = x + dx if align == "left" else x + dx - long
                assert left >= 0
                assert left + long <= wide + 1e-9
                boxes.append((left, left + long, y + dy - 6, y + dy + 6))
        if wide == NARROWEST:
            texts = [box for box in boxes if box[3] - box[2] == pytest.approx(12)]
            for text in texts:
                assert not [1 for box in boxes if box is not text and text[0] < box[1] and box[0] < text[1]
                            and text[2] < box[3] and box[2] < text[3]]  # fmt: skip


def test_a_name_stands_right_above_its_mark_where_nothing_is_in_the_way_and_on_the_left_at_the_edge() -> None:
    spots = [Spot(name="acme/m", across=0.1, up=0.5), Spot(name="bargain/m", across=0.95, up=0.5)]
    assert placed(["acme/m", "bargain/m"], spots, high=280) == {
        "acme/m": ("left", 9, -9), "bargain/m": ("right", -9, -9),
    }  # fmt: skip
    # The interval of another runs where the name would stand.
    over = Spot(name="o", across=0.9, up=0.5 + 9 / 280, across_ends=(0.0, 1.0))
    assert placed(["acme/m"], [spots[0], over], high=280) == {"acme/m": ("left", 9, 10)}
    crowd = [Spot(name=f"endpoint-{place}/with-a-name", across=0.5, up=0.5) for place in range(30)]
    assert 4 <= len(placed([one.name for one in crowd], crowd, high=280)) < 30  # the others have no free place


def test_the_table_of_what_is_served_says_what_the_report_opens_with() -> None:
    """Oracle: the same cells; a reader of the page needs no report to know how far, since when and what to do."""
    (model,) = compare(report.facts()).models
    drawn = served_table(model).text
    for row in model.rows:
        for said in (cells.far(row), cells.wrong_since(row), cells.way_out(model, row), served(row).served):
            assert escape(said, quote=False) in drawn
    assert 'data-label="Wrong since">2026-03-01 15:00 UTC</td>' in drawn
    assert 'data-label="Remark">over-quantised</td>' in drawn.replace('<bdi dir="auto">', "").replace("</bdi>", "")


def test_what_is_nearer_to_golden_than_the_axis_reaches_stands_in_its_order_too() -> None:
    near = tuple(replace(LADDER.rungs[0], name=name, value=value, low=None, high=None)
                 for name, value in (("a", 9e-12), ("b", 7e-12)))  # fmt: skip
    made = ladder.of_verdict(verdict("z", KL, "fail", effect=0.1, low=0.07, high=0.13), replace(LADDER, rungs=near))
    assert made is not None
    labels = next(layer["encoding"]["y"]["sort"] for layer in made.to_dict()["layer"] if "y" in layer["encoding"])
    order = [label.split("\n")[0] for label in labels]  # the number stands on a line of its own
    assert order[:2] == ["b", "a"]
    texts = {row["name"]: row["text"] for row in rows_of(made)}
    assert (texts["a"], texts["z"]) == ("9e-12", "0.1 [0.07, 0.13]")


def test_the_ladder_does_without_calibration_and_not_without_nats() -> None:
    empty = Ladder(rungs=(), tolerance=None, n_prompts=None, at=None, weights_sha256=None)
    for calibrated in (None, empty):
        assert len({row["name"] for row in rows_of(ladder.of_verdict(verdict("a", KL, "pass"), calibrated))}) == 3
    assert ladder.of_verdict(verdict("a", "accounting", "pass"), LADDER) is None
    assert ladder.of_verdict(verdict("a", KL, "inconclusive", effect=None), LADDER) is None


@pytest.mark.parametrize("value", [0.0, 5.0])
def test_one_verdict_is_one_mark_on_axes_that_are_not_empty(value: float) -> None:
    one = verdict("a", KL, "pass", effect=value, low=value, high=value, e_value=1.0)
    for chart in (evidence_charts.effects([one]), evidence_charts.path(steps([one]))):
        assert chart is not None
        scales = [layer["encoding"]["y"]["scale"]["domain"] for layer in chart.to_dict()["layer"]]
        assert all(low < high for low, high in scales)
    assert evidence_charts.effects([replace(one, effect=None)]) is None
    assert evidence_charts.path([]) is None
    assert evidence_charts.by_place([]) is None
    assert evidence_charts.by_place([Place(place=0, mean=0, low=0, high=0, n=1)]) is not None


def test_the_waterfall_draws_what_was_timed_and_nothing_else() -> None:
    phases = [Phase("dns", None, None), Phase("sent", 0.0, 0.4), Phase("first_byte", 0.4, 50.0)]
    names = {row["phase"] for row in rows_of(evidence_charts.timeline(phases, [50.0, 60.0]))}
    assert names == {"sent", "first byte", "token events"}
    assert evidence_charts.timeline([Phase("dns", None, None)], []) is None


def points(*values: float | None) -> list[Point]:
    start = NOW - timedelta(hours=3)
    return [
        Point(at=start + timedelta(hours=hour), value=value, low=value, high=value, n=2)
        for hour, value in enumerate(values)
    ]


def test_an_incident_is_told_before_during_and_after() -> None:
    incident = replace(
        scenes.incident(NOW),
        opened_at=NOW - timedelta(hours=2),
        closed_at=NOW - timedelta(hours=1),
        detector="availability",
    )
    window = around(incident, NOW)
    assert window.since == incident.opened_at - BEFORE
    assert told(points(1.0, 0.0, 1.0, None), window, "share") == [
        ("before", "100 %", "2"), ("during", "0 %", "2"), ("after", "100 %", "4"),
    ]  # fmt: skip
    assert told([], window, "share")[0] == ("before", "–", "0")
    assert shaded([], window, "share") is None
    assert shaded([Point(at=window.opened_at, value=None)], window, "ms") is None  # no empty axes
    assert metrics_of(incident) == ("success_rate", "ttft_ms_p50")
    assert lasted(incident, NOW) == "1 h"


def test_a_long_incident_is_not_drawn_with_months_around_it_and_an_open_one_ends_now() -> None:
    incident = replace(scenes.incident(NOW), opened_at=NOW - timedelta(days=60))
    window = around(incident, NOW)
    assert (window.since, window.until) == (incident.opened_at - LONGEST, NOW)
    assert bars([], NOW - timedelta(days=30), NOW) is None
    row = rows_of(bars([incident], NOW - timedelta(days=30), NOW))[0]
    assert row["state"] == "open"
    assert row["at"] == (NOW - timedelta(days=30)).isoformat()


@pytest.mark.parametrize(("n", "seen"), [(1, [None] * 5), (2, [None, None, 3, None, None]), (8, [None, 2, 3, 4, None]),
                                         (20, [1, 2, 3, 4, 5])])  # fmt: skip
def test_a_quantile_needs_enough_values(n: int, seen: list[float | None]) -> None:
    assert [quantile((1, 2, 3, 4, 5), place, n) for place in range(5)] == seen
    assert quantile(None, 2, 100) is None


def bucket(vantage: str, n: int, *, late: int = 0) -> Bucket:
    some = (1.0, 2.0, 3.0, 4.0, 5.0) if n > late else None
    return Bucket(
        vantage=vantage,
        at=NOW,
        n=n,
        n_good=n - late,
        n_late=late,
        n_ttft=n - late,
        n_tpot=0,
        ttft_ms=some,
        tpot_ms=None,
    )


def test_speeds_are_told_by_place_and_timeouts_are_never_a_fast_answer() -> None:
    speeds = Speeds(
        buckets=(bucket("eu", 30), bucket("us", 5, late=5)), bins=(Bin(vantage="eu", metric="ttft_ms", bin=8.0, n=30),)
    )
    assert {row["vantage"] for row in rows_of(speed_view.over_time(speeds, "ttft_ms"))} == {"eu"}
    assert speed_view.over_time(speeds, "tpot_ms") is None
    assert speed_view.summary(speeds.buckets) == [("eu", 30, 30, 0), ("us", 5, 0, 5)]
    row = rows_of(speed_view.spread(speeds, "ttft_ms", "eu"))[0]
    assert (row["low"], row["share"]) == (4.0, 1.0)
    assert speed_view.spread(speeds, "ttft_ms", "us") is None


def tools() -> RunRecord:
    found = rich_others.tools("p/m", "m", NOW)[0][1]
    assert isinstance(found, RunRecord)
    return found


def test_the_funnel_loses_an_answer_at_the_layer_of_its_first_fault() -> None:
    graded = graded_of([tools()])
    left = {step.layer: (step.rate.k, step.lost) for step in funnel(graded)}
    assert left["protocol"] == (11, 0)
    assert left["parser"] == (10, 1)
    assert left["schema"] == (7, 3)
    found = failures(graded)
    assert named(found)[0][:2] == ("parser", "markup_leak")
    few = few_of_each(found, 1)
    assert [one.symptom.name for one in few] == list(dict.fromkeys(one.symptom.name for one in found))
    assert funnel([])[0].rate.low is None


def test_the_funnel_sees_what_the_verdict_saw_of_the_template() -> None:
    """Oracle: the detector's own step. Two prompts that differ in their tools only, and are equally long."""
    record = tools()
    first, second, *_ = record.exchanges
    assert second.request is not None
    other = ({"type": "function", "function": {"name": "other", "description": "x " * 50, "parameters": {}}},)
    counted = [replace(first, usage={"prompt_tokens": 9}),
               replace(second, request=replace(second.request, tools=other), usage={"prompt_tokens": 9})]  # fmt: skip
    blind = replace(record, exchanges=tuple(counted))
    left = {step.layer: step.lost for step in funnel(graded_of([blind]))}
    assert left["template"] == 2
    assert "tools_not_in_prompt" in {one.symptom.name for one in failures(graded_of([blind]))}


def test_the_frontier_joins_those_that_none_beats_in_both() -> None:
    some = [
        {"endpoint": name, "x": x, "y": y}
        for name, x, y in (("cheap", 1, 5), ("dear", 9, 1), ("beaten", 9, 6), ("twin", 1, 5))
    ]
    assert [row["endpoint"] for row in frontier(some, "lower", "lower")] == ["cheap", "twin", "dear"]
    assert [row["endpoint"] for row in frontier(some, "lower", "higher")] == ["cheap", "twin", "beaten"]


def test_spend_stands_against_the_budget_that_is_used_most() -> None:
    priced = Endpoint(name="a", provider="p", base_url="u", model="m", price_in_usd=1.0, price_out_usd=2.0)
    found = accounts(
        [Used(endpoint="a", tokens_in=1_000_000, tokens_out=500_000), Used(endpoint="b", tokens_in=5, tokens_out=5)],
        {"a": Budget(tokens=3_000_000, usd=2.5), "c": Budget(tokens=10)}, [priced],
    )  # fmt: skip
    by_name = {one.endpoint: one for one in found}
    assert found[0].endpoint == "a"
    assert by_name["a"].used.usd == pytest.approx(2.0)
    assert by_name["a"].share == pytest.approx(0.8)
    assert (by_name["b"].share, by_name["b"].used.usd) == (None, None)
    assert by_name["c"].share == 0.0


def test_slots_that_did_not_run_come_first() -> None:
    def one(state: str, reason: str | None, n: int) -> instrument_view.SlotCount:
        return instrument_view.SlotCount(endpoint="a", probe="p", state=state, reason=reason, n=n, last_at=NOW)

    rows = slot_rows(
        [one("done", None, 90), one("skipped", "over budget", 3), one("missed", "x", 1), one("done", None, 5)]
    )
    assert [row[:3] for row in rows] == [("missed", "x", 1), ("skipped", "over budget", 3), ("done", "", 95)]
