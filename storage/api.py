"""The store over HTTP: ingest for agents and the judge, named reads for everybody else. SQL never comes from users."""

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from typing import Any

import orjson
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from monitor.errors import StoreError
from monitor.ports import Entry
from storage import gauges, openapi
from storage.grants import AGENT_READS, Tokens, check_entries, check_writer, granted, nobody
from storage.interface import ReadStore
from storage.migrations import MIGRATIONS
from storage.parameters import Parameters, RefusedError
from storage.plans import READS, Plan, healthz
from storage.prometheus import CONTENT_TYPE, Family, Sample, rendered
from storage.snapshots import ASKED, PASSING

_NOTHING: Mapping[str, Plan] = {}
BODY_LIMIT = 64 * 2**20
"""Bytes of one ingest request."""
CLOCK_HEADER = "weighmaster-clock"
"""In the answer to an ingest: the store's clock, as ISO 8601."""


def _json(body: object, status: int = 200) -> Response:
    return Response(orjson.dumps(body), status, media_type="application/json")


def _reader(store: ReadStore, plan: Plan, may: Callable[[Request], object]) -> Callable[[Request], Any]:
    async def read(request: Request) -> Response:
        may(request)
        ask = Parameters(request.query_params)
        call = plan(store, ask)
        ask.finish()
        if ask.endpoint is not None and not await run_in_threadpool(store.knows, ask.endpoint):
            raise RefusedError(404, f"no endpoint {ask.endpoint[:80]!r}; /api/overview lists those that there are")
        found = await run_in_threadpool(call)
        return found if isinstance(found, Response) else _json(found)

    return read


async def _body(request: Request) -> bytes:
    """Return the body; past the limit the rest is read and dropped, so that the peer gets to see the answer."""
    parts: list[bytes] = []
    size = 0
    try:
        async for part in request.stream():
            size += len(part)
            if size > 4 * BODY_LIMIT:
                break
            if size > BODY_LIMIT:
                parts.clear()
            else:
                parts.append(part)
    except ClientDisconnect:  # nobody reads the answer, and half a body is no mistake of ours to log
        raise RefusedError(400, "the body ended early") from None
    if size > BODY_LIMIT:
        raise RefusedError(413, f"the body is over {BODY_LIMIT} bytes: send fewer entries at once")
    return b"".join(parts)


def _entry(index: int, item: object) -> Entry:
    if not isinstance(item, dict) or set(item) != {"seq", "kind", "data"}:
        raise RefusedError(400, f"entries[{index}] must be an object with seq, kind and data")
    seq, kind = item["seq"], item["kind"]
    if type(seq) is not int or not 1 <= seq < 2**63:
        raise RefusedError(400, f"entries[{index}].seq must be an integer from 1 to 2^63 - 1")
    if not isinstance(kind, str):
        raise RefusedError(400, f"entries[{index}].kind must be a string")
    return Entry(seq, kind, orjson.dumps(item["data"]))


def _batch(body: bytes, vantage: str | None) -> tuple[str, list[Entry]]:
    try:
        given = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise RefusedError(400, f"the body is not JSON: {error}") from None
    if not isinstance(given, dict) or set(given) != {"writer", "entries"}:
        raise RefusedError(400, "the body must be an object with writer and entries")
    writer, entries = given["writer"], given["entries"]
    if not isinstance(writer, str) or not 1 <= len(writer) <= 200:
        raise RefusedError(400, "writer must be a string of 1 to 200 characters")
    if not isinstance(entries, list):
        raise RefusedError(400, "entries must be a list")
    taken = [_entry(index, item) for index, item in enumerate(entries)]
    check_writer(writer, vantage)
    check_entries(entries, vantage)
    return writer, taken


def _only_json(request: Request) -> None:
    # A page in a browser can post other types to loopback without asking first, but not this one.
    if request.headers.get("content-type", "").split(";")[0].strip().lower() != "application/json":
        raise RefusedError(415, "the content type must be application/json")


def _ingester(
    store: ReadStore, who: Callable[[Request], str | None], now: Callable[[], datetime] | None
) -> Callable[[Request], Any]:
    # A thread of its own: readers that fill the shared pool do not keep writers waiting.
    writing = ThreadPoolExecutor(1, "ingest")

    def apply(body: bytes, vantage: str | None) -> int:
        writer, entries = _batch(body, vantage)
        return store.ingest(writer, entries)

    async def ingest(request: Request) -> Response:
        vantage = who(request)
        _only_json(request)
        body = await _body(request)
        mark = await asyncio.get_running_loop().run_in_executor(writing, apply, body, vantage)
        reply = _json({"mark": mark})
        if now is not None:
            reply.headers[CLOCK_HEADER] = now().isoformat()
        return reply

    return ingest


_LABELS = {b"": ASKED, b"{}": ASKED, b'{"passing":true}': PASSING}


