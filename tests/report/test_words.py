"""The words of a comparison. Oracle: the five questions of the issue, and what must not be said."""

from dataclasses import replace
from typing import Any

from monitor.comparison import Estimate, Row, Switch
from monitor.comparison_facts import Facts, ProbeRuns
from monitor.comparison_gather import gathered
from monitor.comparison_measures import measure
from monitor.comparison_order import ranking
from monitor.comparison_rows import compare, concluding
from monitor.comparison_switch import switch_text
from monitor.comparison_words import order_text, scope
from tests.report.made import LADDER, facts, known, logprobs, told, world
from tests.storage.factories import START, endpoint, minutes, verdict


def said(found: list[Facts]) -> str:
    return " ".join(compare(found, ladders={"smollm2": LADDER}).models[0].words)


def test_a_reader_learns_who_how_much_how_sure_since_when_and_what_a_switch_costs() -> None:
    text = said(facts())
    assert "bargain/m is over-quantised: it declares bf16 and serves Q4_0 (4 bits per weight)." in text
    assert "0.24 nats from golden's (95% interval 0.19 to 0.3), 120 times the 0.002 that a faithful server" in text
    assert "and its 95% interval lies above 0.02, from where on it fails." in text
    assert "on the ladder" not in text  # the identification names the scheme
    assert "Q4_0 explains its answers best (posterior above 0.999 after 16 prompts)." in text
    assert "It serves Q4_0 for an estimated 97% [82%, 100%] of requests, perhaps all, from 16 prompts." in text
    assert "It began between 2026-03-01 13:00 UTC, the last pass, and 2026-03-01 15:00 UTC" in text
    assert "To go from bargain/m to acme/m costs 0.10 USD more per million prompt tokens and 0.30 USD more" in text


def test_an_endpoint_that_only_fails_to_answer_is_not_called_unfaithful() -> None:
    text = said(facts())
    assert (
        "corner/m does not answer reliably: of the 34 requests of this window that count, 18 got a complete answer "
        "with usable tool calls (faults within these are told apart): 52.9%"
    ) in text
    assert "16 were not (16 x truncated)" in text
    assert "corner/m does not serve" not in text


def test_undecided_is_said_to_be_no_pass_and_suspect_is_neither() -> None:
    first, *others = facts()
    unsure = replace(first, verdicts=(told("acme/m", "suspect", 0.004, 0.003, 0.006, reason="a bit off"),))
    text = said([unsure, *others])
    assert "acme/m is suspect: a bit off." in text
    assert "serves what it declares" not in text
    assert "dusk/m could not be decided, which is no pass: no detector has judged this endpoint yet." in text


def test_serving_what_is_declared_takes_somebody_who_looked_at_the_weights() -> None:
    first, *others = facts()
    counted = verdict("c", endpoint="acme/m", detector="accounting", status="pass")
    (row, *_), text = _of(replace(first, verdicts=(counted,)), others)
    assert (row.status, row.fidelity) == ("pass", "inconclusive")
    assert "acme/m could not be decided, which is no pass: nothing has looked at its weights." in text
    assert "serves what it declares" not in text
    assert "To go from" not in text


def test_a_timing_that_failed_leaves_fidelity_as_it_is() -> None:
    first, *others = facts()
    late = verdict("s", endpoint="acme/m", detector="speed_shift", status="inconclusive", reason="no valid timings")
    rows, text = _of(replace(first, verdicts=(*first.verdicts, late)), others)
    row = next(one for one in rows if one.endpoint.name == "acme/m")
    assert (row.status, row.fidelity) == ("inconclusive", "pass")
    assert "acme/m serves what it declares (bf16), as far as was measured" in text
    assert "Not decided: speed_shift: no valid timings." in text
    assert "To go from bargain/m to acme/m" in text


def test_too_few_answers_to_look_for_faults_leave_fidelity_as_it_is() -> None:
    first, *others = facts()
    few = verdict("s", endpoint="acme/m", detector="shape", status="inconclusive", cause="too_few", reason="5 of 65")
    rows, text = _of(replace(first, verdicts=(*first.verdicts, few)), others)
    row = next(one for one in rows if one.endpoint.name == "acme/m")
    assert (row.status, row.fidelity) == ("inconclusive", "pass")
    assert "Choose acme/m for smollm2" in text
    assert "Not decided: shape: 5 of 65." in text
    # A detector of weights that could not decide does hold it up.
    open_ = replace(few, detector="logprob_fidelity")
    (row, *_), _ = _of(replace(first, verdicts=(open_,)), others)
    assert row.fidelity == "inconclusive"


