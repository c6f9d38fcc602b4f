"""What a buyer with nothing but the report must be able to see. Oracle: sums, and questions that one of them asked."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from jobs.compare_charts import forest, ladder
from jobs.compare_documents import as_csv
from jobs.compare_page import as_markdown, html, markdown, status_page
from monitor.comparison import Comparison, ModelComparison, Row
from monitor.comparison_cells import far, fault, outcomes, switch_note, way_out, wrong_since
from monitor.comparison_endings import endings, endings_text
from monitor.comparison_examples import FAR, example
from monitor.comparison_facts import Bill, Facts, Tally
from monitor.comparison_figures import age_text, change_text, ratio_text
from monitor.comparison_glossary import glossary
from monitor.comparison_measures import measure
from monitor.comparison_rows import compare
from monitor.comparison_switch import switch_text
from monitor.comparison_verdicts import effect, rests_on
from monitor.comparison_weights import ladder_text, not_judged, served
from monitor.comparison_words import advice, order_text, sections
from monitor.stats.posterior import posterior_text
from tests.report.made import LADDER, facts, told
from tests.storage.factories import START, endpoint, exchange, verdict


def compared(found: list[Facts]) -> ModelComparison:
    return compare(found, ladders={"smollm2": LADDER}).models[0]


def row_of(found: list[Facts], name: str) -> Row:
    return next(row for row in compared(found).rows if row.endpoint.name == name)


def said_of(found: list[Facts], name: str) -> str:
    groups = [section for section in sections(compared(found)) if section.title not in {"Order", "Switching"}]
    return next(one for section in groups for one in section.sentences if one.startswith(name))


def misprompted() -> list[Facts]:
    """The first endpoint leaves the system turn out; its divergence is the one of another prompt."""
    first, *others = facts()
    counted = verdict(
        "acme-m-accounting", endpoint="acme/m", detector="accounting", status="fail", cause="template", effect=0.0,
        low=0.0, high=0.1, unit="share", n=37, threshold=1.0, run_ids=(),
        details={"k": 0, "missing": "system", "deltas": {"-21": 37}},
        reason="37 of 37 prompt-token counts differ by -21 tokens (e.g. river: 19 instead of 40)",
    )  # fmt: skip
    off = told("acme/m", "fail", 0.13, 0.09, 0.23, cause="template")
    return [replace(first, verdicts=(counted, off)), *others]


def passing() -> Facts:
    first: Facts = facts()[0]
    return replace(first, endpoint=replace(first.endpoint, name="zeta/m"))


def test_weights_behind_another_prompt_are_said_to_be_unjudged_and_what_is_missing_is_told() -> None:
    text = said_of(misprompted(), "acme/m")
    assert text.startswith(
        "acme/m does not feed the model golden's prompt: the system turn is missing (37 of 37 prompts counted 21 "
        "tokens shorter than golden's). Its weights were not judged"
    )
    assert "does not serve" not in text  # its weights may be those that it declares
    assert "acme/m drops the system turn" in advice(compared([*misprompted()[:1], passing()]))
    assert "Its weights were not judged: its prompt is not golden's" in text
    assert "on the ladder" not in text
    row = row_of(misprompted(), "acme/m")
    assert any("weights were not judged" in one for one in row.limits)
    assert served(row).remark.startswith("weights not judged: its prompt is not golden's")
    assert "acme/m: drawn hollow" in ladder_text(compared(misprompted()))
    assert '<g class="endpoint faint"><text x="198" y="' in ladder(compared(misprompted()))


def test_a_distance_of_another_prompt_has_no_place_and_is_told_nowhere_as_one_of_weights() -> None:
    model = compared(misprompted())
    found = model.ranking("kl")
    assert found is not None
    row = row_of(misprompted(), "acme/m")
    assert "kl" not in row.places
    assert found.apart == {"acme/m": "measured with another prompt than golden's"}
    assert "measured with another prompt than golden's, so no place: acme/m" in order_text(found)
    assert "nats from golden's" not in said_of(misprompted(), "acme/m")
    page = html(compare(misprompted()))
    assert "no place: measured with another prompt than golden&#39;s" in page
    public = status_page(compare(misprompted()), title="t", shown=("kl",))
    assert "measured with another prompt than golden&#39;s</small>" in public
    distant = example(FAR, "logprobs", exchange())
    assert fault(row, distant) == "far from golden, whose prompt was another"
    assert fault(row_of(facts(), "acme/m"), distant) == "far from golden"
    assert fault(row, replace(distant, fault="broken_tool_call")) == "broken tool call"
    (line,) = (one for one in as_csv(compare(misprompted())).splitlines() if ",acme/m," in one and ",kl," in one)
    assert ",,,,0.002," in line  # neither k nor places
    assert "measured with another prompt" in line


def test_no_logprobs_are_a_reason_and_a_verdict_is_none() -> None:
    silent = replace(told("a/m", "inconclusive", 0, 0, 0), reason="no logprobs came")
    assert not_judged([silent]) == "no logprobs came"
    other = replace(silent, detector="identify", reason="3 prompts comparable, 4 needed")
    assert not_judged([other, silent]) == "logprob_fidelity: no logprobs came; identify: 3 prompts comparable, 4 needed"
    first, *_ = facts()
    joint = replace(silent, detector="fidelity", reason="logprob_fidelity inconclusive: no logprobs came")
    limits = " ".join(row_of([replace(first, verdicts=(silent, other, joint))], "acme/m").limits)
    assert limits.count("3 prompts comparable") == limits.count("no logprobs came") == 1
    assert not_judged([]) == "nothing that looks at the weights has run"
    assert not_judged([told("a/m", "pass", 0, 0, 0)]) is None
    # Whoever does not answer and was not looked at either is told so in one sentence.
    assert "Its weights were not judged: nothing that looks at the weights has run." in said_of(facts(), "corner/m")


def test_certainty_is_never_rounded_up_anywhere() -> None:
    assert [posterior_text(one) for one in (1.0, 0.9995, 0.96, 1e-9)] == [
        "above 0.999", "above 0.999", "0.96", "below 0.001"
    ]  # fmt: skip
    line = served(row_of(facts(), "bargain/m"))
    assert (line.served, line.posterior) == ("Q4_0 (4 bits per weight)", "above 0.999")
    assert line.share == "97% [82%, 100%] of requests, perhaps all, from 16 prompts"
    named = next(one for one in row_of(facts(), "bargain/m").verdicts if one.detector == "identify")
    assert effect(named) == "coarser: above 0.999"
    assert "posterior 1" not in html(compare(facts()))


def test_one_line_answers_who_how_far_since_when_and_what_a_switch_costs() -> None:
    model = compared(facts())
    bad = row_of(facts(), "bargain/m")
    assert far(bad) == "0.24 nats [0.19, 0.3], 120 x tolerated"
    assert wrong_since(bad) == "2026-03-01 15:00 UTC"
    assert way_out(model, bad) == "acme/m: +100%"
    never = row_of(facts(), "corner/m")
    assert (far(never), wrong_since(never)) == ("–", "2026-03-01 21:00 UTC or before")
    assert way_out(model, never) == "acme/m: cost unknown"
    good = row_of(facts(), "acme/m")
    assert (wrong_since(good), way_out(model, good)) == ("–", "–")
    assert far(good) == "1e-05 nats [8e-06, 2e-05], tolerated"
    assert far(row_of(misprompted(), "acme/m")) == "not comparable: another prompt"
    page = html(compare(facts()))
    assert page.index("<h3>What is served</h3>") < page.index("<h4>Failing</h4>")


def test_an_endpoint_that_serves_some_requests_otherwise_is_told_as_that() -> None:
    first, second, *others = facts()
    (named,) = (one for one in second.verdicts if one.detector == "identify")
    part = {**named.details, "share": 0.33, "share_low": 0.14, "share_high": 0.56}
    routed = replace(named, cause="routing: Q4_0", details=part)
    kl = next(one for one in second.verdicts if one.detector == "logprob_fidelity")
    found = [first, replace(second, verdicts=(kl, routed)), *others]
    text = said_of(found, "bargain/m")
    assert "serves a part of its requests with other weights than it declares (bf16): Q4_0 (4 bits per weight)." in text
    assert "It serves Q4_0 for an estimated 33% [14%, 56%] of requests, from 16 prompts." in text
    assert text.startswith("bargain/m is over-quantised in part: it serves a part")
    # The table has the word too, so that nobody has to know what a scheme is called.
    assert served(row_of(found, "bargain/m")).remark == "over-quantised in part"
    assert served(row_of(facts(), "bargain/m")).remark == "over-quantised"


def test_full_precision_is_one_name_with_the_posterior_of_all_its_engines() -> None:
    first, *others = facts()
    named = verdict("i", endpoint="acme/m", detector="identify", status="pass", run_ids=(), details={
        "schemes": [{"name": "fp16", "family": "bf16-class", "posterior": 0.6}], "families": {"bf16-class": 0.98},
        "share": 0.2, "share_low": 0.1, "share_high": 0.4, "n_prompts": 16,
    })  # fmt: skip
    line = served(row_of([replace(first, verdicts=(*first.verdicts, named)), *others], "acme/m"))
    assert (line.served, line.posterior) == ("golden weights in 16 bit or more", "0.98")
    assert line.share == "20% [10%, 40%] of requests, from 16 prompts"


def test_a_place_on_the_ladder_is_approximate_and_says_over_how_many_prompts() -> None:
    first, second, *others = facts()
    kl = next(one for one in second.verdicts if one.detector == "logprob_fidelity")
    unnamed = replace(second, verdicts=(replace(kl, details={**kl.details, "n_prompts": 31}),))
    text = said_of([first, unnamed, *others], "bargain/m")
    assert "on the ladder (32 prompts, 31 here) that is roughly between Q8_0 (0.0042) and Q4_0 (0.26)" in text
    caption = ladder_text(compared([first, unnamed, *others]))
    assert "measured with 32 prompts, 31 here: where an endpoint stands between them is approximate" in caption
    assert "below 0.002 passes" in caption
    assert "above 0.02 fails" in caption


def test_counts_of_endings_add_up_and_what_does_not_count_stands_apart() -> None:
    outcomes = {"ok": 69, "truncated": 68, "http_5xx": 34, "rate_limited": 34}
    tally = Tally(n_runs=15, n=171, good=35, nn=1, gg=1, ng=1)
    found = endings(Facts(endpoint=endpoint(), outcomes=outcomes, tally=tally))
    assert found.faults is not None
    assert found.good + sum(found.faults.values()) == found.n == 171
    assert found.n + sum(found.apart.values()) + found.n_maintenance == sum(outcomes.values())
    assert endings_text(found) == (
        "35 good, 68 x truncated, 34 x broken_tool_call, 34 x http_5xx; not counted: 34 x rate_limited"
    )


def test_reasons_are_not_made_up_where_maintenance_hides_them() -> None:
    tally = Tally(n_runs=2, n=10, good=8, nn=1, gg=1, ng=1)
    found = endings(Facts(endpoint=endpoint(), outcomes={"ok": 8, "truncated": 6}, tally=tally))
    assert (found.faults, found.n_maintenance) == (None, 4)
    assert endings_text(found) == "8 good, 2 not; not counted: 4 in announced maintenance"
    assert outcomes(row_of(facts(), "dusk/m")) == "–"


def test_a_pass_says_what_it_may_hide() -> None:
    first, *others = facts()
    few: dict[str, Any] = {"status": "pass", "endpoint": "acme/m", "n": 53, "run_ids": (), "unit": "share"}
    more = (
        verdict("a", detector="availability", effect=1.0, low=0.932, high=1.0, **few),
        verdict("f", detector="faults", effect=0.0, low=0.0, high=0.068, **few),
        verdict("s", detector="shape", effect=-0.06, low=-0.18, high=0.056, **few),
    )
    row = row_of([replace(first, verdicts=(*first.verdicts, *more)), *others], "acme/m")
    (hidden,) = (one for one in row.limits if "no fault shown" in one)
    assert "up to 6.8% of requests may fail (n 53); up to 6.8% of complete answers may show a fault (n 53)" in hidden
    assert "the shape of up to 18.0% of answers may have changed (n 53)" in hidden
    assert any("no fault was shown, not that there is none" in one for one in compared(facts()).limits)


def test_a_pass_of_few_answers_is_not_read_as_one_of_many() -> None:
    looped: dict[str, Any] = {"detector": "shape", "unit": "share", "effect": 0.175, "low": -0.02}
    found = [rests_on(verdict("s", status="pass", n=n, high=high, **looped)) for n, high in ((5, 0.6), (500, 0.03))]
    assert found == [
        "n 5, no fault shown; few: up to 60.0% may be hidden", "n 500, no fault shown; up to 3.0% may be hidden"
    ]  # fmt: skip
    far = told("a/m", "pass", 1e-5, 8e-6, 2e-5, mde=0.0021)
    assert rests_on(far) == "n 133, from 0.0021 nats on it would show"
    assert rests_on(told("a/m", "fail", 0.2, 0.1, 0.3)) == "n 133"
    assert rests_on(verdict("f", status="pass", statistic="joint_log_e", n=1)) == "1 detector joined"
    assert "n 133</small>" in html(compare(facts()))  # beside the numbers of endpoints too


def test_a_verdict_that_is_older_than_the_newest_run_says_by_how_much() -> None:
    first, *others = facts()
    early = told("acme/m", "pass", 1e-5, 8e-6, 2e-5, at=START + timedelta(hours=2))
    late = replace(first, verdicts=(early,))
    (limit,) = (one for one in row_of([late, *others], "acme/m").limits if "older" in one)
    # The last run of `speed` began seven hours after the start.
    assert limit.startswith("Its newest verdict on what is served is of 2026-03-01 14:00 UTC, 5 hours older than its")
    assert served(row_of([late, *others], "acme/m")).judged == "2026-03-01 14:00 UTC, 5 hours before its newest run"
    assert not any("older" in one for one in row_of(facts(), "acme/m").limits)
    ages = [age_text(timedelta(seconds=one)) for one in (0.2, 119, 120, 7199, 7200, 2 * 86400)]
    assert ages == ["1 second", "119 seconds", "2 minutes", "119 minutes", "2 hours", "2 days"]


def test_eight_bit_within_the_tolerance_is_said_to_need_an_identification() -> None:
    near = replace(LADDER.rungs[1], name="int8", value=0.0013)
    wide = replace(LADDER, rungs=(*LADDER.rungs, near))
    (limit,) = (one for one in compare(facts(), ladders={"smollm2": wide}).models[0].limits if "of 8 bit" in one)
    assert "(up to 0.002 nats) does not exclude weights or caches of 8 bit (on the ladder: int8 (0.0013))" in limit
    first, *others = facts()
    measured = replace(first, verdicts=(told("acme/m", "pass", 1e-5, 8e-6, 2e-5, mde=0.0021),))
    assert any(
        "at most 2e-05 nats (end of the interval). Detection limit: 0.0001 nats beyond the 0.002 that are" in one
        for one in row_of([measured, *others], "acme/m").limits
    )


def test_since_says_by_whom_and_when_measuring_began() -> None:
    assert (
        "It was already so when availability first decided (2026-03-01 21:00 UTC) and has not passed since; measuring "
        "began 2026-03-01 12:00 UTC, so how long before is not known."
    ) in said_of(facts(), "corner/m")
    assert (
        "It began between 2026-03-01 13:00 UTC, the last pass, and 2026-03-01 15:00 UTC, when logprob_fidelity first "
        "found it; it has not passed since."
    ) in said_of(facts(), "bargain/m")


def test_the_stated_order_of_rows_is_the_real_one() -> None:
    page = html(compare(facts()))
    assert "Sorted by verdict (pass, inconclusive, suspect, fail), then by place in KL to golden" in page
    assert [(row.endpoint.name, row.status) for row in compared(facts()).rows] == [
        ("acme/m", "pass"), ("dusk/m", "inconclusive"), ("bargain/m", "fail"), ("corner/m", "fail"),
    ]  # fmt: skip


def billing(found: Facts, **counted: tuple[int, int, int]) -> Facts:
    """The facts with bills: by probe, answers and tokens of prompt and answer a request."""
    bills = tuple(
        Bill(probe=probe, params_sha256="0", n=n, tokens_in=n * tokens_in, tokens_out=n * tokens_out)
        for probe, (n, tokens_in, tokens_out) in counted.items()
    )  # fmt: skip
    return replace(found, bills=bills)


def test_a_switch_costs_what_each_endpoint_bills_for_the_same_questions() -> None:
    """Oracle: sums by hand, of one that bills 19 tokens where the other bills 40."""
    first, second, *_ = facts()
    few = billing(second, speed=(30, 19, 15), logprobs=(10, 39, 8))
    full = billing(first, speed=(10, 40, 15), logprobs=(30, 60, 8))
    (one,) = compared([full, few]).switches
    assert one.size_from is not None and one.size_to is not None  # noqa: PT018
    # 40 requests of each kind were asked of the two together: they weigh alike, whoever was asked more of them.
    assert (one.size_from.tokens_in, one.size_from.tokens_out) == (29.0, 11.5)
    assert (one.size_to.tokens_in, one.size_to.tokens_out) == (50.0, 11.5)
    # 29 x 0.1 + 11.5 x 0.3 = 6.35 and 50 x 0.2 + 11.5 x 0.6 = 16.9 USD per million requests.
    assert one.per_thousand_from_usd == pytest.approx(0.00635)
    assert one.per_thousand_to_usd == pytest.approx(0.0169)
    text = switch_text(one)
    assert "that is 0.0169 instead of 0.00635 USD (+166%), by the tokens that each bills: bargain/m 29 prompt" in text
    assert "acme/m 50 prompt and 12 output tokens a request" in text
    assert "golden's count" not in text
    assert "cheapest" not in switch_note(compared([full, few]))  # one goal each: nothing is left out


def test_prices_alone_change_the_bill_where_both_count_alike() -> None:
    first, second, *_ = facts()
    (one,) = compared([first, second]).switches
    # As the factories count: twelve tokens of prompt and one of answer, at twice the price.
    assert one.size_from == one.size_to
    assert one.per_thousand_ratio == pytest.approx(2.0)


def counting(found: Facts) -> Facts:
    """The facts of one that counts prompts as golden does."""
    right = verdict(
        f"{found.endpoint.name}-c", endpoint=found.endpoint.name, detector="accounting", status="pass", effect=1.0,
        low=0.9, high=1.0, unit="share", n=37, run_ids=(), details={"k": 37},
    )  # fmt: skip
    return replace(found, verdicts=(*found.verdicts, right))


def test_goldens_counts_stand_in_for_one_that_reports_none_and_that_is_said() -> None:
    first, second, *_ = facts()
    model = compared([counting(billing(first, speed=(10, 40, 15))), billing(second)])
    (one,) = model.switches
    assert one.size_from is not None and one.size_to is not None  # noqa: PT018
    assert (one.size_from.tokens_in, one.size_from.tokens_out, one.size_from.reported) == (40.0, 15.0, False)
    assert one.size_to.reported
    assert "bargain/m 40 prompt and 15 output tokens (it reports none: golden's count" in switch_text(one)
    assert "“Not reported”: it counts no tokens" in switch_note(model)
    # Nobody who counts as golden does: nothing is made up.
    (unknown,) = compared([billing(first, speed=(10, 40, 15)), billing(second)]).switches
    assert (unknown.size_from, unknown.per_thousand_from_usd, unknown.per_thousand_ratio) == (None, None, None)


def test_questions_that_only_one_was_asked_are_not_compared() -> None:
    first, second, *_ = facts()
    (one,) = compared([billing(first, speed=(10, 40, 15)), billing(second, logprobs=(10, 40, 15))]).switches
    assert (one.size_from, one.size_to) == (None, None)
    assert "For 1,000 requests" not in switch_text(one)


def test_a_ratio_is_that_of_the_numbers_beside_it() -> None:
    # 0.2437 / 0.002 would be 122 times; who reads 0.24 and 0.002 finds 120.
    assert ratio_text(0.2437, 0.002, "nats") == "120"
    assert change_text(0.0205, 0.01229, "USD") == "+67%"
    assert ratio_text(1234.4, 617.3, "ms") == "2"


def test_a_value_without_an_interval_has_no_place_and_is_drawn_hollow() -> None:
    first, *others = facts()
    two = replace(first.series["ttft_ms_p50"], values=first.series["ttft_ms_p50"].values[:2], n_runs=2)
    short = replace(first, series={"ttft_ms_p50": two}, singles={})
    row = row_of([short, *others], "acme/m")
    assert row.estimates["ttft_ms"].value is not None
    assert "ttft_ms" not in row.places
    picture = forest(compared([short, *others]), measure("ttft_ms"))
    assert picture.count("faint") == 1
    assert "(no interval, 2 runs)" in picture


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (
            ("acme/m", "bargain/m"),
            (
                "Choose acme/m for smollm2: of 2 endpoints it alone passes, as far as was measured. bargain/m serves "
                "Q4_0 (4 bits per weight)."
            ),
        ),
        (("acme/m",), "Choose acme/m for smollm2: the only endpoint that was looked at passes, as far as was"),
        (("bargain/m", "dusk/m"), "No endpoint of smollm2 passes: 1 failing or suspect, 1 not decided."),
    ],
)
def test_the_first_line_says_whom_to_choose(names: tuple[str, ...], said: str) -> None:
    model = compared([one for one in facts() if one.endpoint.name in names])
    assert advice(model).startswith(said)
    assert model.words[0] == advice(model)


def test_several_that_pass_are_not_told_apart_and_the_cheapest_is_named() -> None:
    first, *_ = facts()
    other = replace(first, endpoint=replace(first.endpoint, name="zeta/m", price_in_usd=0.1))
    assert advice(compared([first, other])) == (
        "Several endpoints of smollm2 pass and are not told apart in fidelity: acme/m and zeta/m. The cheapest of them "
        "is zeta/m (0.225 USD/M at three in to one out)."
    )


def test_sentences_stand_in_groups_and_a_cause_is_told_once() -> None:
    assert [section.title for section in sections(compared(facts()))] == [
        "Failing", "Passing", "Undecided", "Order", "Switching"
    ]  # fmt: skip
    assert row_of(facts(), "bargain/m").causes == ("weights: Q4_0",)


def test_only_words_and_measures_that_stand_in_the_report_are_explained() -> None:
    found = compare(facts())
    terms = dict(glossary(found))
    assert {"nats", "posterior", "TTFT", "truncated", "availability"} <= set(terms)
    assert not {"joint evidence", "bad_framing", "rate_limited"} & set(terms)
    assert set(found.vantages) <= set(terms)
    assert glossary(compare([])) == []
    page = html(found)
    assert "Greedy flips</dt>" not in page
    assert "Availability</dt>" in page


def test_the_long_table_folds_and_opens_in_print() -> None:
    page = html(compare(facts()))
    assert "<details><summary>4 verdicts</summary>" in page
    assert "details::details-content { content-visibility: visible;" in page
    assert '</table></div>\n<div class="wide"><table>' not in page  # a heading between any two


def test_the_forms_say_the_same_first() -> None:
    found: Comparison = compare(facts())
    (model,) = found.models
    assert advice(model) in html(found)
    assert as_markdown(advice(model)) in markdown(found)
