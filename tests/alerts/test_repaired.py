"""A fault that is over is one incident, one that comes and goes is found. Oracle: what was injected, and when."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

import numpy as np
import pytest

from monitor.alerting.conditions import Result, Rule
from monitor.alerting.evaluate import signals
from monitor.alerting.facts import Facts, Sample, grouped
from monitor.alerting.machine import step
from monitor.alerting.nouns import Counting, Event, Policy, State
from tests.alerts.fleet import endpoints, rules
from tests.alerts.made import START, minutes

NAME = "p0/m0"
LOOK = timedelta(seconds=30)
ERRORS = Result(outcomes=("http_5xx",), cause="http_5xx")
OWN = Rule(name="errors", condition=ERRORS, endpoints=frozenset({NAME}), fire=ERRORS.fire, resolve=ERRORS.resolve)


def asked(every_s: float, hours: float, fails: Callable[[float], bool]) -> list[Sample]:
    """One request in `every_s`; `fails` is told its second."""
    return [
        Sample(
            endpoint=NAME, exchange_id=f"x{i}", at=START + timedelta(seconds=i * every_s), probe="speed",
            vantage="berlin", outcome="http_5xx" if fails(i * every_s) else "ok",
        )
        for i in range(int(hours * 3600 / every_s))
    ]  # fmt: skip


def told(samples: Sequence[Sample], *more: Rule) -> list[Event]:
    """What the default rules, and `more`, tell of requests that come in while they look."""
    known = endpoints(1, 1)
    own = (*rules(list(known)), *more)
    policy = Policy(
        counting={one.name: Counting(fire=one.fire, resolve=one.resolve) for one in own}, remind=None,
        group_wait=timedelta(0),
    )  # fmt: skip
    events: list[Event] = []
    state, now = State(), START
    while now <= samples[-1].at + LOOK:
        seen = [one for one in samples if now - timedelta(hours=1) < one.at <= now]
        facts = Facts(
            now=now, endpoints=known, samples=grouped(seen), outages=state.outages,
            heard={"berlin": max((one.at for one in seen), default=now)},
        )  # fmt: skip
        stepped = step(state, signals(own, facts), now, policy)
        state = stepped.state
        events += [event for message in stepped.messages for event in message.events]
        now += LOOK
    return events


def story(events: Sequence[Event]) -> list[tuple[str, str | None]]:
    return [(one.kind, one.incident.cause) for one in events]


@pytest.mark.parametrize("begins", [20, 48, 1500], ids="after {} s".format)
def test_errors_for_forty_seconds_are_one_incident_that_ends(begins: float) -> None:
    """The window of an hour may have enough requests only after the repair: it says nothing new then."""
    events = told(asked(4, 1.1 + begins / 3600, lambda at: begins <= at < begins + 40), OWN)
    assert story(events) == [("fired", "http_5xx"), ("resolved", "http_5xx")]
    assert len({one.incident.incident_id for one in events}) == 1


def test_a_failure_that_was_over_before_anybody_could_tell_is_no_incident() -> None:
    assert told(asked(4, 1.1, lambda at: at < 40)) == []


def opened(events: Sequence[Event]) -> datetime:
    assert story(events)[0] == ("fired", "unavailable")
    assert events[0].incident.detected_at is not None
    return events[0].incident.detected_at


def test_an_endpoint_that_comes_and_goes_is_found_and_stays_one_incident() -> None:
    """Down for one minute in five: at most looks the newest requests are fine."""
    events = told(asked(4, 1.5, lambda at: at % 300 >= 240))
    assert story(events) == [("fired", "unavailable")]
    assert opened(events) < minutes(15)


def test_one_that_fails_every_fifth_request_by_chance_is_found_and_stays_one_incident() -> None:
    rng = np.random.default_rng(8)
    events = told(asked(30, 4, lambda _: bool(rng.random() < 0.2)))
    assert story(events) == [("fired", "unavailable")]
    assert opened(events) < minutes(60)


def test_one_that_is_down_for_good_is_found_at_once_and_ends_after_the_repair() -> None:
    events = told(asked(30, 3, lambda at: 1800 <= at < 5400))
    assert story(events) == [("fired", "unavailable"), ("resolved", "unavailable")]
    closed = events[1].incident.closed_at
    assert opened(events) < minutes(40)
    assert closed is not None
    assert minutes(90) <= closed < minutes(155)
