"""Numbers out of facts. Oracle: the formulas by hand, and what must never be claimed."""

from dataclasses import replace
from datetime import timedelta

import pytest

from monitor.comparison_facts import Facts, Numbers, ProbeRuns, Tally
from monitor.comparison_figures import amount, bare, estimate_text, one_line, place_text, span_text, visible
from monitor.comparison_measures import estimates, measure
from monitor.comparison_rows import compare
from monitor.stats.rates import wilson
from tests.report.made import LADDER, facts, told
from tests.storage.factories import START, endpoint, minutes

RUNS = ProbeRuns(
    probe="speed", probe_version=2, params_sha256="0" * 64, vantage="fra", prober_version="0.1.0", n_runs=2,
    n_exchanges=10, first_at=START, last_at=minutes(60),
)  # fmt: skip


def values(*numbers: float, runs: int | None = None) -> Numbers:
    n_runs = len(numbers) if runs is None else runs
    return Numbers(values=numbers, first_at=START, last_at=minutes(len(numbers)), n_runs=n_runs)


def availability(good: int, n: int, runs: int = 1) -> str:
    """As if the runs were all alike."""
    tally = Tally(n_runs=runs, n=n, good=good, nn=n * n // runs, gg=good * good // runs, ng=n * good // runs)
    one = Facts(endpoint=endpoint(), probes=(RUNS,), tally=tally)
    return estimate_text(measure("availability"), estimates(one)["availability"])


def test_no_success_and_one_success_are_told_with_what_is_possible() -> None:
    assert availability(0, 20) == "0 of 20: 0% [0%, 16.1%]"
    assert availability(1, 20) == "1 of 20: 5.0% [0.9%, 23.6%]"
    assert availability(20, 20) == "20 of 20: 100% [83.9%, 100%]"
    assert availability(0, 0) == "–"
    assert wilson(1, 20).high == pytest.approx(0.2361, abs=1e-4)


def test_runs_that_failed_as_a_whole_widen_the_interval() -> None:
    alike = Tally(n_runs=10, n=100, good=50, nn=1000, gg=250, ng=500)  # 5 of 10 in every run
    whole = Tally(n_runs=10, n=100, good=50, nn=1000, gg=500, ng=500)  # 10 of 10 in every other run
    narrow, wide = (
        estimates(Facts(endpoint=endpoint(), probes=(RUNS,), tally=one))["availability"] for one in (alike, whole)
    )
    assert narrow.low == pytest.approx(wilson(50, 100).low)
    one_per_run = wilson(5, 10).low
    assert wide.low is not None
    assert one_per_run is not None
    assert wide.low < one_per_run + 0.03


def test_timings_go_by_runs_where_there_are_enough_and_say_so_where_not() -> None:
    many = Facts(endpoint=endpoint(), probes=(RUNS,), series={"ttft_ms_p50": values(5, 1, 3, 2, 6, 4)})
    assert estimate_text(measure("ttft_ms"), estimates(many)["ttft_ms"]) == "3.5 [1, 6]"
    one = replace(many, series={"ttft_ms_p50": values(3)}, singles={"ttft_ms": values(1, 2, 3, 4, 5, 9, runs=1)})
    found = estimates(one)["ttft_ms"]
    assert (found.value, found.low, found.high, found.n) == (3.5, 1, 9, 6)
    assert found.remark == "requests of one run: says nothing of other hours"
    bare_run = estimates(replace(one, singles={}))["ttft_ms"]
    assert (bare_run.value, bare_run.low, bare_run.remark) == (3, None, "one run: no interval")
    assert estimates(Facts(endpoint=endpoint()))["ttft_ms"].reason == "no valid measurement"


def test_what_was_not_measured_has_no_number() -> None:
    silent = replace(
        told("lab/faithful", "inconclusive", 0, 0, 0), effect=None, low=None, high=None, reason="no logprobs"
    )
    found = estimates(Facts(endpoint=endpoint(), verdicts=(silent,)))
    assert (found["kl"].value, found["kl"].reason) == (None, "no logprobs")
    assert (found["flips"].value, found["flips"].reason) == (None, "not asked")
    assert (found["price_in_usd"].value, found["price_in_usd"].reason) == (None, "not declared")


def test_figures_are_never_rounded_to_what_they_are_not() -> None:
    assert [amount(x, "share") for x in (0.0, 1e-5, 0.5, 0.99996, 1.0, -0.042)] == [
        "0%", "<0.1%", "50.0%", ">99.9%", "100%", "-4.2%"
    ]  # fmt: skip
    assert [bare(x, "nats") for x in (5.4e-6, 0.244, 418.2)] == ["5.4e-06", "0.24", "418"]
    assert [bare(x, "USD/M") for x in (0.2, 0.075, 12.0)] == ["0.20", "0.075", "12.00"]
    assert bare(2632.4, "ms") == "2,632"
    assert place_text(None) == "–"


def test_spans_name_the_day_once_and_two_days_both() -> None:
    assert span_text(START, minutes(30)) == "2026-03-01 12:00 to 12:30 UTC"
    assert span_text(START, START + timedelta(days=2)) == "2026-03-01 12:00 to 2026-03-03 12:00 UTC"
    assert span_text(START, START) == "2026-03-01 12:00 UTC"
    assert span_text(None, None) == "–"


def test_what_cannot_be_seen_is_written_out() -> None:
    assert visible("a\x1b[31m\u202eb\u200b\ufeff\tc\r\nd") == "a\\x1b[31m\\u202eb\\u200b\\ufeff\\x09c\\x0d\nd"
    assert visible("日本 é 😀 Ω") == "日本 é 😀 Ω"
    assert one_line("a\nb") == "a\\nb"
    assert visible("\ud800\U000e0041") == "\\ud800\\U000e0041"


def test_since_is_between_the_last_pass_and_the_first_failure() -> None:
    (model,) = compare(facts()).models
    rows = {row.endpoint.name: row for row in model.rows}
    since = rows["bargain/m"].since
    assert since is not None
    assert (since.last_good_at, since.first_bad_at, since.n_bad) == (minutes(60), minutes(180), 2)
    assert rows["acme/m"].since is None
    never = rows["corner/m"].since
    assert never is not None
    assert (never.last_good_at, never.n_bad) == (None, 1)


def test_the_row_says_what_it_cost_and_what_is_not_known() -> None:
    rows = {row.endpoint.name: row for row in compare(facts()).models[0].rows}
    spent = rows["acme/m"].spent  # 34 requests of 12 and 1 tokens at 0.2 and 0.6 USD per million
    assert (spent.n_requests, spent.tokens_in, spent.tokens_out) == (34, 408, 34)
    assert spent.usd == pytest.approx((408 * 0.2 + 34 * 0.6) / 1e6)
    assert rows["corner/m"].spent.usd is None
    assert "Nothing was judged." in rows["dusk/m"].limits


def test_a_ladder_of_other_weights_is_left_out() -> None:
    other = replace(LADDER, weights_sha256="9" * 64)
    assert compare(facts(), ladders={"smollm2": LADDER}).models[0].ladder == LADDER
    assert compare(facts(), ladders={"smollm2": other}).models[0].ladder is None


def test_endpoints_of_two_models_are_not_compared_with_each_other() -> None:
    first, *others = facts()
    found = compare([replace(first, endpoint=replace(first.endpoint, reference="other")), *others])
    assert [model.model for model in found.models] == ["other", "smollm2"]
    assert found.models[0].rankings[0].tiers == (("acme/m",),)
    assert compare([]).models == ()
