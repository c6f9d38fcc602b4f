"""Oracles: cells and small pictures written by hand."""

import base64
import re
from dataclasses import replace
from datetime import timedelta

from dashboard.areas import AREAS, OTHER, SUITE, Past, Standing, area_cell, areas_of, speaking
from dashboard.grid import grid
from dashboard.sparkline import sparkline
from dashboard.store_reader import EndpointNow
from monitor.results import Verdict
from monitor.summary import NO_HISTORY
from tests.dashboard.scenes import NOW, verdict

UP, SPEED, FIDELITY = AREAS[0], AREAS[1], AREAS[2]


def now(*verdicts: Verdict) -> EndpointNow:
    return EndpointNow(endpoint="a", provider="p", model="m", verdicts=verdicts, metrics={})


def test_the_worst_detector_speaks_for_an_area_and_of_equal_ones_the_first() -> None:
    good = verdict("a", "logprob_fidelity", "pass")
    bad = replace(good, detector="border", status="fail", cause="weights")
    assert speaking([good, bad], FIDELITY) == bad
    assert speaking([replace(good, detector="greedy_flips"), good], FIDELITY) == good
    assert speaking([good], UP) is None


def test_a_detector_without_a_past_speaks_only_where_no_other_does() -> None:
    good = verdict("a", "logprob_fidelity", "pass")
    young = replace(good, detector="logprob_history", status="inconclusive", cause=NO_HISTORY)
    assert speaking([young, good], FIDELITY) == good
    assert speaking([young], FIDELITY) == young


def test_a_cell_says_since_when_and_whether_it_was_longer() -> None:
    bad = verdict("a", "availability", "fail", cause="http_5xx")
    standing = Standing(endpoint="a", detector="availability", since_at=NOW, changed=True, cells=(None,))
    cell = area_cell(now(bad), UP, {("a", "availability"): standing})
    assert (cell.status, cell.why, cell.since_at, cell.before) == ("fail", "http 5xx", NOW, False)
    whole = area_cell(now(bad), UP, {("a", "availability"): replace(standing, changed=False)})
    assert whole.before
    unknown = area_cell(now(bad), UP, {})
    assert (unknown.since_at, unknown.before) == (None, False)


def test_what_nobody_judged_is_not_a_pass() -> None:
    assert area_cell(now(), UP, {}).status is None


def test_detectors_of_no_area_get_a_column_of_their_own() -> None:
    assert areas_of([now(verdict("a", "availability", "pass"))]) == AREAS
    strange = replace(verdict("a", "availability", "pass"), detector="made_up")
    last = areas_of([now(strange)])[-1]
    assert (last.name, last.detectors) == (OTHER.name, ("made_up",))


def test_a_private_suite_has_a_column_only_where_there_is_one() -> None:
    private = replace(verdict("a", "availability", "fail"), detector="suite")
    assert areas_of([now(private)]) == (*AREAS, SUITE)
    assert speaking([private], SUITE) == private


def drawing(past: list[Past | None]) -> str:
    made = sparkline(past)
    assert made is not None
    found = re.search(r'base64,([^"]+)"', made.text)
    assert found is not None
    return base64.b64decode(found[1]).decode()


def test_a_picture_has_a_tick_per_look_and_a_gap_stays_a_gap() -> None:
    past = [Past(status="pass", effect=1.0), None, Past(status="fail", effect=2.0), Past(status="suspect", effect=2.0)]
    drawn = drawing(past)
    assert drawn.count("<rect") == 3
    assert (drawn.count("<circle"), drawn.count("<polyline")) == (1, 1)
    heights = re.findall(r'height="(\d)"', drawn)
    assert heights == ["2", "9", "5"]


def test_equal_effects_are_a_level_line_and_nothing_is_no_picture() -> None:
    level = drawing([Past(status="pass", effect=3.0)] * 3)
    heights = {point.split(",")[1] for point in re.findall(r'points="([^"]+)"', level)[0].split()}
    assert len(heights) == 1
    assert sparkline([None, None]) is None
    assert sparkline([]) is None


def test_the_grid_of_200_endpoints_is_one_table_of_text() -> None:
    many = [
        EndpointNow(
            endpoint=f"<b>{place}",
            provider="p",
            model="مرحبا 你好",
            metrics={},
            last_run_at=NOW - timedelta(hours=1),
            verdicts=(replace(verdict("a", "availability", "pass"), verdict_id=f"v{place}"),),
        )
        for place in range(200)
    ]
    drawn = grid(many, AREAS, {}, NOW).text
    assert drawn.count("<tr ") == 201
    assert drawn.count("<table") == 1
    assert "<b>" not in drawn
    assert drawn.count("مرحبا 你好") == 200
