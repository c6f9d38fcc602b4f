"""One task per turn of the loop. Oracle: the order in which a callback of every turn and the tasks ran."""

import asyncio

from probes.transport.turnstile import Turnstile


async def test_one_task_per_turn_in_order() -> None:
    turnstile, seen = Turnstile(), []

    async def passes(name: str) -> None:
        await turnstile.turn()
        seen.append(name)

    def ticks(left: int) -> None:
        seen.append("-")
        if left:
            asyncio.get_running_loop().call_soon(ticks, left - 1)

    tasks = [asyncio.create_task(passes(name)) for name in "abcd"]
    asyncio.get_running_loop().call_soon(ticks, 12)
    await asyncio.wait(tasks)
    assert [name for name in seen if name != "-"] == list("abcd")
    assert "ab" not in "".join(seen)
    assert "bc" not in "".join(seen)


async def test_a_cancelled_waiter_blocks_nobody() -> None:
    turnstile = Turnstile()
    await turnstile.turn()
    waiters = [asyncio.create_task(turnstile.turn()) for _ in range(3)]
    await asyncio.sleep(0)
    waiters[1].cancel()  # the first has passed
    async with asyncio.timeout(5):
        await asyncio.wait(waiters)
        await turnstile.turn()
    assert [waiter.cancelled() for waiter in waiters] == [False, True, False]
