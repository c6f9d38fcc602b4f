"""What keeps the agent from asking, or from blaming. Oracle: the rows that the store gets, and who was asked."""

import asyncio
import socket
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta

import orjson
import pytest

from jobs.agent_notes import AgentNotes
from jobs.self_check import Look, busy_for, look_with, reachable
from monitor.config_fields import Address
from probes.heartbeat import Heartbeat
from tests.schedule.simulated import ANSWER, UNREACHABLE, FakeClock, Machine, World, answer, config, settle

ONE = """
endpoints:
  - {name: a/x, base_url: http://h, model: m%s}
probes: [{kind: ping, every: 60s}]
%s
"""


def world(endpoint: str = "", more: str = "") -> World:
    return World(config(ONE % (endpoint, more)))


async def minutes(one: World, machine: Machine, n: int) -> list[tuple[str, str | None]]:
    """Start, look every minute, stop; return state and first words of the reason of each slot, oldest first."""
    await machine.start()
    for _ in range(n):
        one.clock.advance(60)
        await machine.look()
    await machine.stop()
    rows = sorted(one.slots, key=lambda slot: (slot.slot_at, slot.endpoint))
    return [(slot.state, slot.reason and slot.reason.partition(":")[0]) for slot in rows]


async def test_over_budget_is_skipped_and_a_restart_forgets_nothing() -> None:
    """A run may take 200 tokens and takes 100: with 500 a day, four runs fit (300 + 200), the fifth does not."""
    one = world(", budget_tokens_per_day: 500")
    machine = Machine(one)
    assert await minutes(one, machine, 2) == [("done", None)] * 3
    told = await minutes(one, machine, 3)
    assert told == [("done", None)] * 4 + [("skipped", "over budget")] * 2
    last = one.slots[0].reason or ""
    assert "400 of 500 tokens are spent on 2026-03-28 (UTC), and this run may take 200" in last
    one.clock.advance(12 * 3600)
    assert (await minutes(one, machine, 1))[-1] == ("done", None)


async def test_an_endpoint_without_its_key_is_skipped_and_says_which() -> None:
    """Case OP-08: `config` fills in no variables."""
    one = world(", api_key: '${PROBE_KEY_1}'")
    assert await minutes(one, Machine(one), 1) == [("skipped", "endpoint disabled")] * 2
    assert one.slots[0].reason == "endpoint disabled: the environment variable PROBE_KEY_1 is not set"


@pytest.mark.parametrize("patient", [True, False])
async def test_a_change_of_the_configuration_loses_no_slot(patient: bool) -> None:
    """A probe runs while the file changes, and slots fall due meanwhile. Oracle: a row per minute, and one only."""
    one = world()
    machine = Machine(one)
    machine.patience_s = 30.0 if patient else 0.0
    one.hang()
    await machine.start()
    ending = asyncio.create_task(machine.stop())
    await settle()
    one.clock.advance(150)
    one.release()
    await ending
    one.config = config(ONE.replace("probes:", "  - {name: a/y, base_url: http://h, model: m}\nprobes:") % ("", ""))
    await minutes(one, machine, 2)
    rows = sorted((slot.slot_at, slot.state) for slot in one.slots if slot.endpoint == "a/x")
    times = [at for at, _ in rows]
    assert times == [times[0] + timedelta(minutes=n) for n in range(len(rows))]
    assert times[-1] > one.clock.now() - timedelta(minutes=1)
    assert rows[0][1] == ("done" if patient else "skipped")
    assert [slot.state for slot in one.slots if slot.endpoint == "a/y"].count("done") >= 1


async def test_a_run_that_was_killed_counts_at_what_it_may_have_cost() -> None:
    one = world(", budget_tokens_per_day: 500")
    machine = Machine(one)
    one.hang()
    await machine.start()
    await machine.kill()
    assert AgentNotes(machine.file.kept).spent("a/x", one.clock.now()).amount.tokens == 200


