"""What a reader who knew only the page asked in vain, or was misled by. Oracle: instants and counts of the facts."""

import re
from dataclasses import replace
from datetime import timedelta

from jobs.compare_charts import NARROW, ladder
from jobs.compare_page import html, status_page
from monitor.comparison_cells import counted, switch_note, tokens, wrong_since
from monitor.comparison_facts import Streak
from monitor.comparison_glossary import glossary
from monitor.comparison_rows import compare
from monitor.comparison_weights import ladder_text
from tests.report.made import LADDER, facts
from tests.report.test_reader import billing, compared, row_of
from tests.storage.factories import START


def test_one_fault_has_one_beginning_whoever_saw_it_first() -> None:
    """The incident of an identification opens with its first verdict: the summary may not say a later instant."""
    first, second, *others = facts()

    def told_past(**streaks: tuple[int | None, int]) -> str:
        past = {
            name: Streak(last_good_at=None if good is None else START + timedelta(hours=good),
                         first_bad_at=START + timedelta(hours=bad), n_bad=1)
            for name, (good, bad) in streaks.items()
        }  # fmt: skip
        return wrong_since(row_of([first, replace(second, past=past), *others], "bargain/m"))

    assert told_past(logprob_fidelity=(None, 3), identify=(None, 2)) == "2026-03-01 14:00 UTC or before"
    # One of them passed later than the other failed: what stands without a pass of any began after that.
    assert told_past(logprob_fidelity=(4, 5), identify=(None, 2)) == "2026-03-01 17:00 UTC"
    # A fault of another kind is no earlier beginning of this one.
    assert told_past(logprob_fidelity=(None, 3), availability=(None, 1)) == "2026-03-01 15:00 UTC or before"


def test_a_number_says_what_it_counts() -> None:
    good = row_of(facts(), "acme/m").estimates
    assert counted(good["kl"]) == "133 tokens"
    assert counted(good["ttft_ms"]) == "8 runs"
    assert counted(good["availability"]).endswith(" of 34")
    assert "<small>n " not in html(compare(facts()))


def test_tokens_that_nobody_counted_are_not_none() -> None:
    first, *others = facts()
    silent = replace(first, tokens_in=0, tokens_out=0, n_uncounted=34)
    page = html(compare([silent, *others]))
    assert '<td role="cell" data-label="tokens in">not reported</td>' in page
    assert tokens(0, row_of(facts(), "dusk/m").spent) == "0"  # it was not asked: there is nothing to report


def test_what_is_nearer_than_the_ladder_reaches_is_said_to_stand_at_its_edge() -> None:
    exact = replace(LADDER, rungs=(replace(LADDER.rungs[0], name="torch", value=7e-12, low=6e-12, high=9e-12),))
    near = compare(facts(), ladders={"smollm2": exact}).models[0]
    assert "What is nearer than 1e-06 stands at the left edge." in ladder_text(near)
    assert ">≤1e-06<" in ladder(near)
    assert "left edge" not in ladder_text(compared(facts()))
    assert "≤" not in ladder(compared(facts()))


def test_a_table_stays_one_when_a_phone_lays_it_out_as_cards() -> None:
    """ARIA: `display: block` takes the role of a table away, so each element names its own."""
    roles = {"table": "table", "thead": "rowgroup", "tbody": "rowgroup", "tr": "row", "td": "cell"}
    for page in (html(compare(facts())), status_page(compare(facts()), title="t", shown=("kl", "availability"))):
        found = re.findall(r"<(table|thead|tbody|tr|th|td)\b([^>]*)>", page)
        assert len({name for name, _ in found}) == 6
        for name, given in found:
            scope = "rowheader" if 'scope="row"' in given else "columnheader"
            assert f'role="{scope if name == "th" else roles[name]}"' in given


def test_limits_do_not_run_through_the_numbers_of_a_narrow_ladder() -> None:
    """A ground lies between the lines and each number, drawn after the one and before the other."""
    picture = ladder(compared(facts()), NARROW)
    assert picture.count('class="ground"') == picture.count('class="value"')
    assert picture.index('class="fails"') < picture.index('class="ground"') < picture.index('class="value"')
    assert 'class="ground"' not in ladder(compared(facts()))


def test_a_scheme_that_is_spelled_in_two_ways_is_explained_once() -> None:
    both = replace(LADDER, rungs=(replace(LADDER.rungs[0], name="llama.cpp BF16"), *LADDER.rungs))
    terms = dict(glossary(compare(facts(), ladders={"smollm2": both})))
    assert {"bf16", "BF16"} <= {name for term in terms for name in term.split(", ")}
    assert "bf16" not in terms


def test_why_one_endpoint_costs_another_sum_in_each_line_is_said() -> None:
    first, second, *_ = facts()
    model = compared([billing(first, speed=(10, 40, 15)), billing(second, speed=(10, 40, 15))])
    assert "so the cost of one endpoint differs between lines" in switch_note(model)
