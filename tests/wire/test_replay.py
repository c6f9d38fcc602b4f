"""The replay server. Oracle: the script itself; times are only checked not to be early."""

import asyncio
import base64
import contextlib
import os
import pathlib
import signal
import subprocess
import sys
from collections.abc import AsyncIterator

import pytest

from jobs.replay import Chunk, Received, ReplayServer, Script, scripts_from
from monitor.errors import UsageError
from monitor.types import Capture, Read
from monitor.wire.dispatch import decode
from monitor.wire.files import Recording, dump
from monitor.wire.http1 import parse
from tests.wire.golden import FOLDER

POST = b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nX-Probe: 7\r\nContent-Length: 11\r\n\r\n"
BODY = b'{"seed": 1}'


class Wire:
    """A raw client that stamps what it reads."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def ask(self, data: bytes = POST + BODY) -> float:
        self.writer.write(data)
        await self.writer.drain()
        return asyncio.get_running_loop().time()

    async def until(self, mark: bytes) -> list[tuple[float, bytes]]:
        """Read until `mark` ends what came."""
        got: list[tuple[float, bytes]] = []
        while not b"".join(data for _, data in got).endswith(mark):
            data = await self.reader.read(65536)
            assert data, "closed early"
            got.append((asyncio.get_running_loop().time(), data))
        return got

    async def rest(self) -> bytes:
        return await self.reader.read(-1)


@contextlib.asynccontextmanager
async def connected(server: ReplayServer) -> AsyncIterator[Wire]:
    host, port = server.url.removeprefix("http://").removesuffix("/v1").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        yield Wire(reader, writer)
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


def body_of(got: list[tuple[float, bytes]]) -> bytes:
    return b"".join(read.data for read in parse([Read(0, data) for _, data in got]).reads)


async def test_bytes_and_times() -> None:
    script = Script(chunks=(Chunk(0, b"data: 1\n\n"), Chunk(60, b"data: 2\n\n"), Chunk(120, b"data: [DONE]\n\n")))
    async with ReplayServer([script]) as server, connected(server) as wire:
        asked = await wire.ask()
        got = await wire.until(b"0\r\n\r\n")
    assert body_of(got) == b"data: 1\n\ndata: 2\n\ndata: [DONE]\n\n"
    assert got[0][1].startswith(b"HTTP/1.1 200 ")
    for mark, due in ((b"data: 2", 0.060), (b"[DONE]", 0.120)):
        # The request was fully received after `asked` at the earliest, so no chunk can be seen before it is due.
        assert next(at for at, data in got if mark in data) - asked >= due - 0.001


async def test_rotation_over_one_connection_and_the_log() -> None:
    scripts = [Script(chunks=(Chunk(0, b"a"),)), Script(chunks=(Chunk(0, b"b"),), status=503)]
    async with ReplayServer(scripts) as server, connected(server) as wire:
        seen = []
        for _ in range(3):
            await wire.ask()
            got = await wire.until(b"0\r\n\r\n")
            seen.append((got[0][1].split(b" ")[1], body_of(got)))
    assert seen == [(b"200", b"a"), (b"503", b"b"), (b"200", b"a")]
    headers = {"host": "x", "x-probe": "7", "content-length": "11"}
    assert server.requests[0] == Received("POST", "/v1/chat/completions", headers, {"seed": 1})
    assert len(server.requests) == 3


@pytest.mark.parametrize("length", [b"abc", b"-1", b"1 1", b""])
async def test_a_length_that_is_none_is_refused_and_the_connection_closed(length: bytes) -> None:
    """RFC 9112, 6.3: an invalid length cannot be recovered from; the server answers 400 and closes."""
    async with ReplayServer([Script(chunks=(Chunk(0, b"a"),))]) as server, connected(server) as wire:
        await wire.ask(POST.replace(b"11", length) + BODY)
        assert (await wire.rest()).startswith(b"HTTP/1.1 400 Bad Request\r\n")
        assert server.requests == []


async def test_the_request_is_drained_before_the_clock_starts() -> None:
    async with ReplayServer([Script(chunks=(Chunk(0, b"a"),))]) as server, connected(server) as wire:
        await wire.ask(POST + BODY[:5])
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(wire.reader.read(1), 0.05)
        await wire.ask(BODY[5:])
        assert body_of(await wire.until(b"0\r\n\r\n")) == b"a"


async def test_models_and_other_gets() -> None:
    async with ReplayServer([]) as server, connected(server) as wire:
        await wire.ask(b"GET /v1/models HTTP/1.1\r\n\r\n")
        assert b'"id":"replay"' in (await wire.until(b"}]}"))[-1][1]
        await wire.ask(b"GET /other HTTP/1.1\r\n\r\n")
        assert (await wire.until(b"}}"))[0][1].startswith(b"HTTP/1.1 404")
    assert server.requests == []


@pytest.mark.parametrize(("close", "ending"), [("fin", b"0\r\n\r\n"), ("cut", b"2\r\nhi\r\n")])
async def test_closing(close: str, ending: bytes) -> None:
    script = Script(chunks=(Chunk(0, b"hi"),), close=close, end_ms=5)  # type: ignore[arg-type]
    async with ReplayServer([script]) as server, connected(server) as wire:
        await wire.ask()
        got = await wire.rest()
    assert b"Connection: close" in got
    assert got.endswith(ending)


async def test_reset() -> None:
    script = Script(chunks=(Chunk(0, b"hi"),), close="rst", end_ms=60)
    async with ReplayServer([script]) as server, connected(server) as wire:
        await wire.ask()
        await wire.until(b"2\r\nhi\r\n")
        with pytest.raises(ConnectionResetError):
            await wire.rest()


async def test_a_raw_response_is_sent_as_it_is() -> None:
    raw = b"HTTP/1.1 502 Bad\r\nContent-Length: 66\r\n\r\nmore or less"
    script = Script.from_recording(Recording(reads=(Read(0, raw[:7]), Read(0, raw[7:]))))
    async with ReplayServer([script]) as server, connected(server) as wire:
        await wire.ask()
        assert await wire.rest() == raw


async def test_silence_until_the_close() -> None:
    script = Script.from_recording(Recording(reads=(), timed=True, eof_ns=30_000_000))
    async with ReplayServer([script]) as server, connected(server) as wire:
        asked = await wire.ask()
        assert await wire.rest() == b""
        assert asyncio.get_running_loop().time() - asked >= 0.029


async def test_leaving_the_server_ends_open_streams() -> None:
    script = Script(chunks=(Chunk(0, b"hi"), Chunk(10**7, b"never")))
    async with ReplayServer([script]) as server, connected(server) as wire:
        await wire.ask()
        await wire.until(b"hi\r\n")
        await server.__aexit__()
        assert await wire.rest() == b""


async def test_a_client_that_leaves_does_not_stop_the_others() -> None:
    script = Script(chunks=(Chunk(0, b"hi"), Chunk(20, b"x" * 10**6), Chunk(40, b"x")))
    async with ReplayServer([script]) as server:
        for _ in range(2):
            async with connected(server) as wire:
                await wire.ask()
                await wire.until(b"hi\r\n")
        async with connected(server) as wire:
            await wire.ask(b"nonsense\r\n\r\n")
            assert (await wire.until(b"0\r\n\r\n"))[0][1].startswith(b"HTTP/1.1 200")


async def test_requests_that_come_at_once_are_answered_in_turn() -> None:
    async with ReplayServer([Script(chunks=(Chunk(0, b"a"),))]) as server, connected(server) as wire:
        await wire.ask((POST + BODY) * 2000)
        for _ in range(2000):
            await wire.reader.readuntil(b"1\r\na\r\n0\r\n\r\n")
    assert len(server.requests) == 2000


async def test_a_client_that_closes_its_half_still_gets_its_answer() -> None:
    async with ReplayServer([Script(chunks=(Chunk(0, b"a"), Chunk(30, b"b")))]) as server, connected(server) as wire:
        await wire.ask()
        wire.writer.write_eof()
        assert (await wire.rest()).endswith(b"1\r\na\r\n1\r\nb\r\n0\r\n\r\n")


async def test_a_client_that_does_not_read_holds_the_writes_back() -> None:
    size, count = 10**6, 30
    script = Script(chunks=tuple(Chunk(n, b"x" * size) for n in range(count)), close="fin")
    async with ReplayServer([script]) as server, connected(server) as wire:
        await wire.ask()
        await asyncio.sleep(0.2)
        (connection,) = server.connections
        assert connection._transport.get_write_buffer_size() < 3 * size
        assert len(body_of([(0, await wire.rest())])) == size * count


async def test_a_head_without_end_is_cut_off() -> None:
    async with ReplayServer([]) as server, connected(server) as wire:
        wire.writer.write(b"GET /" + b"a" * 200_000)
        with contextlib.suppress(ConnectionError):
            assert await wire.rest() == b""
        assert not server.connections


def test_a_capture_keeps_its_timing() -> None:
    capture = Capture(
        status=429,
        headers=(("Retry-After", "2"), ("Content-Length", "9")),
        t0_ns=10**9,
        first_byte_ns=10**9 + 3_000_000,
        reads=(Read(10**9 + 4_000_000, b"ab"), Read(10**9 + 9_500_000, b"c")),
        eof_ns=10**9 + 11_000_000,
        end="unclean",
    )
    script = Script.from_capture(capture)
    assert script.chunks == (Chunk(4.0, b"ab"), Chunk(9.5, b"c"))
    assert (script.status, script.headers, script.close) == (429, (("Retry-After", "2"),), "cut")
    assert [at for at, _ in script.writes()] == [3, 4, 9.5, 11]
    assert [data[:6] for _, data in script.writes()] == [b"HTTP/1", b"2\r\nab\r", b"1\r\nc\r\n", b""]


async def test_decode_of_a_replayed_capture_is_the_same() -> None:
    """The whole circle: file, server, socket, file format, decoder."""
    path = FOLDER / "TM-04.own_one_event_each.timed"
    original = decode(Capture(status=200, reads=tuple(Read(0, chunk.data) for chunk in scripts_from(path)[0].chunks)))
    async with ReplayServer(scripts_from(path)) as server, connected(server) as wire:
        await wire.ask()
        got = await wire.until(b"0\r\n\r\n")
    parsed = parse([Read(0, data) for _, data in got])
    assert decode(Capture(status=parsed.status, reads=parsed.reads)) == original


def test_scripts_of_a_folder_come_in_name_order(tmp_path: pathlib.Path) -> None:
    (tmp_path / "b.sse").write_bytes(b"data: b\n\n")
    (tmp_path / "a.timed").write_bytes(b'{"at_ms":3,"send":"a"}\n{"at_ms":9,"close":"fin"}')
    (tmp_path / "record.json").write_bytes(b"[]")
    (tmp_path / "c.capture").write_bytes(dump(Capture(status=200, reads=(Read(5, b"c"),))))
    (tmp_path / "d.reads").write_bytes(b'{"b64":"' + base64.b64encode(b'{"e":1}') + b'"}')
    (tmp_path / "a.expected.json").write_text("{}")
    (tmp_path / "notes.txt").write_text("not a capture")
    a, b, c, d = scripts_from(tmp_path)
    assert (a.chunks, a.close, a.end_ms) == ((Chunk(3.0, b"a"),), "fin", 9.0)
    assert (b.chunks, b.close, b.end_ms) == ((Chunk(0.0, b"data: b\n\n"),), "none", None)
    assert c.chunks == (Chunk(0.0, b"c"),)
    assert d.headers == (("Content-Type", "application/json"),)


def test_what_cannot_be_replayed(tmp_path: pathlib.Path) -> None:
    for path, words in (
        (tmp_path, "no capture files"),
        (tmp_path / "x.txt", "not found"),
        (tmp_path / "x.sse", "not found"),
    ):
        with pytest.raises(UsageError, match=words):
            scripts_from(path)
    (tmp_path / "x.txt").write_bytes(b"data: {}")
    with pytest.raises(UsageError, match="cannot tell the format"):
        scripts_from(tmp_path / "x.txt")
    (tmp_path / "y.timed").write_bytes(b"nope")
    with pytest.raises(UsageError, match=r"y\.timed: line 1: not JSON"):
        scripts_from(tmp_path)


SERVE = "import pathlib, sys; from jobs.replay import serve; sys.exit(serve(pathlib.Path(sys.argv[1]), 0, sys.stdout))"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_serve_prints_its_url_and_stops_on_signals(number: int) -> None:
    path = str(FOLDER / "TE-04.sse")
    with subprocess.Popen([sys.executable, "-W", "error", "-c", SERVE, path], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith(b"http://127.0.0.1:")
        assert line.endswith(b"/v1\n")
        os.kill(process.pid, number)
        assert process.stdout.read() == b""
    assert process.returncode == 0