async def test_money_is_a_budget_too() -> None:
    """60 tokens in and 40 out at 1,000 USD per million are 0.1 USD; a run may cost 0.2."""
    one = world(", budget_usd_per_day: 0.35, price_in_usd: 1000, price_out_usd: 1000")
    assert await minutes(one, Machine(one), 3) == [("done", None)] * 2 + [("skipped", "over budget")] * 2


async def test_a_429_is_waited_out_across_a_restart() -> None:
    one = world()
    machine = Machine(one)
    one.answers = lambda _: answer(429, b"{}", (("retry-after", "100"),))
    await minutes(one, machine, 0)
    one.answers = lambda _: answer()
    assert await minutes(one, machine, 1) == [("done", None), ("skipped", "backing off")]
    assert await minutes(one, machine, 1) == [("done", None), ("skipped", "backing off"), ("done", None)]
    assert AgentNotes(machine.file.kept).wait("a/x", one.clock.now()) is None


async def test_an_empty_account_is_left_alone_for_an_hour() -> None:
    one = world()
    empty = orjson.dumps({"error": {"message": "no", "type": "insufficient_quota", "code": "insufficient_quota"}})
    one.answers = lambda _: answer(429, empty)
    told = await minutes(one, Machine(one), 61)
    assert Counter(told) == {("done", None): 2, ("skipped", "backing off"): 60}
    assert all("the quota is exhausted" in slot.reason for slot in one.slots if slot.reason)


async def test_a_probe_that_waited_for_its_turn_is_not_run_into_a_wait() -> None:
    one = World(config("""
endpoints: [{name: a/x, base_url: http://h, model: m}]
probes: [{kind: ping, every: 60s}, {kind: pong, every: 60s}]
"""))
    one.answers = lambda _: answer(429, b"{}", (("retry-after", "100"),))
    told = await minutes(one, Machine(one), 0)
    assert Counter(told) == {("done", None): 1, ("skipped", "backing off"): 1}
    assert len(one.asked) == 1


async def test_a_latency_probe_is_alone_with_its_provider_and_bulk_waits_for_it() -> None:
    one = World(config("""
endpoints:
  - {name: a/x, base_url: http://h, model: m}
  - {name: a/z, base_url: http://h, model: m}
  - {name: b/y, base_url: http://h, model: m}
probes: [{kind: pong, every: 60s}, {kind: ping, every: 60s}]
"""))
    machine = Machine(one)
    one.hang()
    await machine.start()
    assert sorted(one.asked) == [("a/x", "ping"), ("b/y", "ping")]
    one.release()
    await machine.look()
    assert sorted(one.asked[2:]) == [("a/x", "pong"), ("a/z", "ping"), ("a/z", "pong"), ("b/y", "pong")]
    assert one.asked[2] == ("a/z", "ping")
    await machine.stop()


async def test_the_lane_of_a_plan_counts_more_than_that_of_its_probe() -> None:
    one = World(config("""
endpoints: [{name: a/x, base_url: http://h, model: m}, {name: b/y, base_url: http://h, model: m}]
probes:
  - {kind: pong, every: 60s, endpoints: [a/x]}
  - {kind: ping, every: 60s, lane: bulk, endpoints: [b/y]}
"""))
    machine = Machine(one)
    one.hang()
    await machine.start()
    assert sorted(one.asked) == [("a/x", "pong"), ("b/y", "ping")]
    one.release()
    await machine.stop()


async def test_runs_in_a_maintenance_window_say_so() -> None:
    one = world(more="maintenance: [{start: 2026-03-28T12:01:30Z, duration: 1m, reason: upgrade}]")
    await minutes(one, Machine(one), 4)
    runs = one.store.store.runs("a/x", None, limit=9)["records"]
    assert [run["run"]["maintenance"] for run in reversed(runs)] == [None, None, "upgrade", None, None]


@pytest.fixture
def listening() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


TWO = """
endpoints:
  - {{name: a/x, base_url: http://h, model: m}}
  - {{name: b/y, base_url: http://h, model: m}}
probes: [{{kind: ping, every: 60s}}]
agent: {{self_check: ["127.0.0.1:{port}"]}}
"""


