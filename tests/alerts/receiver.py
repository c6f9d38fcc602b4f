"""A real HTTP server on loopback that writes down what it is sent and answers as it is told."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Received:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Receiver:
    url: str
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    got: list[Received] = field(default_factory=list)


@contextmanager
def receiver(status: int = 200, **headers: str) -> Iterator[Receiver]:
    """Serve until the context ends."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            named = {name.lower(): value for name, value in self.headers.items()}
            made.got.append(Received(self.command, self.path, named, body))
            self.send_response(made.status)
            for name, value in made.headers.items():
                self.send_header(name, value)
            self.send_header("content-length", "0")
            self.end_headers()

        do_GET = do_POST  # noqa: N815  # what the base class calls

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made = Receiver(url=f"http://127.0.0.1:{server.server_port}", status=status, headers=headers)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield made
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
