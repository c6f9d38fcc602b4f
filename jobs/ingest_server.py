"""A receiver of real traffic: OTLP/HTTP spans (``POST /v1/traces``) and access-log lines (``POST /v1/logs.jsonl``).

Bodies are bounded, unpacked ones too; with a token in the configuration every write needs it, as at the store.
"""

import asyncio
import hmac
import logging
import zlib
from collections.abc import Awaitable, Callable
from typing import Any

import orjson
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from jobs.ingest import events_in
from jobs.ingest_waiting import Receiver, RefusedError
from monitor.errors import StoreError
from monitor.shape_traffic import NoEventError
from monitor.types import Exchange
from storage.grants import bearer

log = logging.getLogger(__name__)

BODY_LIMIT = 8 * 2**20
Take = Callable[[bytes, "Receiver"], tuple[list[Exchange], int]]


def app(receiver: Receiver) -> Starlette:
    """Return the ASGI application that feeds `receiver`."""

    def route(path: str, take: Take, name: str) -> Route:
        async def post(request: Request) -> Response:
            try:
                body = await _body(request, receiver.token)
                found, refused = await asyncio.to_thread(take, body, receiver)
                await asyncio.to_thread(receiver.take, found)
            except RefusedError as error:
                return _json({"error": str(error)}, error.status)
            except ClientDisconnect:  # half a body is nothing, and nobody reads the answer
                return _json({"error": "the body ended early"}, 400)
            except StoreError as error:  # of the spool: nothing was taken
                return _json({"error": str(error)}, 503)
            receiver.tally.refused += refused
            return _json({"partialSuccess": {name: refused} if refused else {}})

        return Route(path, post, methods=["POST"])

    async def health(_request: Request) -> Response:
        return _json({"status": "ok"})

    return Starlette(
        routes=[
            route("/v1/traces", _spans, "rejectedSpans"), route("/v1/logs.jsonl", _lines, "rejectedLines"),
            Route("/health", health, methods=["GET"]),
        ]
    )  # fmt: skip


async def keep_flushing(receiver: Receiver, every_s: float, push: Callable[[], Awaitable[object]]) -> None:
    """Make runs of what came, and push them, every `every_s` seconds until cancelled."""
    while True:
        await asyncio.sleep(every_s)
        try:
            await asyncio.to_thread(receiver.flush)
            await push()
        except StoreError as error:
            log.warning("%s; trying again", error)
        except Exception:
            log.exception("cannot send what waits; trying again")  # a receiver that ends loses all that comes


def _spans(body: bytes, receiver: Receiver) -> tuple[list[Exchange], int]:
    try:
        return events_in(body, keep=receiver.keep), 0
    except NoEventError as error:
        if "no span" in str(error):
            return [], 0  # other spans of the same application
        raise RefusedError(400, f"the body is {error}") from None


def _lines(body: bytes, receiver: Receiver) -> tuple[list[Exchange], int]:
    found: list[Exchange] = []
    refused = 0
    for line in body.splitlines():
        if line.strip():
            try:
                found += events_in(line, keep=receiver.keep)
            except NoEventError:
                refused += 1
    return found, refused


async def _body(request: Request, token: str | None) -> bytes:
    """Return the unpacked body. Raises RefusedError for a wrong token, type or size."""
    given = bearer(request.headers.get("authorization", "")) or b""
    if token is not None and not hmac.compare_digest(given, token.encode()):
        raise RefusedError(401, "this receiver needs the store's token: send 'Authorization: Bearer ...'")
    kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
    # A page in a browser can post other types to loopback without asking first, but not these.
    if kind not in {"application/json", "application/x-ndjson", "application/jsonl"}:
        raise RefusedError(415, "send application/json or application/x-ndjson (OTLP: set the protocol to http/json)")
    parts: list[bytes] = []
    async for part in request.stream():
        parts.append(part)
        if sum(map(len, parts)) > BODY_LIMIT:
            raise RefusedError(413, f"the body is over {BODY_LIMIT} bytes: send fewer spans at once")
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    return _unpacked(b"".join(parts), encoding)


def _unpacked(body: bytes, encoding: str) -> bytes:
    if encoding == "identity":
        return body
    if encoding != "gzip":
        raise RefusedError(415, f"content-encoding {encoding[:40]}: send gzip or none")
    parts: list[bytes] = []
    room = BODY_LIMIT
    while body:  # a gzip file is one member or several
        unpacking = zlib.decompressobj(wbits=31)
        try:
            data = unpacking.decompress(body, room + 1)
        except zlib.error:
            raise RefusedError(400, "the body is no gzip") from None
        if len(data) > room:
            raise RefusedError(413, f"the body unpacks to more than {BODY_LIMIT} bytes: send fewer spans at once")
        if not unpacking.eof:
            raise RefusedError(400, "the gzip body ends early: send it again whole")
        parts.append(data)
        room -= len(data)
        body = unpacking.unused_data
    return b"".join(parts)


def _json(body: Any, status: int = 200) -> Response:
    return Response(orjson.dumps(body), status, media_type="application/json")
