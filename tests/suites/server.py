"""A real endpoint on a free port that answers each chat request by a function, and remembers what it was asked."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = Callable[[dict[str, Any]], str | dict[str, Any] | int]
"""The text, the whole message, or the HTTP status of a refusal."""


@dataclass(slots=True)
class Server:
    url: str
    posted: list[dict[str, Any]] = field(default_factory=list)

    @property
    def prompts(self) -> list[str]:
        return [one["messages"][-1]["content"] for one in self.posted]


@contextmanager
def serving(answer: Answer, *, delay_s: float = 0.0) -> Iterator[Server]:
    made = Server(url="")
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:  # as http.server calls it
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            time.sleep(delay_s)
            with lock:
                made.posted.append(body)
            said = answer(body)
            status = said if isinstance(said, int) else 200
            data = json.dumps(_document(said, body)).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # as http.server calls it
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    made.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    try:
        yield made
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _document(said: str | dict[str, Any] | int, body: dict[str, Any]) -> dict[str, Any]:
    if isinstance(said, int):
        return {"error": {"message": f"refused: {body['messages'][-1]['content']}"}}
    message = said if isinstance(said, dict) else {"role": "assistant", "content": said}
    usage = {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9}
    finish = "tool_calls" if message.get("tool_calls") else "stop"
    return {"model": body["model"], "choices": [{"index": 0, "message": message, "finish_reason": finish}],
            "usage": usage}  # fmt: skip