async def states(one: World) -> Counter[tuple[str, str, str | None]]:
    """State and reason by endpoint, of the newest slots, after all runs have ended."""
    machine = Machine(one)
    await machine.start()
    async with asyncio.timeout(20):
        while len(one.slots) < 2:
            await asyncio.sleep(0.01)
            await machine.look()
    await machine.stop()
    return Counter((slot.endpoint, slot.state, slot.reason and slot.reason.partition(":")[0]) for slot in one.slots)


async def test_nobody_is_blamed_when_nothing_at_all_can_be_reached() -> None:
    one = World(config(TWO.format(port=closed_port())), answers=lambda _: UNREACHABLE)
    assert await states(one) == {(name, "skipped", "agent offline"): 1 for name in ("a/x", "b/y")}
    assert one.store.store.counts()["runs"] == 0


async def test_endpoints_are_blamed_when_somebody_else_can_be_reached(listening: int) -> None:
    one = World(config(TWO.format(port=listening)), answers=lambda _: UNREACHABLE)
    assert await states(one) == {(name, "done", None): 1 for name in ("a/x", "b/y")}


async def test_an_endpoint_is_blamed_when_another_one_can_be_reached() -> None:
    """No other address is tried then: this one would not answer."""
    one = World(
        config(TWO.format(port=closed_port())), answers=lambda name: UNREACHABLE if name == "b/y" else answer()
    )
    assert await states(one) == {(name, "done", None): 1 for name in ("a/x", "b/y")}


async def test_reachable_if_any_is(listening: int) -> None:
    here, nowhere = Address(host="127.0.0.1", port=listening), Address(host="127.0.0.1", port=closed_port())
    assert await reachable([nowhere, here])
    assert not await reachable([nowhere])
    assert not await reachable([Address(host="no such host.invalid", port=1)])
    assert not await reachable([])


def looks(*seen: float | None) -> Look:
    left = list(seen)

    async def look() -> float | None:
        return left.pop(0)

    return look


async def test_a_loop_is_busy_when_it_is_held_up_at_every_look() -> None:
    assert await busy_for(looks(300.0, 400.0, 350.0), 250.0, looks=3, pause_s=0) == 350.0
    assert await busy_for(looks(300.0, 249.0), 250.0, looks=3, pause_s=0) is None
    assert await busy_for(looks(None), 250.0) is None


async def test_a_look_sees_a_blocked_loop() -> None:
    from jobs.clock import SystemClock

    clock = SystemClock()
    async with Heartbeat(clock).beating() as heartbeat:
        looking = asyncio.create_task(look_with(heartbeat)())
        await asyncio.sleep(0.01)
        until = clock.monotonic_ns() + 60_000_000
        while clock.monotonic_ns() < until:
            pass
        seen = await looking
    assert seen is not None
    assert seen >= 50.0


async def test_a_busy_agent_skips_latency_probes_and_runs_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jobs.agent.busy_for", lambda look, limit: busy_for(look, limit, looks=2, pause_s=0))
    one = World(config("""
endpoints: [{name: a/x, base_url: http://h, model: m}]
probes: [{kind: ping, every: 60s}, {kind: pong, every: 60s}]
"""), lag=looks(*[900.0] * 9))
    await minutes(one, Machine(one), 0)
    rows = {slot.probe: (slot.state, slot.reason) for slot in one.slots}
    assert rows["pong"] == ("done", None)
    assert rows["ping"] == ("skipped", "agent busy: its own event loop was held up for 900 ms, above 250 ms")


async def test_a_note_of_a_newer_version_is_ignored(caplog: pytest.LogCaptureFixture) -> None:
    notes = AgentNotes({"wait\0a/x": b'{"from": "the future"}', "spent\0a/x": b"[]", "other": b"{}"})
    now = FakeClock().now()
    assert notes.wait("a/x", now) is None
    assert notes.spent("a/x", now + timedelta(days=1)).amount.tokens == 0
    assert "a note of the agent is ignored" in caplog.text


def test_the_answer_of_the_simulation_is_an_answer() -> None:
    assert orjson.loads(ANSWER)["usage"]["total_tokens"] == 100
