"""What a fresh reader of a report stumbled over. Oracle: facts set by hand, and the question that was asked."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from jobs.compare import Wanted, compared
from jobs.compare_charts import NARROW, forest
from monitor.comparison import Estimate
from monitor.comparison_cells import n_billed, wrong_since
from monitor.comparison_facts import Bill, Streak
from monitor.comparison_faults import faults_text, short_fault
from monitor.comparison_measures import measure
from monitor.comparison_order import ranking
from monitor.comparison_rows import compare
from monitor.comparison_switch import switching
from monitor.comparison_verdicts import effect, rests_on, threshold
from monitor.comparison_weights import ladder_text, served
from monitor.comparison_words import order_text, sections
from storage.store import DuckStore
from tests.report.made import LADDER, facts, filled, told
from tests.report.test_reader import misprompted, row_of
from tests.storage.factories import START, endpoint, minutes, verdict

KL = measure("kl")


def named(name: str, family: str, **changes: Any) -> Any:
    schemes = [{"name": name, "family": family, "posterior": 0.9999, "twins": []}]
    return verdict(
        "i", detector="identify", status="fail", statistic="coarser_posterior", unit="share", effect=0.9999,
        details={"schemes": schemes}, **changes,
    )  # fmt: skip


def test_what_is_no_precision_of_weights_is_not_called_coarser() -> None:
    assert effect(named("no-system", "template")) == "no-system: above 0.999"
    assert effect(named("Q4_0", "4-bit")) == "coarser: above 0.999"


def test_the_first_line_says_of_nobody_what_was_not_judged() -> None:
    rows = {row.endpoint.name: row for row in compare(facts()).models[0].rows}
    assert short_fault(rows["bargain/m"]) == "serves Q4_0 (4 bits per weight)"
    assert short_fault(rows["corner/m"]) == "fails 47.1% of requests"  # 18 of 34 were good
    assert faults_text([rows["acme/m"], rows["dusk/m"]]) == ""
    assert faults_text([rows["corner/m"]] * 7).endswith(", 2 others fail or are suspect")
    details = {**named("Q4_0", "4-bit").details, "share": 0.39, "share_low": 0.18, "share_high": 0.62}
    (first, second, *_) = facts()
    routed = named("Q4_0", "4-bit", endpoint="bargain/m", cause="routing: Q4_0")
    row = row_of([first, replace(second, verdicts=(replace(routed, details=details),))], "bargain/m")
    assert short_fault(row) == "serves Q4_0 (4 bits per weight) for about 39% of requests"


def kl(value: float, n_prompts: int) -> Estimate:
    return Estimate(value=value, low=0.9 * value, high=1.1 * value, n=140, threshold=0.0013, n_prompts=n_prompts)


def test_divergences_over_different_prompts_are_tied_unless_one_is_tolerated_and_the_other_is_not() -> None:
    """149 positions of 47 prompts beside 133 of 31: the harder prompts may make the difference."""
    found = ranking(KL, {"a": kl(5e-6, 47), "b": kl(0.26, 47), "e": kl(0.097, 31)})
    assert order_text(found) == "1. a; 2. b and e (tied)"
    (remark,) = found.remarks
    assert remark.startswith("b and e: divergences over different prompts (47 and 31)")
    alike = ranking(KL, {"a": kl(5e-6, 47), "b": kl(0.26, 47), "e": kl(0.097, 47)})
    assert (order_text(alike), alike.remarks) == ("1. a; 2. e; 3. b", ())


def test_the_reason_of_a_tie_stands_beside_the_order() -> None:
    first, second, *_ = facts()
    far = [
        replace(one, verdicts=(told(one.endpoint.name, "fail", nats, 0.9 * nats, 1.1 * nats, details=details),))
        for one, nats, details in ((first, 0.1, {"n_prompts": 31}), (second, 0.3, {"n_prompts": 47}))
    ]
    (order,) = (one for one in sections(compare(far).models[0]) if one.title == "Order")
    assert any("Not comparable: acme/m and bargain/m: divergences over" in one for one in order.sentences)


def test_an_endpoint_with_two_faults_is_wrong_since_the_earlier() -> None:
    first, *_ = facts()
    bad = [
        verdict("a", endpoint="acme/m", detector="availability", status="fail", cause="http_5xx", at=minutes(60)),
        verdict("f", endpoint="acme/m", detector="faults", status="fail", cause="protocol", at=minutes(60)),
    ]
    past = {
        name: Streak(last_good_at=None, first_bad_at=minutes(at), n_bad=2)
        for name, at in (("availability", 5), ("faults", 3))
    }
    row = row_of([replace(first, verdicts=tuple(bad), past=past)], "acme/m")
    assert wrong_since(row) == "2026-03-01 12:03 UTC or before"


def test_a_detection_limit_lies_visibly_beyond_what_is_tolerated() -> None:
    near = told("a/m", "pass", 5.5e-6, 4.5e-6, 6.7e-6, threshold=0.00129, mde=0.00129 + 1.4e-6)
    assert rests_on(near) == "n 133, from 1.4e-06 nats above the threshold on it would show"
    first, *others = facts()
    (limit,) = (
        one for one in row_of([replace(first, verdicts=(near,)), *others], "acme/m").limits if "Detection limit" in one
    )
    assert "Detection limit: 1.4e-06 nats beyond the 0.00129 that are tolerated" in limit


def test_where_a_tolerance_is_from_is_said_only_of_that_of_the_ladder() -> None:
    first, *_ = facts()
    own = replace(first, verdicts=(told("acme/m", "pass", 5e-6, 4e-6, 7e-6, threshold=0.0013),))
    model = compare([own], ladders={"smollm2": LADDER}).models[0]
    assert "0.0013 is where one more faithful engine would stay with 99%" in ladder_text(model)
    assert "99%" not in ladder_text(compare([first], ladders={"smollm2": LADDER}).models[0])  # a threshold of 0.002


def test_all_that_is_undecided_is_listed_for_everybody() -> None:
    first, second, *_ = facts()
    young = [
        replace(one, verdicts=(*one.verdicts, verdict(
            "s", endpoint=one.endpoint.name, detector="speed_shift", status="inconclusive", cause="no_history",
            reason="7 earlier runs, at least 12 needed",
        )))
        for one in (first, second)
    ]  # fmt: skip
    for row in compare(young).models[0].rows:
        assert "Not decided: speed_shift: 7 earlier runs, at least 12 needed." in row.limits


def test_an_identification_is_dated_and_runs_after_it_are_told() -> None:
    first, *_ = facts()
    late = replace(first.probes[0], probe="identify", last_at=START + timedelta(hours=3))
    early = named("Q4_0", "4-bit", endpoint="acme/m", at=START + timedelta(hours=1))
    row = row_of([replace(first, probes=(*first.probes, late), verdicts=(*first.verdicts, early))], "acme/m")
    assert served(row).named_at == "as of 2026-03-01 13:00 UTC"
    assert (
        "Its newest identification is of 2026-03-01 13:00 UTC; its run of 2026-03-01 15:00 UTC was not judged by then."
    ) in row.limits


def test_a_switch_says_over_how_many_requests_and_that_a_dropped_prompt_is_no_saving() -> None:
    bill = Bill(probe="speed", params_sha256="p", n=10, tokens_in=550, tokens_out=130)
    cheap, good = replace(bill, tokens_in=340), bill
    first, *_ = facts()
    priced = endpoint("zeta/m", price_in_usd=0.2, price_out_usd=0.6)
    found = [replace(misprompted()[0], bills=(cheap,)), replace(first, endpoint=priced, bills=(good,))]
    (one,) = compare(found).models[0].switches
    (text,) = switching([one], {"acme/m": "the system turn"})
    assert "(means over 20 requests of both)" in text
    assert text.endswith(
        "A part of that is the system turn, which acme/m leaves out and so does not bill: 34 prompt tokens a request "
        "instead of 55."
    )
    assert n_billed(one) == "means of 20 requests"
    assert "A part of that" not in next(switching([one], {}))


def test_a_shift_is_told_in_points_and_not_as_a_share() -> None:
    shift = verdict("s", detector="shape", unit="share", effect=0.0, low=-0.266, high=0.117)
    assert effect(shift) == "+0.0 [-26.6, +11.7] points"
    assert threshold(replace(shift, threshold=0.05)) == "5 points"


def test_the_ends_of_a_narrow_axis_have_room() -> None:
    """Oracle: in DejaVu Sans, which is wide, at 12 units a digit takes 7.6 and a per cent sign 11.4."""
    picture = str(forest(compare(facts()).models[0], measure("availability"), NARROW))
    ends = {part.split(">")[1].split("<")[0]: float(part.split('"')[0]) for part in picture.split('tick" x="')[1:]}
    assert ends["0%"] >= (7.6 + 11.4) / 2
    assert ends["100%"] <= 350 - (3 * 7.6 + 11.4) / 2


@pytest.mark.parametrize(
    ("name", "said"), [("20261130T110207Z-asked", "2026-11-30 11:02 UTC"), ("mine", "mine")], ids=["ours", "theirs"]
)
def test_a_snapshot_is_called_by_when_it_was_taken(name: str, said: str, tmp_path: Path) -> None:
    folder = tmp_path / name
    folder.mkdir()
    store: DuckStore = filled(folder / "weighmaster.duckdb")
    store.close()
    found = compared(None, Wanted(patterns=(), span=None), [folder], store_url=None)
    assert found.source == f"from the snapshot of {said}"
