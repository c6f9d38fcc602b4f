"""Injected regressions are one incident each with the right cause, a quiet day none. Oracle: what was injected."""

from datetime import timedelta

import pytest

from monitor.alerting.nouns import Event
from monitor.results import Status, Verdict
from tests.alerts.fleet import Fault, Fleet
from tests.alerts.made import minutes

LOOK = timedelta(minutes=5)


def verdict(detector: str, at: float, status: Status, cause: str | None, endpoint: str = "p0/m0") -> Verdict:
    return Verdict(
        verdict_id=f"{detector}{endpoint}{at}", endpoint=endpoint, detector=detector, detector_version=1,
        at=minutes(at), status=status, cause=cause, statistic="x", effect=0.3, unit="nats", low=0.2, high=0.4, n=40,
        threshold=0.02, reason=f"{detector} says {status}", run_ids=(),
    )  # fmt: skip


def story(events: list[Event]) -> list[tuple[str, str, str | None]]:
    return [(one.kind, one.incident.endpoint, one.incident.cause) for one in events]


def one_incident(events: list[Event], endpoint: str, cause: str) -> None:
    """Fired once and resolved once, with one id."""
    assert story(events) == [("fired", endpoint, cause), ("resolved", endpoint, cause)]
    assert len({one.incident.incident_id for one in events}) == 1


@pytest.mark.parametrize(
    ("fault", "cause"),
    [
        (Fault(match="p0/m0", begins=120, ends=300, ttft=2.0), "slower_start"),
        (Fault(match="p0/m0", begins=120, ends=300, tps=0.5), "slower_tokens"),
        (Fault(match="p0/m0", begins=120, ends=300, outcome="http_5xx"), "unavailable"),
        (Fault(match="p0/m0", begins=120, ends=300, outcome="auth_error"), "auth_error"),
    ],
    ids=["ttft x 2", "tps / 2", "errors", "key refused"],
)
def test_a_fault_of_one_endpoint_is_one_incident_that_ends_with_it(fault: Fault, cause: str) -> None:
    events, state = Fleet(seed=1, faults=[fault]).watch(7, LOOK)
    one_incident(events, "p0/m0", cause)
    assert state.incidents == {}
    fired, resolved = (one.incident for one in events)
    assert minutes(120) < fired.opened_at < minutes(200)
    assert resolved.closed_at is not None
    assert minutes(300) <= resolved.closed_at < minutes(370)


def test_a_provider_that_is_down_is_one_incident() -> None:
    fleet = Fleet(seed=2, n_models=5, faults=[Fault(match="p1/", begins=120, ends=240, outcome="connect_error")])
    events, state = fleet.watch(8, LOOK)
    one_incident(events, "provider p1", "provider_down")
    assert state.incidents == {}
    assert minutes(120) <= events[0].incident.opened_at < minutes(131)


def test_swapped_weights_and_a_broken_tool_parser_are_one_incident_each() -> None:
    """All that the swap makes detectors say comes from the same run, and is one incident about fidelity."""
    told = [verdict("fidelity", at, "pass", None) for at in (10, 70)]
    told += [verdict("tool_calls", at, "pass", None) for at in (10, 70)]
    for at in (130, 190):
        told += [verdict("fidelity", at, "fail", "weights"), verdict("identify", at, "fail", "weights")]
        told += [verdict("logprob_fidelity", at, "fail", "weights"), verdict("fidelity", at + 1, "suspect", "weights")]
    told += [verdict("tool_calls", at, "fail", "parser", "p1/m1") for at in (130, 190)]
    told += [verdict("fidelity", 250, "pass", None), verdict("identify", 250, "pass", None)]
    told += [verdict("tool_calls", 250, "pass", None, "p1/m1")]
    events, state = Fleet(seed=3, verdicts=told).watch(5, LOOK)
    own = [[one for one in events if one.incident.endpoint == name] for name in ("p0/m0", "p1/m1")]
    one_incident(own[0], "p0/m0", "weights")
    one_incident(own[1], "p1/m1", "parser")
    assert len(events) == 4
    assert (own[0][0].incident.verdict_id, own[0][0].incident.n) == ("fidelityp0/m0130", 40)
    assert state.incidents == {}


def test_a_quiet_day_of_sixty_endpoints_tells_nothing() -> None:
    events, state = Fleet(seed=4, n_providers=12, n_models=5).watch(24, timedelta(minutes=15))
    assert story(events) == []
    assert state.incidents == {}


def test_data_that_stops_resolves_nothing_and_the_agent_is_missed() -> None:
    fleet = Fleet(seed=5, faults=[Fault(match="p0/m0", begins=60, ends=999, tps=0.4)])
    events, state = fleet.watch(3, LOOK)
    assert story(events) == [("fired", "p0/m0", "slower_tokens")]
    fleet.run_until = lambda now: None  # type: ignore[method-assign]  # the agent is gone
    events, state = fleet.watch(4, LOOK, state)
    assert story(events) == [("fired", "agent berlin", "agent_offline")]
    assert {one.endpoint for one in state.incidents.values()} == {"p0/m0", "agent berlin"}
