"""Decoding apart from the loop. Oracles: the decoder called directly, and the loop's own turns."""

import asyncio
import sys
import threading

import pytest

from monitor.types import Capture, Read
from monitor.wire.dispatch import decode
from probes.ask import SWITCH_S, decoded

EVENT = b'data: {"choices":[{"index":0,"delta":{"content":"%d"},"finish_reason":null}]}\n\n'


def capture(n: int) -> Capture:
    return Capture(status=200, t0_ns=0, reads=tuple(Read(at, EVENT % at) for at in range(n)))


async def test_exchanges_come_in_the_order_of_their_captures() -> None:
    captures = [capture(n) for n in (3, 0, 2000, 1)]
    assert await decoded(captures) == tuple(decode(one) for one in captures)
    assert await decoded([]) == ()


async def test_the_loop_turns_while_captures_are_decoded() -> None:
    """Decoding in the loop would leave it no turn between start and end."""
    turns = 0
    async with asyncio.TaskGroup() as group:
        work = group.create_task(decoded([capture(2000) for _ in range(20)]))
        while not work.done():
            await asyncio.sleep(0)
            turns += 1
    assert turns > 20
    assert len(work.result()) == 20


async def test_threads_take_turns_quickly_only_while_decoding() -> None:
    before = sys.getswitchinterval()
    async with asyncio.TaskGroup() as group:
        group.create_task(decoded([capture(2000) for _ in range(5)]))
        await asyncio.sleep(0)
        assert sys.getswitchinterval() <= SWITCH_S
    assert sys.getswitchinterval() == before


async def test_a_cancelled_probe_does_not_wait_for_the_decoder(monkeypatch: pytest.MonkeyPatch) -> None:
    released = threading.Event()
    monkeypatch.setattr("probes.ask.decode", lambda _capture: released.wait(60))
    before = sys.getswitchinterval()
    work = asyncio.create_task(decoded([capture(1)]))
    await asyncio.sleep(0)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert not released.is_set()
    assert sys.getswitchinterval() == before
    released.set()
