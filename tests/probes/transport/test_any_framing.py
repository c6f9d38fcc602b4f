"""Any bytes in a chunked body: never an exception, always a named end, and only bytes that the framing contained."""

import asyncio
from itertools import pairwise
from typing import get_args

from hypothesis import example, given, settings
from hypothesis import strategies as st

from monitor.types import End
from probes.limits import Limits
from probes.transport.attempt import Attempt
from probes.transport.receiver import Receiver
from tests.probes.transport.servers import CHUNKED, chunked

LIMITS = Limits(max_bytes=2000, max_events=50, max_header_bytes=500)

chunks = st.lists(st.binary(min_size=1, max_size=40), max_size=6)
damage = st.sampled_from(
    [b"\r\n", b"\n", b"0\r\n", b"fffffffffffffffff\r\n", b"-1\r\n", b";", b"\x00", b"HTTP/1.1 200 OK\r\n\r\n", b"g\r\n",
     b"7fffffffffffffff\r\n", b"data: x\n\n" * 30, b"X: " + b"y" * 600]
)  # fmt: skip


@st.composite
def responses(draw: st.DrawFn) -> bytes:
    raw = CHUNKED + chunked(draw(chunks))
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(raw)))
        cut = draw(st.integers(0, 12))
        raw = raw[:at] + draw(st.one_of(damage, st.binary(max_size=12))) + raw[at + cut :]
    return raw


def receive(raw: bytes, cuts: list[int]) -> Attempt:
    loop = asyncio.new_event_loop()
    try:
        attempt = Attempt(limits=LIMITS)
        receiver = Receiver(attempt, loop)
        edges = sorted({0, len(raw), *(cut % (len(raw) + 1) for cut in cuts)})
        for stamp, (start, end) in enumerate(pairwise(edges)):
            if receiver.feed(memoryview(raw)[start:end], stamp):
                break
        else:
            receiver.eof(len(edges))
        receiver.release()
        return attempt
    finally:
        loop.close()


@settings(max_examples=400, deadline=None, derandomize=True)
@given(raw=responses(), cuts=st.lists(st.integers(0, 5000), max_size=8))
@example(raw=CHUNKED + b"0\r\n" + b"X: " + b"y" * 2000, cuts=[600, 900])
def test_always_a_named_end(raw: bytes, cuts: list[int]) -> None:
    attempt = receive(raw, cuts)
    assert attempt.end in get_args(End)
    assert (attempt.end == "complete") == (attempt.error is None)
    assert len(attempt.stamps) == len(attempt.bodies)
    assert all(attempt.bodies)
    rest = iter(raw)
    assert all(byte in rest for byte in b"".join(attempt.bodies))  # what came out went in, in this order


@settings(max_examples=200, deadline=None, derandomize=True)
@given(parts=chunks, cuts=st.lists(st.integers(0, 500), max_size=8))
def test_whole_bodies_come_out_whole(parts: list[bytes], cuts: list[int]) -> None:
    attempt = receive(CHUNKED + chunked(parts), cuts)
    assert attempt.end == "complete"
    assert b"".join(attempt.bodies) == b"".join(parts)
