"""What strangers may do to a server of ours. Oracle: sockets of our own that dawdle, and that a request is answered."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
import uvicorn

from jobs import bounded_http
from jobs.bounded_http import BoundedProtocol, most_at_once
from jobs.listening import listening

Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Connect = Callable[[bytes], Awaitable[Connection]]
ASK = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n"
POST = b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 4\r\n\r\n"


async def app(scope: Any, receive: Any, send: Any) -> None:
    more = True
    while more:
        message = await receive()
        more = message.get("more_body", False)
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


@asynccontextmanager
async def served() -> AsyncIterator[Connect]:
    config = uvicorn.Config(app, http=BoundedProtocol, lifespan="off", ws="none", log_config=None, access_log=False)
    server, listener, opened = uvicorn.Server(config), listening("127.0.0.1", 0), list[asyncio.StreamWriter]()
    port = listener.getsockname()[1]
    task = asyncio.create_task(server._serve([listener]))  # not serve(), which takes over the signals

    async def connect(begin: bytes) -> Connection:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        opened.append(writer)
        writer.write(begin)
        return reader, writer

    try:
        yield connect
    finally:
        for writer in opened:
            writer.close()
        server.should_exit = True
        await task
        listener.close()


async def ended(reader: asyncio.StreamReader) -> bytes:
    """All that comes until the other side closes or resets."""
    try:
        return await asyncio.wait_for(reader.read(), 20)
    except ConnectionResetError:
        return b""


@pytest.mark.parametrize(("begin", "answer"), [
    (b"", b""), (b"GET / HTTP/1.1\r\nhost: x\r\nx-", b""), (POST + b"ab", b""),
    (b"GET / HTTP/1.1\r\nx: " + b"a" * 100_000, b"HTTP/1.1 400 "),
])  # fmt: skip
async def test_who_does_not_go_on_is_closed(begin: bytes, answer: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_http, "HEAD_S", 0.3)
    monkeypatch.setattr(bounded_http, "PAUSE_S", 0.3)
    async with served() as connect:
        reader, _ = await connect(begin)
        assert (await ended(reader)).startswith(answer)
        assert bool(answer) == begin.endswith(b"aaa")


async def test_a_trickle_of_head_buys_no_time_and_one_of_body_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_http, "HEAD_S", 1.0)
    monkeypatch.setattr(bounded_http, "PAUSE_S", 1.0)
    async with served() as connect:
        slow, body = await connect(b"GET / HTTP/1.1\r\n"), await connect(POST)
        for at in range(4):
            await asyncio.sleep(0.4)
            body[1].write(b"x")
            if at < 2:
                slow[1].write(b"a: b\r\n")
        assert await body[0].readuntil(b"ok")
        assert await ended(slow[0]) == b""


async def test_the_one_that_waited_longest_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_http, "MOST", 3)
    assert most_at_once() == 3
    async with served() as connect:
        busy, _ = await connect(POST)  # is being answered: it stays
        idle = [(await connect(b""))[0] for _ in range(6)]
        reader, writer = await connect(ASK)
        assert await reader.readuntil(b"ok")
        writer.write(ASK)  # kept alive
        assert await reader.readuntil(b"ok")
        assert [await ended(one) for one in idle[:4]] == [b""] * 4
        assert not busy.at_eof()
