"""Bounded concurrency over asyncio-pool, made safe.

asyncio-pool 0.6.0 swallows a cancellation that arrives while it waits for a slot, leaves children running when the
caller is cancelled, raises on empty input, and hangs under an eager task factory (all reproduced in
``tests/probes/test_pool.py``). `run_bounded` therefore never waits inside the pool: it spawns exactly as many workers
as there are slots, lets them draw jobs from one iterator, and waits for them itself, so that a deadline or Ctrl-C ends
the work.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import TypeVar

from asyncio_pool import AioPool

T = TypeVar("T")
Job = Callable[[], Awaitable[T]]


async def run_bounded(jobs: Sequence[Job[T]], *, limit: int) -> list[T]:
    """Run `jobs`, at most `limit` at a time, and return their results in the order of `jobs`.

    The first exception of a job ends the others and is raised; so does cancellation of the caller. Nothing is left
    running when this returns.

    Raises
    ------
    RuntimeError
        When the loop has a task factory of its own (asyncio-pool would hang under an eager one).
    ValueError
        When `limit` is not positive.
    """
    if limit < 1:
        raise ValueError(f"`limit` must be at least 1, not {limit}")
    if not jobs:
        return []
    if asyncio.get_running_loop().get_task_factory() is not None:
        raise RuntimeError("run_bounded needs the default task factory: asyncio-pool hangs under an eager one")
    results: dict[int, T] = {}
    pool = AioPool(size=min(limit, len(jobs)))
    source = iter(enumerate(jobs))
    workers = [pool.spawn_n(_work(source, results)) for _ in range(pool.size)]
    try:
        # One turn of the loop: every spawn has now started, so that pool.cancel() finds its task.
        await asyncio.sleep(0)
        done, _ = await asyncio.wait(workers, return_when=asyncio.FIRST_EXCEPTION)
        for worker in done:
            worker.result()
    finally:
        await _stop(pool, workers)
    return [results[index] for index in range(len(jobs))]


async def _work(source: Iterator[tuple[int, Job[T]]], results: dict[int, T]) -> None:
    for index, job in source:
        results[index] = await job()


async def _stop(pool: AioPool, workers: Sequence["asyncio.Future[None]"]) -> None:
    """Cancel what still runs, even when cancelled again, and collect every result."""
    interrupted: asyncio.CancelledError | None = None
    while not pool.is_empty:
        try:
            # One turn first: a task that is cancelled before it started would never leave the pool.
            await asyncio.sleep(0)
            await pool.cancel()
        except asyncio.CancelledError as error:
            interrupted = error
    for worker in workers:
        if worker.done() and not worker.cancelled():
            worker.exception()  # marks it as retrieved
    if interrupted is not None:
        raise interrupted
