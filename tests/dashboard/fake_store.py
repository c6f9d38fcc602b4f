"""A store on a real socket that tells a scene, over the same HTTP API as `storage/api.py`."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from monitor.codec import encode
from tests.dashboard.scenes import Scene


def app(scene: Scene, *, token: str | None = None) -> Starlette:
    """The read API over `scene`; with `token`, requests without it get 401."""

    def answer(request: Request, body: object) -> Response:
        if token and request.headers.get("authorization") != f"Bearer {token}":
            return _json({"error": "a token is needed"}, 401)
        return _json(body, 200)

    def overview(request: Request) -> Response:
        return answer(request, {"endpoints": scene.endpoints})

    def series(request: Request) -> Response:
        wanted = (request.query_params["endpoint"], request.query_params["metric"])
        found = next((points for *key, points in scene.series if tuple(key) == wanted), ())
        return answer(request, {"points": found})

    def exchanges(request: Request) -> Response:
        return answer(request, {"exchanges": scene.exchanges[: int(request.query_params["limit"])]})

    def health(request: Request) -> Response:
        return answer(request, {"status": "ok"})

    return Starlette(
        routes=[
            Route("/api/overview", overview),
            Route("/api/series", series),
            Route("/api/exchanges", exchanges),
            Route("/api/health", health),
        ]
    )


def _json(body: object, status: int) -> Response:
    return Response(encode(body), status_code=status, media_type="application/json")


@contextmanager
def served(application: Starlette) -> Iterator[str]:
    """Serve `application` on a free loopback port in a thread; yield its URL."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        server = uvicorn.Server(uvicorn.Config(application, log_level="critical", lifespan="off"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()
