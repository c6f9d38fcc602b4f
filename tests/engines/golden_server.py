"""Fake inference servers that hold the tiny model: as much of vLLM, an echoing API and llama.cpp as scoring needs."""

import asyncio
import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np

from monitor.ports import Floats, ScoreTask
from monitor.types import Request
from reference.engine import TorchEngine

Answer = Callable[[TorchEngine, Mapping[str, Any]], Any]


def distributions(engine: TorchEngine, ids: Sequence[int]) -> list[Floats]:
    """Log-probabilities (V,) of the tokens after the first, each given those before it."""
    task = ScoreTask(prompt_ids=tuple(ids[:1]), completion_ids=tuple(ids[1:]))
    (scores,) = engine.score([task], top_k=10_000)
    return [values[np.argsort(order)] for values, order in zip(scores.top_logprobs, scores.top_ids, strict=True)]


def prompt_logprobs(engine: TorchEngine, body: Mapping[str, Any]) -> Any:
    """vLLM: null first, then per token a mapping of ids to logprob and rank (from 1), the token's own among them."""
    entries: list[Any] = [None]
    for row, own in zip(distributions(engine, body["prompt"]), body["prompt"][1:], strict=True):
        order = [int(x) for x in np.argsort(-row)]
        wanted = dict.fromkeys([own, *order[: body["prompt_logprobs"]]])
        entries.append({str(x): {"logprob": float(row[x]), "rank": order.index(x) + 1} for x in wanted})
    return {"choices": [{"text": "x", "prompt_logprobs": entries}]}


def echo(engine: TorchEngine, body: Mapping[str, Any]) -> Any:
    """The legacy shape: alternatives by text; the generated token comes last."""
    ids = body["prompt"]
    own: list[Any] = [None]
    tops: list[Any] = [None]
    for row, token in zip(distributions(engine, ids), ids[1:], strict=True):
        own.append(float(row[token]))
        order = np.argsort(-row)[: body["logprobs"]]
        tops.append({engine.tokenizer.token_bytes(int(x)).decode("utf-8", "replace"): float(row[x]) for x in order})
    return {"choices": [{"text": "x", "logprobs": {"token_logprobs": [*own, -1.0], "top_logprobs": [*tops, {}]}}]}


def one_token(engine: TorchEngine, body: Mapping[str, Any]) -> Any:
    """llama.cpp: the distribution after the prompt."""
    row = distributions(engine, [*body["prompt"], 0])[-1]
    top = [{"id": int(x), "logprob": float(row[x])} for x in np.argsort(-row)[: body["n_probs"]]]
    return {"completion_probabilities": [{**top[0], "top_logprobs": top}]}


def tokens(engine: TorchEngine, body: Mapping[str, Any]) -> Any:
    """Both servers have this."""
    return {"tokens": engine.tokenizer.encode(body["content"])}


def chat(engine: TorchEngine, body: Mapping[str, Any]) -> Any:
    """An answer of the tiny model."""
    given = {key: body[key] for key in ("max_tokens", "temperature", "seed", "top_logprobs") if key in body}
    request = Request(prompt_id="p", messages=tuple(body["messages"]), **given)
    return json.loads(asyncio.run(engine.send(request)).body)


VLLM: Mapping[str, Answer] = {
    "/v1/completions": prompt_logprobs, "/tokenize": tokens, "/v1/chat/completions": chat,
}  # fmt: skip
ECHOING: Mapping[str, Answer] = {"/v1/completions": echo, "/v1/chat/completions": chat}
LLAMA_CPP: Mapping[str, Answer] = {"/completion": one_token, "/tokenize": tokens, "/v1/chat/completions": chat}
CHAT_ONLY: Mapping[str, Answer] = {"/v1/chat/completions": chat}


@contextmanager
def serving(engine: TorchEngine, answers: Mapping[str, Answer]) -> Iterator[str]:
    """Serve on a free port; yields the address with ``/v1``. Other paths are 404; a body it cannot use is 400."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            answer = answers.get(self.path)
            try:
                status, found = (404, {"error": "no such path"}) if answer is None else (200, answer(engine, body))
            except KeyError as error:
                status, found = 400, {"error": f"missing {error}"}
            data = json.dumps(found).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)
