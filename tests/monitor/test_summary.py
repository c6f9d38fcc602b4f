"""The one line per endpoint."""

from dataclasses import replace

from monitor.summary import summarise
from tests.monitor.made import verdict


def test_inconclusive_is_never_reported_as_pass() -> None:
    summary = summarise([verdict("pass", 0, None), verdict("inconclusive", 0, "no_logprobs")])
    assert (summary.status, summary.causes) == ("inconclusive", ("no_logprobs",))


def test_worst_wins_and_only_its_causes_are_named() -> None:
    verdicts = [
        verdict("inconclusive", 0, "no_logprobs"),
        verdict("fail", 0, "template"),
        verdict("fail", 1, "template"),
        verdict("fail", 2, "truncated"),
    ]
    assert summarise(verdicts).causes == ("template", "truncated")
    assert summarise(verdicts).status == "fail"


def test_pass_names_no_cause_and_nothing_is_not_a_pass() -> None:
    assert summarise([replace(verdict("pass", 0), cause=None)]).causes == ()
    assert summarise([]).status == "inconclusive"


def test_a_new_endpoint_is_not_held_up_by_what_looks_back() -> None:
    found = summarise([verdict("pass", 0, None), verdict("inconclusive", 0, "no_history")])
    assert (found.status, found.causes) == ("pass", ())
    assert summarise([verdict("inconclusive", 0, "no_history")]).status == "inconclusive"
