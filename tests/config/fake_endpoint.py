"""A real HTTP server on a free port that behaves like an endpoint with chosen capabilities."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """What the server can do. ``max_logprobs`` 0 refuses logprobs; None takes them and returns none."""

    models: Any = field(default_factory=lambda: {"data": [{"id": "tiny", "max_model_len": 8192}, {"id": "other"}]})
    models_status: int = 200
    key: str | None = None
    max_logprobs: int | None = 20
    streams: bool = True
    stream_options: bool = True
    usage: bool = True
    tools: str = "called"
    seed: bool = True
    html: bool = False
    chat_status: int = 200
    location: str = ""
    prefix: str = "/v1"


@dataclass(slots=True)
class Server:
    """Where it listens, and the bodies that were posted."""

    url: str
    posted: list[dict[str, Any]]


def answer(kind: Kind, body: dict[str, Any]) -> Response:
    """Answer one chat request."""
    if kind.chat_status != 200:
        text = f"model not ready, key {kind.key}\n\x1b[31m is fine"
        return JSONResponse({"error": {"message": text}}, status_code=kind.chat_status)
    refused = (
        ("stream_options" in body and not kind.stream_options)
        or ("seed" in body and not kind.seed)
        or ("tools" in body and kind.tools == "refused")
        or (kind.max_logprobs is not None and body.get("top_logprobs", 0) > kind.max_logprobs)
    )
    if refused:
        return JSONResponse({"error": {"message": "not supported"}}, status_code=400)
    if body.get("stream") and kind.streams:
        usage = ',"usage":{"prompt_tokens":3,"completion_tokens":1}' if kind.usage and "stream_options" in body else ""
        events = '{"choices":[{"index":0,"delta":{"content":"Hi"}}]}', f'{{"choices":[]{usage}}}', "[DONE]"
        text = "".join(f"data: {event}\n\n" for event in events)
        return Response(text, media_type="text/event-stream")
    choice: dict[str, Any] = {"index": 0, "message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}
    if "tools" in body and kind.tools == "called":
        choice["message"]["tool_calls"] = [{"id": "1", "function": {"name": "get_weather", "arguments": "{}"}}]
    if body.get("logprobs") and kind.max_logprobs:
        top = [{"token": str(i), "logprob": -1.0 - i} for i in range(body["top_logprobs"])]
        choice["logprobs"] = {"content": [{"token": "0", "logprob": -1.0, "top_logprobs": top}]}
    return JSONResponse({"choices": [choice]})


@contextmanager
def serving(kind: Kind) -> Iterator[Server]:
    """Serve `kind` on a free port of 127.0.0.1."""
    posted: list[dict[str, Any]] = []

    def refuse(request: Request) -> Response | None:
        if kind.location:
            return Response(status_code=307, headers={"location": kind.location})
        if kind.html:
            return HTMLResponse("<!doctype html><title>Welcome</title>")
        if kind.key and request.headers.get("authorization") != f"Bearer {kind.key}":
            return JSONResponse({"error": "no"}, status_code=401)
        return None

    def models(request: Request) -> Response:
        return refuse(request) or JSONResponse(kind.models, status_code=kind.models_status)

    async def chat(request: Request) -> Response:
        body = await request.json()
        posted.append(body)
        return refuse(request) or answer(kind, body)

    app = Starlette(
        routes=[
            Route(f"{kind.prefix}/models", models),
            Route(f"{kind.prefix}/chat/completions", chat, methods=["POST"]),
        ]
    )
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = uvicorn.Server(uvicorn.Config(app, log_level="critical", ws="none", lifespan="off"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield Server(f"http://127.0.0.1:{listener.getsockname()[1]}", posted)
        finally:
            server.should_exit = True
            thread.join()
