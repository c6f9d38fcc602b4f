"""A model hub on 127.0.0.1: as much of the API as fetching one revision of a model takes."""

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

REPO = "acme/tiny"
COMMIT = "4fca21" + "0" * 34


@dataclass(slots=True)
class Hub:
    """Serves the files of ``folder`` as the model `REPO`, whose branch ``main`` is at `COMMIT`."""

    folder: Path
    error: tuple[int, str] | None = None
    """Status and error code of every answer about files."""
    seen: list[str] = field(default_factory=list)
    """Path of each request."""
    keys: set[str | None] = field(default_factory=set)
    """What stood in ``authorization``."""

    def answer(self, path: str) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body for a request."""
        self.seen.append(path)
        plain = path.partition("?")[0]
        if not plain.startswith((f"/api/models/{REPO}", f"/{REPO}/resolve/")):
            return 404, {"X-Error-Code": "RepoNotFound"}, b""
        if plain.startswith("/api") and "/tree/" not in plain:
            return self._info(plain)
        if self.error:
            return self.error[0], {"X-Error-Code": self.error[1]}, b""
        if "/tree/" in plain:
            return _as_json([self._entry(one) for one in self._files()])
        content = (self.folder / plain.partition(f"/resolve/{COMMIT}/")[2]).read_bytes()
        return 200, {"ETag": f'"{_oid(content)}"', "X-Repo-Commit": COMMIT}, content

    def _info(self, path: str) -> tuple[int, dict[str, str], bytes]:
        if path.partition("/revision/")[2] not in {"", "main", COMMIT}:
            return 404, {"X-Error-Code": "RevisionNotFound"}, b""
        names = [str(one.relative_to(self.folder)) for one in self._files()]
        return _as_json({"id": REPO, "sha": COMMIT, "siblings": [{"rfilename": name} for name in names]})

    def _files(self) -> list[Path]:
        return sorted(one for one in self.folder.rglob("*") if one.is_file())

    def _entry(self, path: Path) -> dict[str, object]:
        content = path.read_bytes()
        name = str(path.relative_to(self.folder))
        return {"type": "file", "path": name, "size": len(content), "oid": _oid(content)}


@contextmanager
def serving_hub(hub: Hub) -> Iterator[str]:
    """The base address of `hub`."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            hub.keys.add(self.headers["authorization"])
            status, headers, body = hub.answer(self.path)
            self.send_response(status)
            for name, value in {**headers, "content-length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body)

        def do_HEAD(self) -> None:
            self.do_GET()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the name is given
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _oid(content: bytes) -> str:
    """Git's name for a file of this content."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def _as_json(value: object) -> tuple[int, dict[str, str], bytes]:
    return 200, {"content-type": "application/json"}, json.dumps(value).encode()
