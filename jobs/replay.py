"""``weighmaster replay``: captures and timed scripts served as an endpoint, with their own timing and faults."""

import asyncio
import pathlib
import signal
import socket
import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Self, TextIO, cast

import orjson

from jobs.event_loop import run
from jobs.replay_script import Chunk, Script, scripts_from
from monitor.errors import UsageError
from monitor.wire.http1 import LENGTH

__all__ = ["Chunk", "Received", "ReplayServer", "Script", "scripts_from", "serve"]

_RESET_ON_CLOSE = struct.pack("ii", 1, 0)
_MAX_HEAD = 64 * 1024
_BACKLOG = 4096
_MODELS = orjson.dumps({"object": "list", "data": [{"id": "replay", "object": "model", "owned_by": "weighmaster"}]})
_NOT_FOUND = b'{"error":{"message":"only POST and GET /v1/models are replayed","code":404}}'
_BAD_LENGTH = b'{"error":{"message":"the content-length is no number","code":400}}'


class Received(NamedTuple):
    """A request that the server got. Header names are lower-case; ``body`` is parsed JSON, None if it was none."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Any


class ReplayServer:
    """Answers POST requests to any path with `scripts` in rotation, one script per request.

    An async context manager; `url` is the base URL. ``GET .../models`` answers a model list. Chunk times count from
    the moment the request was fully received, on the absolute clock, so that lateness does not add up. `requests`
    lists the POST requests received.
    """

    def __init__(self, scripts: Sequence[Script], *, host: str = "127.0.0.1", port: int = 0) -> None:
        self.requests: list[Received] = []
        self.connections: set[_Connection] = set()
        self._writes = [tuple(script.writes()) for script in scripts]
        self._scripts = tuple(scripts)
        self._host, self._port = host, port
        self._server: asyncio.Server | None = None

    @property
    def url(self) -> str:
        """Base URL, ``http://HOST:PORT/v1``."""
        return f"http://{self._host}:{self._port}/v1"

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: _Connection(self), self._host, self._port, backlog=_BACKLOG)
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.close()
        for connection in tuple(self.connections):
            connection.leave()
        await asyncio.sleep(0)  # the transports close in the loop's next round

    def next_answer(self, request: Received) -> tuple[Script, Iterator[tuple[float, bytes]]]:
        """Note `request` and return the script whose turn it is, with what it writes and when (ms)."""
        turn = len(self.requests) % len(self._scripts)
        self.requests.append(request)
        return self._scripts[turn], iter(self._writes[turn])


class _Connection(asyncio.Protocol):
    """One connection: reads requests, and writes each answer from timers of the loop, without a task."""

    def __init__(self, server: ReplayServer) -> None:
        self._server = server
        self._loop = asyncio.get_running_loop()
        self._received = b""
        self._script: Script | None = None
        self._writes: Iterator[tuple[float, bytes]] = iter(())
        self._start = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._due: bytes | None = None
        self._paused = self._ended = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start to listen."""
        self._transport = cast("asyncio.Transport", transport)
        self._server.connections.add(self)

    def connection_lost(self, _exc: Exception | None) -> None:
        """Forget the answer."""
        if self._timer is not None:
            self._timer.cancel()
        self._script = None
        self._server.connections.discard(self)

    def leave(self) -> None:
        """Close the connection, whatever is still to be written."""
        self._transport.abort()

    def data_received(self, data: bytes) -> None:
        """Take what the client sent."""
        self._received += data
        self._take_request()

    def pause_writing(self) -> None:
        """Hold the next write back: the client does not read."""
        self._paused = True

    def resume_writing(self) -> None:
        """Go on with the write that was held back."""
        self._paused = False
        if self._timer is None:
            self._write()

    def eof_received(self) -> bool:
        """Keep the connection while an answer is under way: a client may close its half early."""
        self._ended = True
        return self._script is not None

    def _take_request(self) -> None:
        """Begin with the next request, once it is there in whole."""
        if self._script is not None or self._transport.is_closing():
            return
        try:
            found = _request(self._received)
        except UsageError:
            # Where the next request begins is unknown: nothing more can be read here.
            self._transport.write(_answer(b"400 Bad Request", _BAD_LENGTH))
            self._transport.close()
            return
        if found is None:
            if self._received.find(b"\r\n\r\n") < 0 and len(self._received) > _MAX_HEAD:
                self.leave()
            return
        request, size = found
        self._received = self._received[size:]
        if request.method == "GET":
            self._transport.write(_answer_to_get(request))
            self._take_request()
            return
        self._script, self._writes = self._server.next_answer(request)
        self._start = self._loop.time()
        self._wait()

    def _wait(self) -> None:
        """Take the next write, and do it when it is due: at a time that does not depend on the writes before it."""
        for due_ms, data in self._writes:
            due = self._start + due_ms / 1e3
            self._due = data
            if due > self._loop.time():
                self._timer = self._loop.call_at(due, self._write)
                return
            if self._paused:
                return
            self._transport.write(data)
        self._due = None
        self._finish()

    def _write(self) -> None:
        """Do the write that is due, unless the client does not read."""
        self._timer = None
        if self._paused or self._due is None:
            return
        self._transport.write(self._due)
        self._due = None
        self._wait()

    def _finish(self) -> None:
        """End the answer as its script says."""
        close = self._script.close if self._script is not None else "fin"
        self._script = None
        if close == "rst":
            raw: socket.socket = self._transport.get_extra_info("socket")
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
            self._transport.abort()
        elif close != "none" or self._ended:
            self._transport.close()
        else:
            self._loop.call_soon(self._take_request)


def _request(data: bytes) -> tuple[Received, int] | None:
    """The first request in `data` and its size; None while it is not complete.

    Raises UsageError where it says no length that is one.
    """
    end = data.find(b"\r\n\r\n")
    if end < 0:
        return None
    first, *rest = data[:end].decode("latin-1").split("\r\n")
    method, _, target = first.partition(" ")
    fields = (line.partition(":") for line in rest)
    headers = {name.strip().lower(): value.strip() for name, colon, value in fields if colon}
    length = headers.get("content-length", "0")
    if not LENGTH.fullmatch(length):
        raise UsageError("content-length: no number")
    size = end + 4 + int(length)
    if len(data) < size:
        return None
    try:
        body = orjson.loads(data[end + 4 : size])
    except orjson.JSONDecodeError:
        body = None
    return Received(method, target.partition(" ")[0], headers, body), size


def _answer_to_get(request: Received) -> bytes:
    found = request.path.rstrip("/").endswith("/models")
    body = _MODELS if found else _NOT_FOUND
    status = b"200 OK" if found else b"404 Not Found"
    return _answer(status, body)


def _answer(status: bytes, body: bytes) -> bytes:
    head = b"HTTP/1.1 %b\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % (status, len(body))
    return head + body


def serve(
    path: pathlib.Path, port: int, out: TextIO, *, format: str | None = None, host: str = "127.0.0.1"  # noqa: A002
) -> int:
    """Serve the scripts of `path` until SIGINT or SIGTERM; print the base URL on one line first. Returns 0."""
    run(_serve(ReplayServer(scripts_from(path, format), host=host, port=port), out))
    return 0


async def _serve(server: ReplayServer, out: TextIO) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    async with server:
        out.write(server.url + "\n")
        out.flush()
        await stop.wait()
