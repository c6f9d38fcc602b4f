"""The least that an asyncio client can do with a stream: read it and throw it away."""

import asyncio
import time
from typing import Any, cast

_END = b"0\r\n\r\n"
_BODY = b'{"model":"m","messages":[{"role":"user","content":"hi"}],"stream":true}'
_REQUEST = b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%b" % (len(_BODY), _BODY)


class Bare(asyncio.BufferedProtocol):
    """Asks again whenever an answer has ended."""

    def __init__(self, buffer: memoryview, rounds: int) -> None:
        self._buffer, self._left = buffer, rounds
        self.done = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the transport."""
        self.transport = cast("asyncio.Transport", transport)

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002  # the interface of asyncio
        """Where the next read lands."""
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        """Look only whether the answer has ended."""
        if self._buffer[nbytes - 5 : nbytes] == _END:
            self._left -= 1
            if self._left:
                self.ask()
            else:
                self.done.set_result(None)

    def ask(self) -> None:
        """Write one request."""
        self.transport.write(_REQUEST)


async def bare_load(port: int, streams: int, rounds: int, gap_us: int) -> dict[str, Any]:
    """Run the load; the starts are spread over one gap, as those of a client that does more come to be."""
    loop, buffer = asyncio.get_running_loop(), memoryview(bytearray(65536))
    made = [await loop.create_connection(lambda: Bare(buffer, rounds), "127.0.0.1", port) for _ in range(streams)]
    clients = [client for _, client in made]
    start = time.perf_counter()
    for index, client in enumerate(clients):
        while time.perf_counter() - start < index * gap_us * 1e-6 / streams:
            pass
        client.ask()
    cpu, wall = time.process_time(), time.perf_counter()
    await asyncio.wait([client.done for client in clients])
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    for client in clients:
        client.transport.abort()
    await asyncio.sleep(0.01)
    return {"cpu_s": cpu, "wall_s": wall}
