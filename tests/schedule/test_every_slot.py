"""Every slot has one row, whatever happens. Oracle: the schedule itself, and counting."""

import asyncio
from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.alarm import Alarm
from jobs.clock import SystemClock
from monitor.schedule import slots_between
from tests.schedule.simulated import START, FakeClock, Machine, World, config

TEXT = """
endpoints:
  - {name: a/x, base_url: http://h, model: m}
  - {name: b/y, base_url: http://h, model: m}
probes:
  - {kind: ping, every: 60s}
  - {kind: pong, cron: "*/30 0-4 * * *", timezone: Europe/Berlin, endpoints: [a/x]}
  - {kind: pong, every: 2m for 1h then 10m, since: 2026-03-28T11:30:00Z, endpoints: [b/y]}
"""
NIGHTS = (datetime(2026, 3, 29, 0, tzinfo=UTC), datetime(2026, 10, 24, 23, tzinfo=UTC))
"""Just before the clocks of Berlin are changed."""
FIXED = settings(deadline=None, derandomize=True, max_examples=40)
EVENTS = st.one_of(
    st.tuples(st.just("wait"), st.integers(1, 3000)),
    st.tuples(st.just("wait"), st.integers(1, 90)),
    st.tuples(st.just("step"), st.integers(-7200, 10800)),
    st.tuples(st.sampled_from(["kill", "stop", "hang", "release", "store down", "store up"]), st.just(0)),
)


async def happens(world: World, machines: list[Machine], what: str, seconds: int, which: int) -> None:
    machine = machines[which % len(machines)]
    match what:
        case "wait":
            world.clock.advance(seconds)
        case "step":
            world.clock.step(seconds)
        case "kill":
            await machine.kill()
        case "stop":
            await machine.stop()
        case "hang":
            world.hang()
        case "release":
            world.release()
        case "store down":
            world.store.up = False
        case "store up":
            world.store.up = True
    for one in machines:
        await one.start()
        await one.look()


async def live(events: list[tuple[tuple[str, int], int]], n_machines: int, start: datetime = START) -> World:
    world = World(config(TEXT))
    world.clock.wall = start
    machines = [Machine(world, f"machine-{n}") for n in range(n_machines)]
    for machine in machines:
        await machine.start()
    for (what, seconds), which in events:
        await happens(world, machines, what, seconds, which)
    world.release()
    world.store.up = True
    for machine in machines:
        await machine.stop()
        await machine.start()  # to push what it had not yet, and to count what it missed
        await machine.look()
        await machine.stop()
    return world


def doubled(world: World) -> list[object]:
    keys = Counter((slot.vantage, slot.endpoint, slot.probe, slot.slot_at) for slot in world.slots)
    return [key for key, n in keys.items() if n > 1]


def lost(world: World) -> list[object]:
    """Slots of the schedule between the first and the last row of a pair, that have none."""
    gone: list[object] = []
    for plan in world.config.plans:
        for endpoint in plan.endpoints:
            rows = sorted(s.slot_at for s in world.slots if (s.endpoint, s.probe) == (endpoint, plan.probe.kind))
            if rows:
                wanted = slots_between(endpoint, plan, rows[0] - timedelta(microseconds=1), rows[-1])
                gone += [(endpoint, plan.probe.kind, at) for at in wanted if at not in rows]
                gone += [("not a slot", at) for at in rows if at not in wanted]
    return gone


@FIXED
@given(events=st.lists(st.tuples(EVENTS, st.just(0)), max_size=25), start=st.sampled_from(NIGHTS))
def test_kills_clock_steps_hanging_endpoints_and_store_outages(
    events: list[tuple[tuple[str, int], int]], start: datetime
) -> None:
    world = asyncio.run(live(events, 1, start))
    assert (doubled(world), lost(world)) == ([], [])
    done = [slot for slot in world.slots if slot.state == "done"]
    assert all(slot.reason for slot in world.slots if slot.state != "done")
    assert len(done) == world.store.store.counts()["runs"]
    assert world.store.store.counts()["rejected"] == 0


@FIXED
@given(events=st.lists(st.tuples(EVENTS, st.integers(0, 1)), max_size=20))
def test_case_op_06_two_agents_by_mistake(events: list[tuple[tuple[str, int], int]]) -> None:
    """The first row of a slot stays, the second is kept aside; no run counts twice."""
    world = asyncio.run(live(events, 2))
    assert (doubled(world), lost(world)) == ([], [])
    store = world.store.store
    done = [slot for slot in world.slots if slot.state == "done"]
    assert len(done) == store.counts()["runs"]


async def test_two_agents_ask_twice_and_count_once() -> None:
    world = World(config(TEXT))
    machines = [Machine(world, "left"), Machine(world, "right")]
    for machine in machines:
        await machine.start()
        await machine.look()
    for _ in range(10):
        world.clock.advance(60)
        for machine in machines:
            await machine.look()
    pings = [slot for slot in world.slots if slot.probe == "ping"]
    assert len(pings) == len({(slot.endpoint, slot.slot_at) for slot in pings}) == 2 * 11
    assert world.store.store.counts()["rejected"] > 20
    for machine in machines:
        await machine.stop()


