"""The store over HTTP: ingest for agents and the judge, named reads for everybody else. SQL never comes from users."""

import asyncio
import hmac
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import orjson
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from monitor.errors import StoreError
from monitor.ports import Entry
from storage.interface import Json, ReadStore
from storage.parameters import Parameters, RefusedError

BODY_LIMIT = 64 * 2**20
"""Bytes of one ingest request."""

MOST_ROWS = 1000
MOST_RUNS = 200
MOST_BUCKETS = 2000
Plan = Callable[[ReadStore, Parameters], Callable[[], Any]]


def _health(store: ReadStore, _ask: Parameters) -> Callable[[], Any]:
    def read() -> Json:
        store.mark("")  # any read: it fails when the database does not work
        return {"status": "ok"}

    return read


def _mark(store: ReadStore, ask: Parameters) -> Callable[[], Any]:
    writer = ask.text("writer")
    return lambda: {"mark": store.mark(writer)}


def _overview(store: ReadStore, _ask: Parameters) -> Callable[[], Any]:
    return store.overview


def _series(store: ReadStore, ask: Parameters) -> Callable[[], Any]:
    endpoint, metric, since, until = ask.one_endpoint(), ask.text("metric"), ask.moment("since"), ask.moment("until")
    if since is not None and until is not None and since >= until:
        raise RefusedError(400, "parameter 'since' must be before 'until'")
    buckets = ask.number("buckets", default=500, high=MOST_BUCKETS)
    return partial(store.series, endpoint, metric, since=since, until=until, buckets=buckets)


def _verdicts(store: ReadStore, ask: Parameters) -> Callable[[], Any]:
    endpoint, detector = ask.any_endpoint(), ask.maybe("detector")
    return partial(store.verdicts, endpoint, detector, limit=ask.number("limit", default=100, high=MOST_ROWS))


def _verdict(store: ReadStore, ask: Parameters) -> Callable[[], Any]:
    verdict_id = ask.text("id")

    def read() -> Json:
        found = store.verdict(verdict_id)
        if found is None:
            raise RefusedError(404, f"no verdict {verdict_id[:80]!r}")
        return found

    return read


def _exchanges(store: ReadStore, ask: Parameters) -> Callable[[], Any]:
    endpoint, limit = ask.one_endpoint(), ask.number("limit", default=100, high=MOST_ROWS)
    return partial(store.exchanges, endpoint, limit=limit, outcome=ask.outcome("outcome"))


def _incidents(store: ReadStore, ask: Parameters) -> Callable[[], Any]:
    return partial(store.incidents, ask.any_endpoint(), open_only=ask.flag("open_only"))


def _slots(store: ReadStore, ask: Parameters) -> Callable[[], Any]:
    endpoint, since = ask.any_endpoint(), ask.moment("since")
    return partial(store.slots, endpoint, since=since, limit=ask.number("limit", default=100, high=MOST_ROWS))


def _runs(store: ReadStore, ask: Parameters) -> Callable[[], Any]:
    endpoint, probe = ask.one_endpoint(), ask.maybe("probe")
    return partial(store.runs, endpoint, probe, limit=ask.number("limit", default=20, high=MOST_RUNS))


def _unjudged(store: ReadStore, ask: Parameters) -> Callable[[], Any]:
    return partial(store.unjudged, limit=ask.number("limit", default=20, high=MOST_RUNS))


def _counts(store: ReadStore, _ask: Parameters) -> Callable[[], Any]:
    return lambda: {"counts": store.counts()}


def _last_slots(store: ReadStore, _ask: Parameters) -> Callable[[], Any]:
    return store.last_slots


READS: Mapping[str, Plan] = {
    "health": _health, "mark": _mark, "overview": _overview, "series": _series, "verdicts": _verdicts,
    "verdict": _verdict, "exchanges": _exchanges, "incidents": _incidents, "slots": _slots, "runs": _runs,
    "unjudged": _unjudged, "counts": _counts, "last-slots": _last_slots,
}  # fmt: skip


def _json(body: object, status: int = 200) -> Response:
    return Response(orjson.dumps(body), status, media_type="application/json")


def _authorise(request: Request, token: str | None) -> None:
    if token is None:
        return
    given = request.headers.get("authorization", "")
    if not hmac.compare_digest(given.encode(), f"Bearer {token}".encode()):
        raise RefusedError(401, "this store needs its token: send 'Authorization: Bearer ...'")


def _reader(store: ReadStore, plan: Plan, token: str | None) -> Callable[[Request], Any]:
    async def read(request: Request) -> Response:
        _authorise(request, token)
        ask = Parameters(request.query_params)
        call = plan(store, ask)
        ask.finish()
        if ask.endpoint is not None and not await run_in_threadpool(store.knows, ask.endpoint):
            raise RefusedError(404, f"no endpoint {ask.endpoint[:80]!r}; /api/overview lists those that there are")
        return _json(await run_in_threadpool(call))

    return read


async def _body(request: Request) -> bytes:
    """Return the body; past the limit the rest is read and dropped, so that the peer gets to see the answer."""
    parts: list[bytes] = []
    size = 0
    async for part in request.stream():
        size += len(part)
        if size > 4 * BODY_LIMIT:
            break
        if size > BODY_LIMIT:
            parts.clear()
        else:
            parts.append(part)
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


def _batch(body: bytes) -> tuple[str, list[Entry]]:
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
    return writer, [_entry(index, item) for index, item in enumerate(entries)]


def _ingester(store: ReadStore, token: str | None) -> Callable[[Request], Any]:
    # A thread of its own: readers that fill the shared pool do not keep writers waiting.
    writing = ThreadPoolExecutor(1, "ingest")

    def apply(body: bytes) -> int:
        writer, entries = _batch(body)
        return store.ingest(writer, entries)

    async def ingest(request: Request) -> Response:
        _authorise(request, token)
        # A page in a browser can post other types to loopback without asking first, but not this one.
        if request.headers.get("content-type", "").split(";")[0].strip().lower() != "application/json":
            raise RefusedError(415, "the content type must be application/json")
        body = await _body(request)
        mark = await asyncio.get_running_loop().run_in_executor(writing, apply, body)
        return _json({"mark": mark})

    return ingest


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


def app(store: ReadStore, *, token: str | None = None) -> Starlette:
    """Return the ASGI application over `store`.

    Parameters
    ----------
    store
        Where records go and come from. Not closed here.
    token
        When given, every path but ``/api/health`` wants ``Authorization: Bearer <token>``.

    Notes
    -----
    Errors are ``{"error": message}`` with 400, 401, 404, 413, 415, 500, or 503 when the store cannot work now.
    """
    routes = [
        Route(f"/api/{name}", _reader(store, plan, None if name == "health" else token), methods=["GET"])
        for name, plan in READS.items()
    ]
    routes.append(Route("/api/ingest", _ingester(store, token), methods=["POST"]))
    handled: Mapping[Any, Any] = dict.fromkeys((RefusedError, HTTPException, StoreError, Exception), _refused)
    return Starlette(routes=routes, exception_handlers=handled)
