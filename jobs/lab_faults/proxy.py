"""``weighmaster lab faults``: a proxy that puts a fault of the catalogue in front of any chat endpoint, at any rate.

What is not to be faulty goes through as it comes, byte for byte and when it comes. A faulty answer is made when the
real one is complete, so its timing is not the endpoint's. Every answer says in ``x-lab-fault`` which fault it got, so
that a client under test can be compared with the truth.
"""

import asyncio
import random
import ssl
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Self

import httpx
import orjson

from jobs.lab_faults.answer import Answer
from jobs.lab_faults.inject import injector
from jobs.listening import listening

_MAX_HEAD, _MAX_BODY = 64 * 1024, 64 * 2**20
_OF_THIS_HOP = frozenset({
    "connection", "keep-alive", "transfer-encoding", "content-length", "content-encoding", "te", "upgrade", "host",
    "accept-encoding", "proxy-authorization", "proxy-connection",
})  # fmt: skip


class FaultProxy:
    """Forwards to `upstream` (a base URL) and spoils a share `rate` of the answers to POST requests with `fault`.

    An async context manager. `url` is the base URL to ask instead; `counts` says how many answers were ``clean``, got
    the fault, or could not carry it (``not_carried``: a fault of tool calls needs a request with tools).

    Raises
    ------
    UsageError
        When there is no such fault.
    """

    def __init__(
        self, upstream: str, fault: str, *, rate: float = 1.0, seed: int = 0, host: str = "127.0.0.1", port: int = 0
    ) -> None:
        self.counts: Counter[str] = Counter()
        self._upstream, self._fault = upstream.rstrip("/"), fault
        self._inject, self._rate, self._rng = injector(fault), rate, random.Random(seed)  # noqa: S311  # no secret
        self._host, self._port = host, port
        # The trust store takes a tenth of a second to load, and plain HTTP has no use for it.
        trust = ssl.create_default_context() if self._upstream.startswith("https:") else False
        self._http = httpx.AsyncClient(timeout=httpx.Timeout(None, connect=10), trust_env=False, verify=trust)
        self._server: asyncio.Server | None = None

    @property
    def url(self) -> str:
        """Base URL of the faulty endpoint."""
        return f"http://{self._host}:{self._port}{httpx.URL(self._upstream).path.rstrip('/')}"

    async def __aenter__(self) -> Self:
        listener = listening(self._host, self._port)
        self._server = await asyncio.start_server(self._serve, sock=listener, limit=_MAX_HEAD)
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.close()
        await self._http.aclose()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection, one after the other."""
        broken = (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError, ValueError, httpx.HTTPError)
        with suppress(*broken):  # on either side; what is cut off there is cut off here
            while await self._answer(reader, writer):
                pass
        writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer one request; return whether the connection can be used again."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, target, _ = head[0].split(" ", 2)
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
        size = int(headers.get("content-length", "0"))
        if not 0 <= size <= _MAX_BODY or "transfer-encoding" in headers:
            await _write(writer, 411, {}, b'{"error":{"message":"send a content-length"}}')
            return False
        body = await reader.readexactly(size)
        asked = _object(body)
        spoilt = method == "POST" and asked is not None and self._rng.random() < self._rate
        upstream = httpx.URL(self._upstream).copy_with(raw_path=target.encode("latin-1"))
        sent = {name: value for name, value in headers.items() if name not in _OF_THIS_HOP}
        request = self._http.build_request(
            method, upstream, headers={**sent, "accept-encoding": "identity"}, content=body
        )
        try:
            reply = await self._http.send(request, stream=True)
        except httpx.HTTPError as error:
            words = orjson.dumps({"error": {"message": f"the endpoint behind the lab: {type(error).__name__}"}})
            await _write(writer, 502, {"content-type": "application/json"}, words)
            return True
        try:
            return await self._pass(reply, writer, asked if spoilt else None)
        finally:
            await reply.aclose()

    async def _pass(self, reply: httpx.Response, writer: asyncio.StreamWriter, asked: Mapping[str, Any] | None) -> bool:
        headers = {name: value for name, value in reply.headers.items() if name not in _OF_THIS_HOP}
        if asked is None:
            self.counts["clean"] += 1
            await _stream(writer, reply, {**headers, "x-lab-fault": "none"})
            return True
        body = await reply.aread()
        answer = Answer.parsed(asked, reply.status_code, headers, body)
        carried = answer is not None and self._inject(answer)
        self.counts[self._fault if carried else "not_carried"] += 1
        if answer is None or not carried:
            await _write(writer, reply.status_code, {**headers, "x-lab-fault": "not_carried"}, body)
            return True
        named = {**answer.headers, "x-lab-fault": self._fault}
        await _write(writer, answer.status, named, answer.body, more=1 if answer.cut else 0)
        return not answer.cut


async def _write(
    writer: asyncio.StreamWriter, status: int, headers: Mapping[str, str], body: bytes, *, more: int = 0
) -> None:
    """Write a response; with `more` it promises bytes that never come."""
    writer.write(_head(status, {**headers, "content-length": str(len(body) + more)}) + body)
    await writer.drain()


async def _stream(writer: asyncio.StreamWriter, reply: httpx.Response, headers: Mapping[str, str]) -> None:
    """Pass a response on while it comes."""
    writer.write(_head(reply.status_code, {**headers, "transfer-encoding": "chunked"}))
    async for part in reply.aiter_raw():
        writer.write(b"%x\r\n%b\r\n" % (len(part), part))
        await writer.drain()
    writer.write(b"0\r\n\r\n")
    await writer.drain()


def _head(status: int, headers: Mapping[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} Lab", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
    return "\r\n".join(lines).encode("latin-1", "replace")


def _object(body: bytes) -> Mapping[str, Any] | None:
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, dict) else None