def _snapshotter(snapshot: Callable[[str], Path], may: Callable[[Request], object]) -> Callable[[Request], Any]:
    async def take(request: Request) -> Response:
        may(request)
        _only_json(request)
        label = _LABELS.get(b"".join((await _body(request)).split()))
        if label is None:
            raise RefusedError(400, 'send {}, or {"passing": true} for a snapshot that is removed after a day')
        return _json({"folder": str(await run_in_threadpool(snapshot, label))})

    return take


def _metrics(
    store: ReadStore, may: Callable[[Request], object], version: str, config_valid: Callable[[], bool]
) -> Callable[[Request], Any]:
    def text() -> str:
        build = Sample(labels={"version": version}, value=1)
        own = Family(name="weighmaster_build_info", kind="gauge", text="Version of the store.", samples=(build,))
        file = Sample(labels={}, value=float(config_valid()))
        valid = Family(
            name="weighmaster_config_valid", kind="gauge", samples=(file,),
            text="0 when the configuration file was changed and is not valid; the one before it is in force then.",
        )  # fmt: skip
        steps = Sample(labels={}, value=float(len(MIGRATIONS)))
        schema = Family(name="weighmaster_store_schema", kind="gauge", text="Version of the schema.", samples=(steps,))
        return rendered([own, valid, schema, *store.tally.families(), *gauges.families(store)])

    async def metrics(request: Request) -> Response:
        may(request)
        return Response(await run_in_threadpool(text), headers={"content-type": CONTENT_TYPE})

    return metrics


def _described(described: Mapping[str, Any], may: Callable[[Request], object]) -> list[Route]:
    html = openapi.page(dict(described))

    async def json(request: Request) -> Response:
        may(request)
        return _json(described)

    async def page(request: Request) -> Response:
        may(request)
        return HTMLResponse(html, headers={"content-security-policy": "default-src 'none'; style-src 'unsafe-inline'"})

    return [Route("/openapi.json", json, methods=["GET"]), Route("/openapi", page, methods=["GET"])]


# Anything else than what is matched here is our bug: the server raises it again and logs it.
def _refused(_request: Request, error: Exception) -> Response:
    status, message = 500, "internal error of the store; its log has the details"
    match error:
        case RefusedError():
            status, message = error.status, error.message
        case HTTPException():
            status, message = error.status_code, error.detail
        case StoreError():
            status, message = 503, str(error)
    return _json({"error": message}, status)


def app(
    store: ReadStore, *, token: str | None = None, agents: Tokens = nobody, more: Mapping[str, Plan] = _NOTHING,
    snapshot: Callable[[str], Path] | None = None, version: str = "", config_valid: Callable[[], bool] = lambda: True,
    now: Callable[[], datetime] | None = None,
) -> Starlette:  # fmt: skip
    """Return the ASGI application over `store`.

    Parameters
    ----------
    store
        Where records go and come from. Not closed here.
    token
        When given, every path but ``/healthz`` and ``/api/health`` wants ``Authorization: Bearer <token>``.
    agents
        Tokens of agents, by vantage: such a one writes what was measured there, and reads only what an agent needs.
    more
        Further reads by name, under ``/api/``.
    snapshot
        Takes a snapshot with a label and returns its folder; None offers none.
    version
        What ``/metrics`` and the description say.
    config_valid
        Whether the configuration file is as it should be, for ``/metrics``.
    now
        The store's clock, told with every answer to an ingest, so that agents know how theirs stand to it.

    Notes
    -----
    Errors are ``{"error": message}`` with 400, 401, 403, 404, 413, 415, 500, or 503 when the store cannot work now.
    """
    reads = {**READS, **more}

    def who(request: Request) -> str | None:
        return granted(request, token, agents)

    def owner(request: Request) -> None:
        if (vantage := who(request)) is not None:
            raise RefusedError(403, f"the token of {vantage!r} may only write what its agent measured")

    may = {"health": lambda _request: None, **dict.fromkeys(AGENT_READS, who)}
    routes = [
        Route(f"/api/{name}", _reader(store, plan, may.get(name, owner)), methods=["GET"])
        for name, plan in reads.items()
    ]
    routes.append(Route("/healthz", _reader(store, healthz, may["health"]), methods=["GET"]))
    routes.append(Route("/metrics", _metrics(store, owner, version, config_valid), methods=["GET"]))
    routes.append(Route("/api/ingest", _ingester(store, who, now), methods=["POST"]))
    if snapshot is not None:
        routes.append(Route("/api/snapshot", _snapshotter(snapshot, owner), methods=["POST"]))
    routes += _described(openapi.document(store, reads, token=token is not None, version=version), owner)
    handled: Mapping[Any, Any] = dict.fromkeys((RefusedError, HTTPException, StoreError, Exception), _refused)
    return Starlette(routes=routes, exception_handlers=handled)
