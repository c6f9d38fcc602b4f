"""An outage of a provider is one incident, whatever quick rules there are. Oracle: which requests were made to fail."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from monitor.alerting.conditions import Result, Rule
from monitor.alerting.evaluate import signals
from monitor.alerting.facts import Facts, Sample, grouped
from monitor.alerting.machine import step
from monitor.alerting.nouns import Count, Counting, Message, Policy, Silence, State
from monitor.alerting.outage import in_doubt
from storage.store import DuckStore
from tests.alerts.fleet import endpoints, rules
from tests.alerts.made import START, minutes
from tests.alerts.service import YAML, Service, config

NAMES = ("p0/m0", "p0/m1", "p0/m2")
LOOK = timedelta(seconds=30)
EVERY = {"p0/m0": 20.0, "p0/m1": 30.0, "p0/m2": 45.0}
Fails = Callable[[str, float], bool]


def quick() -> Rule:
    """A rule of a user: one request that fails is an incident, five that are answered end it."""
    condition = Result(outcomes=("connect_error",))
    return Rule(
        name="own", condition=condition, endpoints=frozenset(NAMES), fire=Count(n=1, m=1), resolve=Count(n=5, m=5)
    )


def asked(hours: float, fails: Fails, slower: float = 1.0) -> list[Sample]:
    """Requests to three endpoints, each at its own pace; `fails` is told the endpoint and the second."""
    due = [
        (name, 7 * j + i * every * slower)
        for j, (name, every) in enumerate(EVERY.items()) for i in range(int(hours * 3600 / every / slower))
    ]  # fmt: skip
    return [
        Sample(
            endpoint=name, exchange_id=f"{name}{at}", at=START + timedelta(seconds=at), probe="speed", vantage="berlin",
            outcome="connect_error" if fails(name, at) else "ok",
        )
        for name, at in due
    ]  # fmt: skip


def told(
    samples: Sequence[Sample], *, silences: Iterable[Silence] = (), look: timedelta = LOOK
) -> tuple[list[Message], State]:
    """The messages of a quick rule and `provider-down` on requests that come in while they look."""
    known = endpoints(1, 3)
    every = (quick(), *(one for one in rules(list(known)) if one.name == "provider-down"))
    counting = {one.name: Counting(fire=one.fire, resolve=one.resolve) for one in every}
    messages: list[Message] = []
    state, now = State(), START
    while now <= max(one.at for one in samples) + LOOK:
        seen = [one for one in samples if now - timedelta(hours=1.25) < one.at <= now]
        facts = Facts(now=now, endpoints=known, samples=grouped(seen), outages=state.outages)
        policy = Policy(counting=counting, remind=None, silences=tuple(silences), in_doubt=in_doubt(every, facts))
        stepped = step(state, signals(every, facts), now, policy)
        state = stepped.state
        messages += stepped.messages
        now += look
    return messages, state


def story(messages: Sequence[Message]) -> list[list[tuple[str, str]]]:
    return [[(event.kind, event.incident.endpoint) for event in one.events] for one in messages]


def down(begins_s: float, ends_s: float) -> Fails:
    return lambda _, at: begins_s <= at < ends_s


OUTAGE = [[("fired", "provider p0")], [("resolved", "provider p0")]]


@pytest.mark.parametrize("begins", [600, 613, 629, 641])
def test_an_outage_with_a_quick_rule_is_one_incident_and_two_messages(begins: float) -> None:
    messages, state = told(asked(0.8, down(begins, 1500)))
    assert story(messages) == OUTAGE
    ids = {event.incident.incident_id for one in messages for event in one.events}
    assert len(ids) == 1
    assert state.incidents == {}
    since = messages[0].events[0].incident.opened_at
    assert START + timedelta(seconds=begins) <= since < START + timedelta(seconds=begins + 20)


def test_a_silence_on_one_endpoint_changes_nothing_of_that() -> None:
    quiet = Silence(
        silence_id="s", match="p0/m1", made_at=START, until=minutes(24), reason="they know", by="me"
    )
    messages, state = told(asked(0.8, down(600, 1500)), silences=[quiet])
    assert story(messages) == OUTAGE
    assert state.incidents == {}


def test_endpoints_that_die_one_after_another_are_one_incident() -> None:
    """The first one fails while others still answer: before it is told they fail too."""
    last = {"p0/m0": 600, "p0/m1": 610, "p0/m2": 615}  # the second one answers for the last time at 607 s
    messages, _ = told(asked(0.8, lambda name, at: last[name] <= at < 1500))
    assert story(messages) == OUTAGE
    assert messages[0].events[0].incident.opened_at == minutes(10)


def test_one_endpoint_that_fails_alone_is_told_as_soon_as_another_has_answered() -> None:
    messages, _ = told(asked(0.8, lambda name, at: name == "p0/m0" and 600 <= at < 1500))
    assert story(messages) == [[("fired", "p0/m0")], [("resolved", "p0/m0")]]
    assert messages[0].at <= minutes(10) + timedelta(seconds=90)


def test_an_incident_from_before_the_outage_stays_one_of_its_own() -> None:
    """One endpoint has failed for ten minutes when the others follow, and goes on when they are back."""
    messages, state = told(asked(0.9, lambda name, at: at >= 600 and (name == "p0/m0" or 1200 <= at < 1800)))
    assert story(messages) == [[("fired", "p0/m0")], [("fired", "provider p0")], [("resolved", "provider p0")]]
    assert [one.endpoint for one in state.incidents.values()] == ["p0/m0"]


def test_an_endpoint_that_stays_down_after_the_outage_is_an_incident_of_its_own() -> None:
    messages, _ = told(asked(0.8, lambda name, at: at >= 600 and (name == "p0/m0" or at < 1200)))
    assert story(messages) == [[("fired", "provider p0")], [("resolved", "provider p0")], [("fired", "p0/m0")]]


def test_what_was_told_before_anybody_could_know_ends_in_the_message_of_the_outage() -> None:
    """Asked every 20 minutes or so, three failures of each take longer than anybody should wait for the first."""
    messages, state = told(asked(4.0, down(3600, 9000), slower=25), look=timedelta(minutes=2))
    *early, outage, end = story(messages)
    assert early == [[("fired", "p0/m1")], [("fired", "p0/m0")], [("fired", "p0/m2")]]
    assert messages[0].at - messages[0].events[0].incident.opened_at < timedelta(minutes=19)
    assert outage == [("fired", "provider p0"), *(("resolved", name) for name in NAMES)]
    assert end == [("resolved", "provider p0")]
    assert "part of the outage of provider p0" in messages[3].events[1].incident.reason
    assert state.incidents == {}


OWN = """
  rules: {own: {kind: result, outcomes: [connect_error], fire: 1 of 1, resolve: 5 of 5}}
  silences: [{match: acme/b, until: 2026-12-01T00:00:00Z, reason: they know}]
"""


async def test_each_route_gets_two_messages_of_an_outage(tmp_path: Path) -> None:
    """Through the real store: a quick rule fires at the first run, the second shows that the provider is down."""
    with closing(DuckStore(tmp_path / "store.duckdb")) as store:
        service = Service(tmp_path, store)
        service.config = config(f"{YAML.rstrip()}{OWN}")
        async with service.notifier() as notifier:
            service.runs()
            await service.look(notifier)
            for name in ("acme/a", "acme/b"):
                service.runs([name], outcome="connect_error")
                await service.look(notifier, minutes=2)
                assert service.routes["one"].got == [] or name == "acme/b"
            for _ in range(4):
                service.runs()
                await service.look(notifier, minutes=2)
        for route in service.routes.values():
            told = [(kind, subject) for kind, subject, _ in route.told()]
            assert told == [("fired", "provider acme"), ("resolved", "provider acme")]
        assert store.incidents(None, open_only=True)["incidents"] == []

