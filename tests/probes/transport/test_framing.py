"""What comes out of HTTP/1.1 framing (RFC 9112), whatever the TCP segments were. Oracles: the bytes that were sent."""

import random
from itertools import pairwise

import pytest

from monitor.types import Read
from tests.probes.transport.servers import CHUNKED, HEAD, ask_once, chunked, sends, serving

EVENTS = (b'data: {"choices":[{"delta":{"content":"h\xc3\xa9"}}]}\n\n', b": ping\n\n", b"data: [DONE]\n\n")
BODY = b"".join(EVENTS)
LENGTH = HEAD + b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY

RESPONSES = {
    "chunked": CHUNKED + chunked(EVENTS),
    "chunked with extension and trailer": CHUNKED + b"%X;a=b\r\n%b\r\n0\r\nX-Sum: 1\r\n\r\n" % (len(BODY), BODY),
    "content-length": LENGTH,
    "after interim responses": b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + LENGTH,
    "until the connection closes": HEAD + b"\r\n" + BODY,
    "http 1.0": b"HTTP/1.0 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + BODY,
    "lines that end in LF alone": LENGTH.replace(b"\r\n", b"\n"),
    "no reason": LENGTH.replace(b"200 OK", b"200"),
}


def pieces_of(raw: bytes, split: str) -> list[bytes]:
    if split == "whole":
        return [raw]
    if split == "byte by byte":
        return [raw[index : index + 1] for index in range(len(raw))]
    rng = random.Random(f"{split}{len(raw)}")
    cuts = sorted({0, len(raw), *(rng.randrange(len(raw)) for _ in range(12))})
    return [raw[start:end] for start, end in pairwise(cuts)]


@pytest.mark.parametrize("split", ["whole", "byte by byte", "odd 1", "odd 2", "odd 3"])
@pytest.mark.parametrize("name", RESPONSES)
async def test_same_bytes_whatever_the_segments(name: str, split: str) -> None:
    async with serving(sends(pieces_of(RESPONSES[name], split))) as url:
        attempt = await ask_once(url)
    assert (attempt.end, attempt.status, attempt.error) == ("complete", 200, None)
    assert b"".join(attempt.bodies) == BODY
    assert dict(attempt.headers)["Content-Type"] == "text/event-stream"
    assert "Link" not in dict(attempt.headers)
    assert "X-Sum" not in dict(attempt.headers)
    assert attempt.stamps == sorted(attempt.stamps)
    assert len(set(attempt.stamps)) == len(attempt.stamps) == len(attempt.bodies)


async def test_chunks_of_one_read_are_one_read() -> None:
    async with serving(sends([CHUNKED, chunked(EVENTS)], pause_s=0.05)) as url:
        attempt = await ask_once(url)
    assert attempt.reads() == (Read(attempt.stamps[0], BODY),)
    assert attempt.first_byte_ns is not None
    assert attempt.first_byte_ns < attempt.stamps[0]
    assert attempt.eof_ns == attempt.stamps[0]


async def test_first_byte_is_that_of_the_final_response() -> None:
    async with serving(sends([b"HTTP/1.1 100 Continue\r\n\r\n", LENGTH], pause_s=0.08)) as url:
        attempt = await ask_once(url)
    assert attempt.t0_ns is not None
    assert attempt.first_byte_ns is not None
    assert attempt.first_byte_ns - attempt.t0_ns >= 70_000_000


@pytest.mark.parametrize("status", [204, 304])
async def test_statuses_without_a_body(status: int) -> None:
    async with serving(sends([b"HTTP/1.1 %d X\r\n\r\n" % status], close=False)) as url:
        attempt = await ask_once(url)
    assert (attempt.end, attempt.status, attempt.bodies) == ("complete", status, [])


@pytest.mark.parametrize(
    ("raw", "kept", "error"),
    [
        (CHUNKED + b"5\r\nhello\r\nzz\r\n", b"hello", "bad HTTP framing"),
        (CHUNKED + b"5\r\nhelloworld\r\n", b"hello", "bad HTTP framing"),
        (HEAD + b"Content-Length: 4\r\nContent-Length: 5\r\n\r\nabcde", b"", "bad HTTP framing"),
        (HEAD + b"Content-Length: -4\r\n\r\nabcde", b"", "bad HTTP framing"),
        (HEAD + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nabcd\r\n", b"", "bad HTTP framing"),
        (b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nzz", b"", "switched protocols"),
        (CHUNKED + b"5\r\nhello\r\n", b"hello", "closed within the body, 5 bytes"),
        (CHUNKED + b"9\r\nhel", b"hel", "closed within the body, 3 bytes"),
        (HEAD + b"Content-Length: 9\r\n\r\nhello", b"hello", "closed within the body"),
        (b"HTTP/1.1 200 OK\r\nContent-Ty", b"", "closed within the headers"),
        (b"", b"", "closed without an answer"),
    ],
)
async def test_bad_or_cut_framing_has_a_name(raw: bytes, kept: bytes, error: str) -> None:
    async with serving(sends([raw] if raw else [])) as url:
        attempt = await ask_once(url)
    assert attempt.end == "unclean"
    assert b"".join(attempt.bodies) == kept
    assert error in (attempt.error or "")


async def test_more_bytes_than_the_length_says_neither_hang_nor_survive() -> None:
    """Case TR-04: the page is longer than its Content-Length."""
    long = b"HTTP/1.1 502 Bad Gateway\r\nContent-Type: text/html\r\nContent-Length: 6\r\n\r\n<html></html>"
    async with serving(sends([long], close=False)) as url:
        attempt = await ask_once(url)
    assert (attempt.end, attempt.status, attempt.bodies) == ("complete", 502, [b"<html>"])
