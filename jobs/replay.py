"""``weighmaster replay``: captures and timed scripts served as an endpoint, with their own timing and faults."""

import asyncio
import contextlib
import pathlib
import signal
import socket
import struct
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self, TextIO

import orjson

from jobs.replay_script import Chunk, Script, scripts_from

__all__ = ["Chunk", "Received", "ReplayServer", "Script", "scripts_from", "serve"]

_RESET_ON_CLOSE = struct.pack("ii", 1, 0)
_MODELS = orjson.dumps({"object": "list", "data": [{"id": "replay", "object": "model", "owned_by": "weighmaster"}]})


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
        self._scripts = tuple(scripts)
        self._host, self._port = host, port
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        """Base URL, ``http://HOST:PORT/v1``."""
        return f"http://{self._host}:{self._port}/v1"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, self._host, self._port)
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.close()
        for task in self._connections:
            task.cancel()
        if self._connections:
            await asyncio.wait(self._connections)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._connection(reader, writer))
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer requests until either side closes."""
        try:
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
                while await self._answer(await _receive(reader), writer):
                    pass
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    async def _answer(self, request: Received, writer: asyncio.StreamWriter) -> bool:
        """Answer one request; return whether the connection stays open."""
        start = asyncio.get_running_loop().time()
        if request.method == "GET":
            return await _answer_get(request, writer)
        script = self._scripts[len(self.requests) % len(self._scripts)]
        self.requests.append(request)
        for due_ms, data in script.writes():
            # A sleep per write, to a time that does not depend on the writes before it.
            await asyncio.sleep(max(start + due_ms / 1e3 - asyncio.get_running_loop().time(), 0.0))
            writer.write(data)
            await writer.drain()
        return _close(script, writer)


async def _receive(reader: asyncio.StreamReader) -> Received:
    """Read one request, body included."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, _, rest = head[0].partition(" ")
    path = rest.partition(" ")[0]
    fields = (line.partition(":") for line in head[1:])
    headers = {name.strip().lower(): value.strip() for name, colon, value in fields if colon}
    length = headers.get("content-length", "0")
    data = await reader.readexactly(int(length) if length.isdigit() else 0)
    with contextlib.suppress(orjson.JSONDecodeError):
        return Received(method, path, headers, orjson.loads(data))
    return Received(method, path, headers, None)


async def _answer_get(request: Received, writer: asyncio.StreamWriter) -> bool:
    found = request.path.rstrip("/").endswith("/models")
    body = _MODELS if found else b'{"error":{"message":"only POST and GET /v1/models are replayed","code":404}}'
    status = b"200 OK" if found else b"404 Not Found"
    writer.write(b"HTTP/1.1 %b\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % (status, len(body)))
    writer.write(body)
    await writer.drain()
    return True


def _close(script: Script, writer: asyncio.StreamWriter) -> bool:
    """End the connection as the script says; return whether it stays open."""
    if script.close == "rst":
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
        writer.transport.abort()
    return script.close == "none"


def serve(
    path: pathlib.Path, port: int, out: TextIO, *, format: str | None = None, host: str = "127.0.0.1"  # noqa: A002
) -> int:
    """Serve the scripts of `path` until SIGINT or SIGTERM; print the base URL on one line first. Returns 0."""
    asyncio.run(_serve(ReplayServer(scripts_from(path, format), host=host, port=port), out))
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
