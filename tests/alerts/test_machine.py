"""The state machine, by properties over any sequence of signals and by the stories that people ask for."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import timedelta
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.alerting.machine import Stepped, step
from monitor.alerting.nouns import Ack, Policy, Signal, Silence, State
from tests.alerts.made import counting, minutes, policy, signal


def kinds(stepped: Stepped) -> list[str]:
    return [event.kind for message in stepped.messages for event in message.events]


def told(looks: Iterable[tuple[float, Sequence[Signal]]], rules: Policy) -> tuple[list[tuple[str, str]], State]:
    """Run looks in turn; return (kind, incident id) of all that was told, and the last state."""
    state = State()
    events: list[tuple[str, str]] = []
    for at, signals in looks:
        stepped = step(state, signals, minutes(at), rules)
        state = stepped.state
        events += [(one.kind, one.incident.incident_id) for message in stepped.messages for one in message.events]
    return events, state


SIGNALS = st.lists(
    st.builds(
        lambda at, bad, rule, endpoint: signal(
            at, bad, rule=rule, subject=f"acme/{endpoint}", key=f"{rule}{endpoint}{at}"
        ),
        st.integers(0, 30), st.sampled_from([True, False, None]), st.sampled_from(["slow", "slow2"]),
        st.sampled_from("ab"),
    ),
    max_size=40, unique_by=lambda one: one.key,
)  # fmt: skip
COUNTS = st.tuples(st.integers(1, 3), st.integers(0, 2)).map(lambda pair: (pair[0], pair[0] + pair[1]))


@given(SIGNALS, COUNTS, COUNTS)
@settings(max_examples=100, deadline=None)
def test_each_transition_is_told_once_and_every_firing_ends_or_is_open(
    signals: list[Signal], fire: tuple[int, int], resolve: tuple[int, int]
) -> None:
    rules = policy(counting=dict.fromkeys(("slow", "slow2"), counting(fire, resolve)), remind=None)
    looks = [(at, [one for one in signals if one.at == minutes(at)]) for at in range(31)]
    events, state = told(looks, rules)
    assert len(set(events)) == len(events)
    fired = {name for kind, name in events if kind == "fired"}
    ended = {name for kind, name in events if kind == "resolved"}
    assert ended <= fired
    assert fired - ended == set(state.incidents)
    firing = {(track.subject, track.rule) for track in state.tracks.values() if track.firing}
    assert firing == {(one.endpoint, rule) for one in state.incidents.values() for rule in one.rules}
    overlapping = [(at, [one for one in signals if minutes(at - 7) < one.at <= minutes(at)]) for at in range(31)]
    assert told(overlapping, rules) == (events, state)


@given(SIGNALS, st.randoms(use_true_random=False), COUNTS, COUNTS, st.integers(0, 30))
@settings(max_examples=100, deadline=None)
def test_order_of_arrival_in_a_look_and_seeing_it_again_change_nothing(
    signals: list[Signal], rng: Random, fire: tuple[int, int], resolve: tuple[int, int], since: int
) -> None:  # fmt: skip
    rules = policy(counting=dict.fromkeys(("slow", "slow2"), counting(fire, resolve)))
    first = step(State(), signals, minutes(40), rules)
    mixed = list(signals)
    rng.shuffle(mixed)
    assert step(State(), mixed, minutes(40), rules) == first
    for seen in (mixed, [one for one in mixed if one.at >= minutes(since)]):
        again = step(first.state, seen, minutes(41), rules)
        assert again.state == first.state
        assert kinds(again) == []


def test_absence_and_too_little_resolve_nothing() -> None:
    state = step(State(), [signal(0, bad=True)], minutes(0), policy()).state
    later = step(state, [signal(60, bad=None)], minutes(60), policy(remind=None))
    assert list(later.state.incidents) == list(state.incidents)
    assert kinds(later) == []


def test_n_of_m_holds_both_ways() -> None:
    rules = policy(counting={"slow": counting((2, 3), (2, 2))}, remind=None)
    seen_bad = [True, False, False, True, True, False, True, False, False]
    looks = [(at, [signal(at, bad=bad)]) for at, bad in enumerate(seen_bad)]
    state = State()
    seen = []
    for at, signals in looks:
        stepped = step(state, signals, minutes(at), rules)
        state = stepped.state
        seen.append(kinds(stepped))
    assert seen == [[], [], [], [], ["fired"], [], [], [], ["resolved"]]


def test_the_incident_keeps_its_id_and_says_since_when() -> None:
    rules = policy(counting={"slow": counting((2, 2), (1, 1))})
    fired = step(State(), [signal(0, bad=True), signal(5, bad=True)], minutes(6), rules)
    (incident,) = fired.state.incidents.values()
    assert (incident.opened_at, incident.detected_at, incident.cause) == (minutes(0), minutes(6), "slower_start")
    ended = step(fired.state, [signal(9, bad=False)], minutes(9), rules)
    (message,) = ended.messages
    assert message.events[0].incident.incident_id == incident.incident_id
    assert message.events[0].incident.closed_at == minutes(9)
    assert ended.closed == (message.events[0].incident,)


def test_two_rules_of_one_topic_share_an_incident_that_ends_with_the_last() -> None:
    both = [signal(0, bad=True), signal(0, bad=True, rule="slow2", cause="slower_tokens")]
    state = step(State(), both[:1], minutes(0), policy()).state
    joined = step(state, both[1:], minutes(1), policy())
    assert kinds(joined) == ["changed"]
    assert joined.messages[0].events[0].incident.causes == ("slower_start", "slower_tokens")
    half = step(joined.state, [signal(2, bad=False)], minutes(2), policy())
    assert kinds(half) == []
    assert kinds(step(half.state, [signal(3, bad=False, rule="slow2")], minutes(3), policy())) == ["resolved"]


def test_incidents_of_a_provider_wait_for_each_other_and_are_one_message() -> None:
    rules = policy(group_wait=timedelta(minutes=2))
    one, two = signal(0, bad=True), signal(1, bad=True, subject="acme/b")
    first = step(State(), [one], minutes(0), rules)
    second = step(first.state, [two], minutes(1), rules)
    assert kinds(first) + kinds(second) == []
    (message,) = step(second.state, [], minutes(2), rules).messages
    assert message.group == "acme"
    assert [event.incident.endpoint for event in message.events] == ["acme/a", "acme/b"]


def test_reminders_until_somebody_knows() -> None:
    rules = policy(remind=timedelta(minutes=10))
    state = step(State(), [signal(0, bad=True)], minutes(0), rules).state
    assert kinds(step(state, [], minutes(9), rules)) == []
    reminded = step(state, [], minutes(10), rules)
    assert kinds(reminded) == ["reminder"]
    name = next(iter(state.incidents))
    knows = replace(rules, acks={name: Ack(incident_id=name, at=minutes(11), by="ann")})
    assert kinds(step(reminded.state, [], minutes(30), knows)) == []
    assert kinds(step(reminded.state, [signal(31, bad=False)], minutes(31), knows)) == ["resolved"]


def test_a_silence_ends_and_then_it_is_told() -> None:
    quiet = Silence(
        silence_id="s", match="acme/*", until=minutes(60), reason="upgrade", by="ann", made_at=minutes(-1)
    )
    rules = policy(silences=(quiet,))
    muted = step(State(), [signal(0, bad=True)], minutes(0), rules)
    assert kinds(muted) == []
    (incident,) = muted.state.incidents.values()
    assert incident.muted == "silenced until 2026-11-02 01:00 UTC by ann: upgrade"
    assert kinds(step(muted.state, [], minutes(60), rules)) == ["fired"]
    assert kinds(step(muted.state, [signal(5, bad=False)], minutes(5), rules)) == []


@pytest.mark.parametrize(
    ("match", "muted"), [("acme/*", True), ("acme/a", False), ("acme", True), ("provider acme", True), ("*", True)]
)
def test_a_silence_of_all_its_endpoints_silences_what_concerns_them_together(match: str, muted: bool) -> None:
    quiet = Silence(silence_id="s", match=match, until=minutes(60), reason="r", by="ann", made_at=minutes(-1))
    lost = replace(down(0, bad=True), endpoints=("acme/a", "acme/b"))
    stepped = step(State(), [lost], minutes(0), policy(silences=(quiet,)))
    assert kinds(stepped) == ([] if muted else ["fired"])
    (incident,) = stepped.state.incidents.values()
    assert incident.endpoints == ("acme/a", "acme/b")


def test_maintenance_mutes_says_so_and_what_lasts_longer_is_told() -> None:
    muted = step(State(), [signal(0, bad=True, maintenance="upgrade")], minutes(0), policy())
    assert kinds(muted) == []
    assert [one.muted for one in muted.state.incidents.values()] == ["maintenance: upgrade"]
    assert kinds(step(muted.state, [signal(5, bad=False)], minutes(5), policy())) == []
    assert kinds(step(muted.state, [signal(5, bad=True)], minutes(5), policy())) == ["fired"]


def down(at: float, bad: bool) -> Signal:
    return signal(
        at, bad, rule="provider-down", subject="provider acme", topic="availability", cause="provider_down",
        since=minutes(at - 5) if bad else minutes(at),
    )  # fmt: skip


def test_a_provider_that_is_down_silences_its_endpoints_and_leaves_nothing_behind() -> None:
    lost = signal(1, bad=True, rule="lies", topic="availability", cause="unavailable")
    outage = step(State(), [lost, down(2, bad=True)], minutes(2), policy())
    (incident,) = outage.state.incidents.values()
    assert (incident.endpoint, incident.cause, incident.opened_at) == ("provider acme", "provider_down", minutes(-3))
    back = step(outage.state, [replace(lost, at=minutes(8), key="x"), down(9, bad=False)], minutes(9), policy())
    assert kinds(outage) + kinds(back) == ["fired", "resolved"]
    after = step(back.state, [replace(lost, at=minutes(7), key="y")], minutes(10), policy())
    assert after.state.incidents == {}
    assert kinds(step(after.state, [replace(lost, at=minutes(11), key="z")], minutes(11), policy())) == ["fired"]


def test_other_providers_are_not_silenced() -> None:
    other = signal(1, bad=True, subject="other/a", provider="other")
    stepped = step(State(), [down(1, bad=True), other], minutes(1), policy())
    assert {one.endpoint for one in stepped.state.incidents.values()} == {"provider acme", "other/a"}


def test_an_agent_that_is_offline_silences_what_only_it_measures() -> None:
    gone = signal(1, bad=True, rule="agent-offline", subject="agent berlin", provider=None, topic="agent")
    only = signal(1, bad=True, vantages=("berlin",))
    both = signal(1, bad=True, subject="acme/b", vantages=("berlin", "tokyo"))
    stepped = step(State(), [only, both, gone], minutes(1), policy())
    assert {one.endpoint for one in stepped.state.incidents.values()} == {"agent berlin", "acme/b"}


def test_what_left_the_configuration_is_over() -> None:
    state = step(State(), [signal(0, bad=True)], minutes(0), policy()).state
    assert kinds(step(state, [], minutes(1), policy(counting={"lies": counting()}))) == ["resolved"]
    assert kinds(step(state, [], minutes(1), policy(subjects=frozenset({"acme/b"})))) == ["resolved"]
