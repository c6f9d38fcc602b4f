"""`run_bounded` against the faults of asyncio-pool 0.6.0, each shown on the library itself first."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from asyncio_pool import AioPool

from probes.pool import run_bounded


def _value(number: int, log: list[int] | None = None) -> Callable[[], Awaitable[int]]:
    async def job() -> int:
        await asyncio.sleep(0)
        if log is not None:
            log.append(number)
        return number

    return job


async def test_results_in_order_of_jobs() -> None:
    assert await run_bounded([_value(n) for n in range(50)], limit=7) == list(range(50))


async def test_empty_input_which_the_library_refuses() -> None:
    with pytest.raises(ValueError, match="empty"):
        await AioPool(size=2).map(_value, [])
    assert await run_bounded([], limit=2) == []


async def test_never_more_than_limit_at_once() -> None:
    active, peak = 0, 0

    async def job() -> None:
        nonlocal active, peak
        active += 1
        peak = max(peak, active)
        await asyncio.sleep(0.001)
        active -= 1

    await run_bounded([job] * 40, limit=5)
    assert peak == 5


async def test_deadline_ends_the_work_where_the_library_swallows_it() -> None:
    forever = asyncio.Event()
    finished: list[int] = []

    async def job() -> None:
        await forever.wait()
        finished.append(1)

    pool = AioPool(size=1)
    first = await pool.spawn(forever.wait())
    async with asyncio.timeout(0.05) as swallowed:
        await pool.spawn(forever.wait())  # waits for the slot; the deadline passes in silence
    assert swallowed.when() is not None
    await pool.cancel()
    assert first.done()

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await run_bounded([job] * 4, limit=2)
    before = len(asyncio.all_tasks())
    forever.set()
    await asyncio.sleep(0.01)
    assert finished == []
    assert before == 1


async def test_cancelled_before_the_first_turn_leaves_nothing_behind() -> None:
    started: list[int] = []
    task = asyncio.ensure_future(run_bounded([_value(n, started) for n in range(3)], limit=3))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(asyncio.all_tasks()) == 1


async def test_first_exception_ends_the_others() -> None:
    async def broken() -> int:
        raise KeyError("our bug")

    forever = asyncio.Event()

    async def waits() -> int:
        await forever.wait()
        return 1

    with pytest.raises(KeyError, match="our bug"):
        await run_bounded([waits, broken, waits], limit=3)
    assert len(asyncio.all_tasks()) == 1


async def test_own_task_factory_is_refused_instead_of_hanging() -> None:
    loop = asyncio.get_running_loop()
    loop.set_task_factory(lambda loop, coro, **kwargs: asyncio.Task(coro, loop=loop, **kwargs))
    try:
        with pytest.raises(RuntimeError, match="task factory"):
            await run_bounded([_value(1)], limit=1)
    finally:
        loop.set_task_factory(None)


async def test_limit_must_be_positive() -> None:
    with pytest.raises(ValueError, match="limit"):
        await run_bounded([_value(1)], limit=0)


async def test_cancelled_twice_still_leaves_nothing_behind() -> None:
    forever = asyncio.Event()

    async def slow_to_die() -> None:
        try:
            await forever.wait()
        finally:
            await asyncio.sleep(0.02)

    task = asyncio.ensure_future(run_bounded([slow_to_die] * 3, limit=3))
    await asyncio.sleep(0.005)
    task.cancel()
    await asyncio.sleep(0.005)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(asyncio.all_tasks()) == 1
