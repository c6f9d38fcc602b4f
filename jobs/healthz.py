"""``GET /healthz`` of the agent and the judge, where the configuration has them listen; else they listen nowhere.

It says what ``weighmaster health`` says of the process, by the sign of life that the process itself renews. The event
loop that does the work answers: who hangs does not. Nothing here is worth a token: no key, no name of an endpoint, at
most the path of the spool.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, closing, suppress
from typing import Any

import orjson

from jobs.listening import listening
from monitor.config_fields import Address

MOST_HEAD = 8192
"""Bytes of one request."""
LIMIT_S = 5.0
"""Within which a request has to be there."""
MOST_AT_ONCE = 16
"""Connections, so that nobody takes the files of a process that has work to do; the oldest makes room for another."""
INVALID = "works with its old configuration, the file is not valid: see its log, or `weighmaster check`"

_REASONS = {200: "OK", 400: "Bad Request", 404: "Not Found", 405: "Method Not Allowed", 503: "Service Unavailable"}


@asynccontextmanager
async def answering(
    at: Address | None, process: str, life: Callable[[], Mapping[str, Any]], say: Callable[[str], None]
) -> AsyncIterator[None]:
    """Answer at `at` while the body runs; None: nowhere. `say` is told the real address, without a path.

    Parameters
    ----------
    at
        Where to listen; port 0 takes a free one.
    process
        Its name, for the answer.
    life
        What is known of it, as `jobs.alive.life_of` returns it.
    say
        Called once, when requests are answered.

    Raises
    ------
    UsageError
        When it cannot listen there.
    """
    if at is None:
        yield
        return
    answerer = _Answerer(process, life)
    with closing(listening(at.host, at.port)) as listener:
        server = await asyncio.start_server(answerer.connected, sock=listener, limit=MOST_HEAD)
        say(Address(host=at.host, port=listener.getsockname()[1]).url)
        try:
            yield
        finally:
            server.close()


def facts(process: str, life: Mapping[str, Any]) -> tuple[int, dict[str, object]]:
    """The status and the body of an answer: 200 when the process works, else 503."""
    invalid = life.get("config_invalid") is not None
    body = {
        "status": "ok" if life["alive"] else "failed", "process": process, "version": life.get("version"),
        "reason": INVALID if life["alive"] and invalid else life["reason"], "config_valid": not invalid,
        "age_s": life.get("age_s"),
    }  # fmt: skip
    return (200 if life["alive"] else 503), body


class _Answerer:
    def __init__(self, process: str, life: Callable[[], Mapping[str, Any]]) -> None:
        self._process, self._life = process, life
        self._open: dict[asyncio.Task[None] | None, None] = {}  # the oldest first

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request and close. A monitor sends at once: who has waited longest is idle, and goes first."""
        own = asyncio.current_task()
        if len(self._open) >= MOST_AT_ONCE and (oldest := next(iter(self._open))) is not None:
            del self._open[oldest]
            oldest.cancel()
        self._open[own] = None
        try:
            # Cancelled at the end of the process, a task that says so is an error in the log of Python 3.11.
            with suppress(OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.CancelledError):
                async with asyncio.timeout(LIMIT_S):
                    writer.write(self._answer(await _head(reader)))
                    await writer.drain()
        finally:
            self._open.pop(own, None)
            writer.close()

    def _answer(self, head: bytes) -> bytes:
        method, _, rest = head.partition(b"\r\n")[0].partition(b" ")
        target, _, version = rest.partition(b" ")
        if not version.startswith(b"HTTP/1."):
            return _reply(400, {"error": "send an HTTP/1.1 request of at most 8 KiB"})
        if target.partition(b"?")[0] != b"/healthz":
            return _reply(404, {"error": "only /healthz is here"})
        if method not in {b"GET", b"HEAD"}:
            return _reply(405, {"error": "only GET and HEAD"})
        return _reply(*facts(self._process, self._life()), bare=method == b"HEAD")


async def _head(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.readuntil(b"\r\n\r\n")
    except asyncio.LimitOverrunError:
        return b""


def _reply(status: int, body: Mapping[str, object], *, bare: bool = False) -> bytes:
    content = orjson.dumps(body)
    lines = (
        f"HTTP/1.1 {status} {_REASONS[status]}", "content-type: application/json", f"content-length: {len(content)}",
        "cache-control: no-store", "connection: close", *(["allow: GET, HEAD"] if status == 405 else []), "", "",
    )  # fmt: skip
    return "\r\n".join(lines).encode() + (b"" if bare else content)
