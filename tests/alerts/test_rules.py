"""What each kind of rule sees. Oracles: hand-made requests, binomial tables, and the formula of the burn rate."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from monitor.alerting.conditions import (
    BurnRate,
    Condition,
    OfVerdict,
    ProviderDown,
    Result,
    Rule,
    Shift,
    Window,
)
from monitor.alerting.evaluate import signals
from monitor.alerting.facts import Facts, Sample, Tally, grouped
from monitor.alerting.figures import quantile
from monitor.alerting.look_burn import burn
from monitor.alerting.nouns import Outage, Signal
from monitor.results import Verdict
from monitor.types import Endpoint
from tests.alerts.made import START, minutes

ENDPOINTS = {
    name: Endpoint(name=name, provider=name.partition("/")[0], base_url="http://h/v1", model=name.partition("/")[2])
    for name in ("acme/m", "acme/n", "best/m", "cool/m", "dull/m")
}


def look(condition: Condition, **facts: Any) -> list[Signal]:
    rule = Rule(
        name="r", condition=condition, endpoints=frozenset(ENDPOINTS), fire=condition.fire, resolve=condition.resolve
    )
    if "samples" in facts:
        facts["samples"] = grouped(facts["samples"])
    return list(signals([rule], Facts(now=minutes(60), endpoints=ENDPOINTS, **facts)))


def samples(
    values: Sequence[float | None], *, endpoint: str = "acme/m", first: float = 0, outcome: str = "ok", **changes: Any
) -> list[Sample]:
    """One request a minute; `values` are TTFT in ms."""
    return [
        Sample(**{
            "endpoint": endpoint, "exchange_id": f"{endpoint}{first + i}", "at": minutes(first + i), "probe": "speed",
            "vantage": "berlin", "outcome": outcome, "ttft_ms": value, "tps": None if value is None else 8000 / value,
            **changes,
        })
        for i, value in enumerate(values)
    ]  # fmt: skip


def test_the_interval_of_a_quantile_covers_it_as_often_as_it_says() -> None:
    rng = np.random.default_rng(1)
    found = [quantile(list(rng.exponential(size=60)), 0.75) for _ in range(400)]
    truth = -np.log(0.25)
    inside = sum(one.low is not None and one.high is not None and one.low <= truth <= one.high for one in found)
    assert inside >= binom.ppf(1e-4, 400, 0.95)


def test_few_values_bound_no_high_quantile_from_above() -> None:
    few = quantile(range(20), 0.95)
    assert few.high is None
    assert few.low == 16
    assert few.beyond(above=15) is True
    assert few.beyond(above=17) is None
    assert few.beyond(above=19) is False
    assert few.beyond(below=100) is None


@pytest.mark.parametrize(("slow", "bad"), [(0, False), (3, None), (12, True)])
def test_a_window_is_bad_when_its_quantile_surely_is(slow: int, bad: bool | None) -> None:
    made = samples([3000.0] * slow + [300.0] * (30 - slow))
    (signal,) = look(Window(metric="ttft_ms", quantile=0.95, above=2000), samples=made)
    assert (signal.bad, signal.n, signal.cause, signal.topic) == (bad, 30, "slower_start", "speed")


def test_too_few_requests_say_nothing() -> None:
    assert look(Window(metric="ttft_ms", above=2000, min_n=20), samples=samples([9000.0] * 19)) == []
    assert look(Shift(metric="ttft_ms", against="peers"), samples=samples([9000.0] * 19)) == []


def test_a_window_ends_at_the_newest_request_whenever_one_looks() -> None:
    made = samples([300.0] * 30, first=-600)
    (signal,) = look(Window(metric="ttft_ms", above=2000), samples=made)
    assert (signal.at, signal.n) == (made[-1].at, 30)


def test_only_valid_timings_of_answers_to_the_speed_probe_count() -> None:
    made = samples([300.0] * 20) + samples([9000.0] * 20, first=20, probe="logprobs")
    made += samples([9000.0] * 20, first=20, outcome="truncated") + samples([None] * 20, first=20)
    (signal,) = look(Window(metric="ttft_ms", quantile=0.5, above=2000), samples=made)
    assert (signal.n, signal.value) == (20, 300.0)


def test_the_success_rate_leaves_out_what_is_not_the_endpoints_fault() -> None:
    made = samples([300.0] * 20) + samples([None] * 20, first=20, outcome="rate_limited")
    (signal,) = look(Window(metric="success_rate", below=0.95), samples=made)
    assert (signal.bad, signal.value, signal.n) == (False, 1.0, 20)
    made += samples([None] * 10, first=40, outcome="http_5xx")
    (signal,) = look(Window(metric="success_rate", below=0.95), samples=made)
    assert (signal.bad, signal.n) == (True, 30)


def test_requests_of_a_maintenance_window_are_looked_at_apart() -> None:
    made = samples([300.0] * 30) + samples([9000.0] * 25, first=30, maintenance="upgrade")
    (during,) = look(Window(metric="ttft_ms", above=2000), samples=made)
    assert (during.bad, during.n, during.maintenance) == (True, 25, "upgrade")
    (after,) = look(Window(metric="ttft_ms", above=2000), samples=made + samples([300.0], first=55))
    assert (after.bad, after.n, after.maintenance) == (False, 31, None)


def test_an_outage_of_the_provider_is_left_out_of_the_window() -> None:
    made = samples([300.0] * 20) + samples([None] * 10, first=20, outcome="connect_error")
    gone = Outage(provider="acme", since=minutes(20), until=minutes(30))
    (signal,) = look(Window(metric="success_rate", below=0.95), samples=made, outages=[gone])
    assert (signal.bad, signal.n) == (False, 20)


def test_against_peers_of_the_same_model() -> None:
    made = samples([600.0] * 20)
    for name in ("best/m", "cool/m", "dull/m"):
        made += samples([300.0] * 20, endpoint=name)
    made += samples([1.0] * 20, endpoint="acme/n")
    found = {one.subject: one for one in look(Shift(metric="tps", against="peers"), samples=made)}
    assert found["acme/m"].bad is True
    assert (found["acme/m"].value, found["acme/m"].cause) == (0.5, "slower_tokens")
    assert found["best/m"].bad is False
    assert "acme/n" not in found
    assert "3 others of m" in found["acme/m"].reason


def test_single_requests_by_outcome_and_by_figure() -> None:
    made = [*samples([300.0]), *samples([None], first=1, outcome="auth_error")]
    made += samples([None], first=2, outcome="http_5xx")
    assert [one.bad for one in look(Result(outcomes=("auth_error",)), samples=made)] == [False, True, None]
    figures = look(Result(metric="ttft_ms", above=200), samples=made)
    assert [(one.bad, one.value) for one in figures] == [(True, 300.0), (None, None), (None, None)]


@pytest.mark.parametrize(("lost", "bad"), [(("acme/m", "acme/n"), True), (("acme/m",), False), ((), False)])
def test_a_provider_is_down_when_none_of_its_endpoints_answers(lost: tuple[str, ...], bad: bool) -> None:
    made = [
        sample
        for name in ("acme/m", "acme/n", "best/m")
        for sample in [
            *samples([300.0] * 2, endpoint=name, first=40),
            *samples([None] * 3, endpoint=name, first=50, outcome="connect_error" if name in lost else "ok"),
        ]
    ]
    (signal,) = look(ProviderDown(), samples=made)
    assert (signal.subject, signal.bad, signal.n) == ("provider acme", bad, 2)
    assert signal.endpoints == ("acme/m", "acme/n")
    if bad:
        assert (signal.since, signal.cause) == (minutes(50), "provider_down")


def test_a_provider_that_limits_rates_is_not_down() -> None:
    made = samples([None] * 5, first=50, outcome="rate_limited")
    made += samples([None] * 5, endpoint="acme/n", first=50, outcome="rate_limited")
    assert look(ProviderDown(), samples=made) == []


def verdict(status: str, detector: str = "identify", cause: str | None = "weights", **details: Any) -> Verdict:
    return Verdict(
        verdict_id="v", endpoint="acme/m", detector=detector, detector_version=1, at=START, status=status,  # type: ignore[arg-type]
        cause=cause, statistic="x", effect=0.3, unit="nats", low=0.2, high=0.4, n=40, threshold=0.1, reason="r",
        run_ids=(), details=details,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("condition", "seen", "bad"),
    [
        (OfVerdict(), verdict("fail"), True),
        (OfVerdict(), verdict("pass", cause=None), False),
        (OfVerdict(), verdict("suspect"), None),
        (OfVerdict(statuses=("fail", "suspect")), verdict("suspect"), True),
        (OfVerdict(), verdict("inconclusive", cause="undecided"), None),
        (OfVerdict(causes=("template",)), verdict("fail"), None),
        (OfVerdict(causes=("weights",)), verdict("fail"), True),
        (OfVerdict(share_above=0.2), verdict("fail", share=0.5), True),
        (OfVerdict(share_above=0.2), verdict("fail", share=0.1), None),
        (OfVerdict(share_above=0.2), verdict("fail"), None),
    ],
)
def test_what_of_verdicts_is_bad(condition: OfVerdict, seen: Verdict, bad: bool | None) -> None:
    (signal,) = look(condition, verdicts=[seen])
    assert (signal.bad, signal.rule, signal.verdict_id) == (bad, "r#identify", "v")


def test_private_suites_have_a_topic_of_their_own_and_can_be_named() -> None:
    one = verdict("fail", "suite", "worse_than_golden")
    (signal,) = look(OfVerdict(detectors=("suite",)), verdicts=[one])
    assert (signal.topic, signal.cause, signal.bad) == ("suite", "worse_than_golden", True)
    assert look(OfVerdict(other_than=("suite",)), verdicts=[one]) == []


def test_detectors_that_speak_through_the_joint_verdict_count_only_by_name() -> None:
    one = verdict("fail", "logprob_fidelity")
    assert look(OfVerdict(), verdicts=[one]) == []
    assert len(look(OfVerdict(detectors=("logprob_fidelity",)), verdicts=[one])) == 1
    assert look(OfVerdict(other_than=("ident*",)), verdicts=[verdict("fail")]) == []


def tallies(failed: Sequence[int], n: int = 10) -> list[Tally]:
    """`n` requests in each 5 minutes that end at minute 60, oldest first."""
    first = 60 - 5 * len(failed)
    return [
        Tally(endpoint="acme/m", at=minutes(first + 5 * i), width_s=300, good=n - bad, n=n)
        for i, bad in enumerate(failed)
    ]


def test_the_burn_rate_is_the_share_of_failures_over_what_is_allowed() -> None:
    found = burn(tallies([0] * 6 + [1, 2, 0, 1, 0, 2]), timedelta(minutes=30), minutes(60), 0.99)
    assert found.rate == pytest.approx(6 / 60 / 0.01)
    assert (found.good, found.n) == (54, 60)
    assert burn([], timedelta(hours=1), minutes(60), 0.99).rate is None


@pytest.mark.parametrize(
    ("failed", "bad"),
    [
        ([2] * 12, True),
        ([2] * 11 + [0], False),
        ([0] * 11 + [10], False),
        ([1] * 12, False),
        ([1] * 72, True),
        ([0] * 72, False),
    ],
    ids=["both windows burn", "it is over", "one bad moment", "slowly for an hour", "for six hours", "nothing fails"],
)
def test_both_windows_of_a_pair_must_burn(failed: list[int], bad: bool) -> None:
    (signal,) = look(BurnRate(objective=0.99), tallies=tallies(failed))
    assert signal.bad is bad


def test_a_window_that_requests_do_not_reach_back_through_says_nothing() -> None:
    assert look(BurnRate(), tallies=tallies([2] * 6, n=100)) == []


def test_few_requests_burn_nothing() -> None:
    assert look(BurnRate(min_n=20), tallies=tallies([1] * 12, n=1)) == []
