"""Two agents under the name of one vantage are told. Oracle: when each of them began and signed."""

from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from monitor.agent_sign import AgentSign, at_once
from monitor.alerting.nouns import VANTAGE
from storage.store import DuckStore
from tests.alerts.made import minutes
from tests.alerts.service import Service
from tests.dashboard.opening import opened_page
from tests.dashboard.store import stored
from tests.dashboard.test_pages import drawn, texts

NAME = "berlin"


def sign(writer: str, since: float, at: float, **changes: object) -> AgentSign:
    """A sign of the agent of spool `writer`, in minutes after the start."""
    one = AgentSign(
        vantage=NAME, version="1", at=minutes(at), waiting=0, writer=writer, host=f"host-{writer}",
        since=minutes(since), clock_offset_s=0.0,
    )  # fmt: skip
    return replace(one, **changes)  # type: ignore[arg-type]  # fields of the class


def untold(writer: str, at: float) -> AgentSign:
    """A sign of an agent of an older version."""
    return replace(sign(writer, 0, at), since=None)


@pytest.mark.parametrize(
    ("signs", "twice"),
    [
        ([sign("a", 0, 60)], False),
        ([sign("a", 0, 60), sign("b", 30, 60)], True),
        ([sign("a", 0, 60.9), sign("b", 60, 61)], True),
        ([sign("a", 0, 60), sign("b", 60.1, 60.2)], False),  # the spool was replaced: one ended, another began
        ([sign("a", 0, 60), sign("b", 59, 63)], False),  # it was two, until one ended three minutes ago
        ([sign("a", 0, 60), sign("b", 30, 60, vantage="tokyo")], False),
        ([sign("a", 0, 60), untold("b", 60)], False),  # of an older version: nobody can tell
        ([sign("a", 0, 70, clock_offset_s=600.0), sign("b", 60, 60.2)], False),  # its clock is ten minutes ahead
    ],
)
def test_two_are_told_while_both_sign(signs: list[AgentSign], twice: bool) -> None:
    for order in (signs, signs[::-1]):
        now = max(minutes(0), *(one.at for one in signs if not one.clock_offset_s))
        found = at_once(order, now)
        assert ({one.writer for one in found[NAME]} == {"a", "b"}) if twice else not found


def test_who_has_ended_is_told_no_more_and_clocks_that_nobody_knows_are_not_compared() -> None:
    both = [sign("a", 0, 60), sign("b", 30, 60)]
    assert at_once(both, minutes(62)).keys() == {NAME}
    assert at_once(both, minutes(63)) == {}  # both ended
    unknown = sign("b", 61, 61, clock_offset_s=None)
    behind = sign("a", 0, 59, clock_offset_s=-120.0)  # ended 61 minutes after the start by the store's clock
    assert at_once([behind, unknown], minutes(61.5)) == {}
    one_machine = [replace(one, host="h") for one in (sign("a", 0, 61), sign("b", 30, 61, clock_offset_s=None))]
    assert at_once(one_machine, minutes(62)).keys() == {NAME}


def test_clocks_and_offsets_of_no_sense_break_nothing() -> None:
    """The token of an agent lets it say anything of itself."""
    first = datetime.min.replace(tzinfo=minutes(0).tzinfo)
    old = replace(sign("a", 0, 0), at=first, since=first)
    odd = [old, sign("b", 0, 0, clock_offset_s=1e308), replace(old, clock_offset_s=float("nan")), sign("c", 0, 1)]
    assert at_once(odd, minutes(1)) == {}


async def test_it_is_an_incident_until_one_of_them_ends(tmp_path: Path) -> None:
    with closing(DuckStore(tmp_path / "store.duckdb")) as store:
        service = Service(tmp_path, store)
        began = service.clock.now()

        def signs(*writers: str) -> None:
            for writer in writers:
                service.put("agent", [replace(sign(writer, 0, 0), at=service.clock.now(), since=began)])

        async with service.notifier() as notifier:
            for writers in (["a"], ["a", "b"], ["a", "b"], ["a"], ["a"], ["a"], ["a"], ["a"]):
                service.runs()
                signs(*writers)
                await service.look(notifier, minutes=1)
        told = service.routes["one"].told()
        assert told == [(kind, VANTAGE + NAME, "agent_twice") for kind in ("fired", "resolved")]
        fired = service.routes["one"].got[0].message.events[0].incident
        assert "2 agents run as berlin: host-a (a), host-b (b)" in fired.reason
        assert store.counts()["agents"] == 2



def test_the_page_of_the_instrument_shows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    now = datetime.now(UTC)
    both = [replace(sign(one, 0, 0), at=now, since=now - timedelta(hours=1)) for one in ("a", "b")]
    with stored([("agent", one) for one in both]) as url:
        shown = opened_page(monkeypatch, url, "instrument", {})
    assert "2 agents at once" in drawn(shown)
    assert "2 agents run as berlin: host-a (a), host-b (b)." in texts(shown)
