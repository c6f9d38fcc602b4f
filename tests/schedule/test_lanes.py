"""Who runs beside whom. Oracle: the rules as sentences, checked over random arrivals and ends."""

import asyncio
from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.clock import SystemClock
from jobs.turns import Turns
from monitor.lanes import PATIENCE_S, Turn, lane_of, startable
from probes.context import PROBE as CONTEXT
from probes.speed import PROBE as SPEED

FIXED = settings(deadline=None, derandomize=True, max_examples=200)
TURNS = st.builds(
    Turn, provider=st.sampled_from("abc"), lane=st.sampled_from(["latency", "bulk"]), asked_s=st.integers(0, 200)
)


def disturbed(running: Sequence[Turn]) -> list[tuple[Turn, Turn]]:
    """Pairs that the rules forbid: one provider twice, or a latency probe beside a bulk probe."""
    pairs = [(one, other) for i, one in enumerate(running) for other in running[:i]]
    return [(a, b) for a, b in pairs if a.provider == b.provider or {a.lane, b.lane} == {"latency", "bulk"}]


@FIXED
@given(arrivals=st.lists(st.lists(TURNS, max_size=4), min_size=1, max_size=12), ends=st.randoms(use_true_random=False))
def test_nobody_is_disturbed_and_everybody_runs(arrivals: list[list[Turn]], ends: object) -> None:
    waiting: list[Turn] = []
    running: list[Turn] = []
    ran: list[Turn] = []
    rest = [*arrivals, *([[]] * sum(len(batch) for batch in arrivals) * 2)]
    for batch in rest:
        waiting += batch
        started = startable(waiting, running)
        running += started
        waiting = [turn for turn in waiting if turn not in started]
        assert disturbed(running) == []
        assert running or not waiting, "somebody waits for nobody"
        if running:
            ran.append(running.pop(ends.randrange(len(running))))  # type: ignore[attr-defined]  # random.Random
    assert sorted(map(id, ran)) == sorted(id(turn) for batch in arrivals for turn in batch)


def test_a_latency_probe_goes_before_bulk_that_waits_but_not_before_bulk_that_has_waited_long() -> None:
    busy = Turn(provider="z", lane="bulk", asked_s=0)
    bulk = Turn(provider="a", lane="bulk", asked_s=100)
    soon = Turn(provider="b", lane="latency", asked_s=100 + PATIENCE_S - 1)
    late = Turn(provider="b", lane="latency", asked_s=100 + PATIENCE_S + 1)
    assert startable([bulk, soon], [busy]) == []
    assert startable([bulk, soon], []) == [soon]
    assert startable([bulk, late], [busy]) == [bulk]


def test_probes_of_several_providers_run_side_by_side_in_their_lane() -> None:
    latency = [Turn(provider=name, lane="latency", asked_s=0) for name in "ab"]
    bulk = [Turn(provider=name, lane="bulk", asked_s=1) for name in "ab"]
    assert startable([*bulk, *latency], []) == latency
    assert startable(bulk, []) == bulk


def test_speed_is_a_latency_probe_and_the_others_are_bulk() -> None:
    assert (lane_of(SPEED), lane_of(CONTEXT)) == ("latency", "bulk")


async def test_turns_are_taken_and_given_back_whatever_happens() -> None:
    turns, log = Turns(SystemClock()), []

    async def probe(name: str, provider: str, hold: asyncio.Event) -> None:
        async with turns.turn(provider, "latency" if name == "latency" else "bulk"):
            log.append(name)
            await hold.wait()

    first, never = asyncio.Event(), asyncio.Event()
    bulk = asyncio.create_task(probe("bulk", "a", first))
    await asyncio.sleep(0)
    latency = asyncio.create_task(probe("latency", "b", never))
    second = asyncio.create_task(probe("second", "b", never))
    third = asyncio.create_task(probe("third", "b", never))
    await asyncio.sleep(0)
    third.cancel()
    first.set()
    await bulk
    await asyncio.sleep(0.01)
    assert log == ["bulk", "latency"]
    latency.cancel()
    await asyncio.wait([latency, third])
    await asyncio.sleep(0.01)
    assert log == ["bulk", "latency", "second"]
    second.cancel()
    await asyncio.wait([second])
    async with asyncio.timeout(5), turns.turn("b", "latency"):
        log.append("free")
