"""Success rates on outcomes set by hand."""

from dataclasses import replace

import numpy as np

from monitor.detectors.availability import DETECTOR
from monitor.results import Verdict
from monitor.types import Exchange, Outcome
from tests.detectors.made import AT, evidence, exchange


def judge(exchanges: list[Exchange]) -> Verdict:
    return DETECTOR().run(replace(evidence(), exchanges=tuple(exchanges)), at=AT, rng=np.random.default_rng(0))


def many(**outcomes: int) -> list[Exchange]:
    names: list[Outcome] = [name for name, count in outcomes.items() for _ in range(count)]  # type: ignore[misc]
    return [exchange(index, outcome=name) for index, name in enumerate(names)]


def test_all_answered() -> None:
    verdict = judge(many(ok=30, ok_length=7))
    assert (verdict.status, verdict.effect, verdict.n, verdict.cause) == ("pass", 1.0, 37, None)


def test_each_fault_is_named_most_frequent_first() -> None:
    verdict = judge(many(ok=8, truncated=9, http_5xx=7, rate_limited=5))
    assert verdict.status == "fail"
    assert verdict.cause == "truncated, http_5xx"
    assert verdict.reason == "8 of 24 exchanges good; 9 x truncated, 7 x http_5xx; not counted: 5 x rate_limited"
    assert (verdict.details["k"], verdict.n) == (8, 24)


def test_not_the_endpoints_fault_stays_out_of_the_rate() -> None:
    verdict = judge(many(ok=20, rate_limited=80, client_limit=3))
    assert (verdict.status, verdict.effect) == ("pass", 1.0)
    assert verdict.details["faults"] == {"rate_limited": 80, "client_limit": 3}


def test_only_a_wrong_key_is_inconclusive_not_down() -> None:
    verdict = judge(many(auth_error=37))
    assert (verdict.status, verdict.cause, verdict.effect) == ("inconclusive", "auth_error", None)


def test_dead_endpoint_fails() -> None:
    verdict = judge(many(connect_error=37))
    assert (verdict.status, verdict.cause, verdict.effect) == ("fail", "connect_error", 0.0)


def test_a_redirect_is_a_fault_and_says_what_to_do() -> None:
    verdict = judge(many(redirect=10))
    assert (verdict.status, verdict.cause) == ("fail", "redirect")
    assert "put the final address into base_url" in (verdict.reason or "")


def test_an_address_that_we_refuse_is_not_the_endpoints_fault() -> None:
    verdict = judge(many(address_refused=10))
    assert (verdict.status, verdict.cause) == ("inconclusive", "address_refused")
    assert "set allow_private if that is meant" in (verdict.reason or "")


def test_broken_tool_call_is_a_fault_but_not_when_the_limit_cut_it() -> None:
    cut = [exchange(index, outcome="ok_length", flags=("arguments_invalid",)) for index in range(10)]
    broken = [exchange(index, flags=("arguments_invalid",)) for index in range(10)]
    assert judge(cut).status == "pass"
    assert judge(broken).cause == "broken_tool_call"


def test_an_endless_stream_is_the_endpoints_fault() -> None:
    stopped = [replace(exchange(index, outcome="client_limit"), token_events=5000) for index in range(10)]
    verdict = judge(stopped)
    assert (verdict.status, verdict.cause) == ("fail", "ignores_max_tokens")


def test_few_failures_are_suspect_until_the_interval_excludes_the_target() -> None:
    assert judge(many(ok=18, http_5xx=2)).status == "suspect"
    assert judge(many(ok=360, http_5xx=40)).status == "fail"


def test_too_few() -> None:
    assert judge(many(ok=4)).status == "inconclusive"
    assert judge([]).status == "inconclusive"