def test_weights_that_are_right_are_told_of_an_endpoint_that_answers_badly() -> None:
    *others, corner, dusk = facts()
    fine = told("corner/m", "pass", 1e-5, 8e-6, 2e-5)
    _, text = _of(replace(corner, verdicts=(*corner.verdicts, fine)), [*others, dusk])
    assert "corner/m does not answer reliably" in text
    assert "What it serves is what it declares: KL 1e-05 nats [8e-06, 2e-05], 0.002 tolerated." in text


def _of(first: Facts, others: list[Facts]) -> tuple[tuple[Row, ...], str]:
    (model,) = compare([first, *others]).models
    return model.rows, " ".join(model.words)


def test_weights_without_a_named_scheme_are_not_called_quantised() -> None:
    (one,) = (known(item.endpoint, list(item.records), list(item.verdicts)[:1]) for item in world()[1:2])
    text = said([gathered(one)])
    assert "bargain/m does not serve the weights that it declares (bf16)." in text
    assert "over-quantised" not in text
    assert "Of all known ways" not in text


def test_no_numbers_are_made_up_where_there_is_text_only() -> None:
    flips = told(
        "acme/m", "fail", 0.3, 0.2, 0.4, detector="greedy_flips", statistic="flip_rate", unit="share", details={}
    )
    text = said([gathered(known(endpoint("acme/m"), [logprobs("acme/m")], [flips]))])
    assert "It takes another token than golden would at 30.0% of positions [20.0%, 40.0%]." in text
    assert "nats from golden" not in text
    assert "By " not in text  # nobody to compare with


def test_an_audit_decides_where_one_of_its_parts_could_not() -> None:
    """Its joint verdict rests on the same runs; a verdict on other runs still counts."""
    runs = ("r1", "r2")
    joint = verdict(
        "audit-1", endpoint="a/m", detector="audit", status="pass", run_ids=runs,
        details={"detectors": {"logprob_fidelity": {}, "greedy_flips": {}}},
    )  # fmt: skip
    open_part = verdict("part", endpoint="a/m", detector="greedy_flips", status="inconclusive", run_ids=("r1",))
    elsewhere = replace(open_part, run_ids=("r9",))
    assert concluding([joint, open_part]) == [joint]
    assert concluding([joint, elsewhere]) == [joint, elsewhere]
    assert concluding([open_part]) == [open_part]
    row = compare([Facts(endpoint=endpoint("a/m"), verdicts=(joint, open_part))]).models[0].rows[0]
    assert row.status == "pass"
    assert any("Not decided: greedy_flips: " in limit for limit in row.limits)


def test_a_tier_with_an_order_inside_tells_the_places_of_each() -> None:
    def est(low: float, high: float) -> Estimate:
        return Estimate(value=(low + high) / 2, low=low, high=high)

    chain = ranking(measure("ttft_ms"), {"a": est(1, 3), "b": est(2, 5), "c": est(4, 6), "d": est(8, 9)})
    assert order_text(chain) == "1 to 2: a; 1 to 3: b; 2 to 3: c; 4. d"


def switch(**changes: Any) -> Switch:
    fields: dict[str, Any] = {
        "from_": "a", "to": "b", "price_in_change_usd": None, "price_out_change_usd": None,
        "blended_change_usd": None, "blended_ratio": None, "ttft_ratio": None, "tps_ratio": None, "timed": True,
    }  # fmt: skip
    return Switch(**{**fields, **changes})


def test_a_switch_tells_what_is_known_and_what_is_not() -> None:
    assert switch_text(switch()).startswith("To go from a to b costs an unknown sum, since prices are not declared")
    half = switch_text(switch(price_in_change_usd=-0.05))
    assert "costs 0.05 USD less per million prompt tokens; a price of output tokens is not declared" in half
    same = switch_text(switch(price_in_change_usd=0.0, price_out_change_usd=0.0, blended_ratio=1.0))
    assert "costs nothing more a token, the prices are the same" in same
    faster = switch_text(switch(ttft_ratio=0.5, tps_ratio=2.0))
    assert faster.endswith("the first token takes 0.5 times as long and tokens come 2 times as fast.")
    assert "which of the two is faster is not sure" in half
    assert "faster" not in switch_text(switch(price_in_change_usd=-0.05, timed=False))


def test_several_places_and_days_are_told() -> None:
    def runs(vantage: str, at: float) -> ProbeRuns:
        return ProbeRuns(
            probe="speed", probe_version=2, params_sha256="0", vantage=vantage, prober_version="0.1.0", n_runs=1,
            n_exchanges=5, first_at=START, last_at=minutes(at),
        )  # fmt: skip

    (model,) = compare([Facts(endpoint=endpoint("a/m"), probes=(runs("fra", 0), runs("iad", 3000)))]).models
    assert "Its speed is that of all places together (fra, iad)." in model.rows[0].limits
    assert "Not all was measured on the same days: the tables say when." in model.limits
    assert "asked from fra, iad" in scope(model)