async def test_agents_of_two_regions_have_slots_of_their_own() -> None:
    world = World(config(TEXT))
    machines = []
    for region in ("eu", "us"):
        world.config = config(f"vantage: {region}\n{TEXT}")
        machine = Machine(world, region)
        await machine.start()
        await machine.look()
        machines.append(machine)
    pings = [slot for slot in world.slots if (slot.endpoint, slot.probe) == ("a/x", "ping")]
    assert sorted((slot.vantage or "", slot.state) for slot in pings) == [("eu", "done"), ("us", "done")]
    assert world.store.store.counts()["rejected"] == 0
    for machine in machines:
        await machine.stop()


async def test_a_kill_in_the_middle_of_a_run_leaves_the_slot_to_be_run_or_missed_later() -> None:
    world = World(config(TEXT))
    machine = Machine(world)
    await machine.start()
    await machine.look()
    world.hang()
    for _ in range(3):  # one hangs, the next two overlap
        world.clock.advance(60)
        await machine.look()
    before = len(world.slots)
    await machine.kill()
    world.release()
    await machine.start()
    await machine.look()
    pings = [slot for slot in world.slots if slot.probe == "ping"]
    assert len(world.slots) > before
    assert {slot.state for slot in pings} == {"done", "missed"}
    assert lost(world) == []
    await machine.stop()


async def test_a_stop_says_so_for_what_ran_and_for_what_waited_for_its_turn() -> None:
    world = World(config(TEXT))
    machine = Machine(world)
    world.hang()
    await machine.start()
    await machine.stop()
    await world.store.push(machine._spool)
    stopped = [slot for slot in world.slots if slot.reason and slot.reason.startswith("agent stopped:")]
    assert len(stopped) == len(world.slots) == 3


async def test_an_alarm_that_rings_during_the_stop_starts_nothing() -> None:
    world = World(config(TEXT))
    machine = Machine(world)
    await machine.start()
    agent, asked = machine._agent, len(world.asked)
    assert agent is not None
    await machine.stop()
    world.clock.advance(60)
    await agent.look()
    await asyncio.sleep(0)
    assert len(world.asked) == asked
    await machine.start()
    await machine.look()
    assert (len(world.asked) > asked, doubled(world), lost(world)) == (True, [], [])
    await machine.stop()


async def test_overlap_is_a_row_once_the_run_has_ended() -> None:
    world = World(config(TEXT))
    machine = Machine(world)
    world.hang()
    await machine.start()
    for _ in range(2):
        world.clock.advance(60)
        await machine.look()
    assert [slot for slot in world.slots if slot.probe == "ping"] == []
    world.release()
    await machine.look()
    states = Counter(slot.state for slot in world.slots if (slot.endpoint, slot.probe) == ("a/x", "ping"))
    assert states == {"done": 1, "overlapped": 2}
    await machine.stop()


async def test_a_restart_needs_no_store_to_know_where_it_was() -> None:
    world = World(config(TEXT))
    machine = Machine(world)
    world.store.up = False
    await machine.start()
    for _ in range(5):
        world.clock.advance(60)
        await machine.look()
    asked = len(world.asked)
    await machine.stop()
    await machine.start()
    await machine.look()
    assert len(world.asked) == asked
    world.store.up = True
    await machine.look()
    assert (doubled(world), lost(world)) == ([], [])
    await machine.stop()


@pytest.mark.parametrize("seconds", [3600, -3600])
async def test_a_clock_that_was_set_is_told(seconds: int, caplog: pytest.LogCaptureFixture) -> None:
    """Oracle: the difference of the two clocks."""
    clock, woken = FakeClock(), asyncio.Event()

    async def wake() -> None:
        woken.set()

    one = Alarm(clock, wake, speed=1000.0)
    async with one.running():
        await asyncio.sleep(0.02)
        clock.step(seconds)
        async with asyncio.timeout(10):
            await woken.wait()
    assert f"the clock went {'forward' if seconds > 0 else 'back'} by 3600 s" in caplog.text


async def test_an_alarm_whose_call_fails_rings_again(caplog: pytest.LogCaptureFixture) -> None:
    clock, again = SystemClock(), asyncio.Event()
    calls: list[int] = []

    async def wake() -> None:
        calls.append(1)
        if len(calls) == 1:
            raise RuntimeError("a bug")
        again.set()

    alarm = Alarm(clock, wake, speed=1000.0)
    async with alarm.running():
        alarm.set(clock.now())
        async with asyncio.timeout(10):
            await again.wait()
    assert "our bug" in caplog.text


async def test_the_alarm_rings_when_it_is_time_and_the_last_time_counts() -> None:
    clock, rings = SystemClock(), asyncio.Event()
    rung = []

    async def wake() -> None:
        rung.append(clock.now())
        rings.set()

    one = Alarm(clock, wake)
    async with one.running():
        one.set(clock.now() + timedelta(hours=1))
        wanted = clock.now() + timedelta(seconds=0.05)
        one.set(wanted)
        async with asyncio.timeout(10):
            await rings.wait()
    assert len(rung) == 1
    assert rung[0] >= wanted
