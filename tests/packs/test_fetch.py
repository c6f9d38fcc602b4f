"""Packs behind an address, from a real server on loopback."""

import hashlib
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from jobs.pack_fetch import download, fetched
from jobs.pack_file import write_pack
from jobs.pack_signature import public_key
from jobs.references import scorer_for
from monitor.config_types import ReferenceConfig
from monitor.errors import GoldenError
from reference.pack import Pack
from tests.packs.test_signature import KEY, OTHER

Answer = Callable[[BaseHTTPRequestHandler], None]


class Server:
    """Serves one answer per path and counts what it was asked."""

    def __init__(self) -> None:
        self.answers: dict[str, Answer] = {}
        self.asked: list[str] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.asked.append(self.path)
                outer.answers[self.path](self)

            def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
                return

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True).start()

    def at(self, path: str, answer: Answer) -> str:
        self.answers[path] = answer
        return f"http://127.0.0.1:{self._http.server_port}{path}"

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()


def body(data: bytes, status: int = 200, **headers: str) -> Answer:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        for name, value in {"content-length": str(len(data)), **given}.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(data)

    return answer


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.close()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WEIGHMASTER_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def packed(pack: Pack, tmp_path: Path) -> bytes:
    write_pack(pack, tmp_path / "made", key=KEY)
    return (tmp_path / "made").read_bytes()


def test_a_pinned_pack_is_fetched_once(server: Server, home: Path, tiny_pack: Pack, tmp_path: Path) -> None:
    data = packed(tiny_pack, tmp_path)
    sha256 = hashlib.sha256(data).hexdigest()
    config = ReferenceConfig(engine="pack", path=server.at("/a.pack", body(data)), sha256=sha256.upper())
    for _ in range(2):
        assert scorer_for(config).fingerprint == tiny_pack.fingerprint
    assert server.asked == ["/a.pack"]
    kept = home / "packs" / f"{sha256}.pack"
    assert kept.read_bytes() == data
    kept.write_bytes(b"rotten")
    assert scorer_for(config).fingerprint == tiny_pack.fingerprint
    assert len(server.asked) == 2
    assert kept.read_bytes() == data


def test_a_signed_pack_needs_no_hash_and_another_signer_is_refused(
    server: Server, home: Path, tiny_pack: Pack, tmp_path: Path
) -> None:
    url = server.at("/a.pack", body(packed(tiny_pack, tmp_path)))
    config = ReferenceConfig(engine="pack", path=url, keys=(public_key(KEY),))
    assert scorer_for(config).fingerprint == tiny_pack.fingerprint
    with pytest.raises(GoldenError, match="none of the 1 in `keys`"):
        scorer_for(ReferenceConfig(engine="pack", path=url, keys=(public_key(OTHER),)))
    assert not home.exists()


def test_a_pack_that_cannot_be_kept_leaves_no_part_behind(server: Server, tmp_path: Path) -> None:
    """A folder stands where the pack would be kept, so that moving it there fails."""
    sha256 = hashlib.sha256(b"data").hexdigest()
    (tmp_path / f"{sha256}.pack").mkdir()
    with pytest.raises(OSError, match=r"\.pack"):
        fetched(server.at("/a.pack", body(b"data")), sha256=sha256, cache=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [f"{sha256}.pack"]


def test_what_is_not_the_pinned_one_is_refused_and_not_kept(server: Server, home: Path) -> None:
    url = server.at("/a.pack", body(b"something else"))
    with pytest.raises(GoldenError, match="pinned is 00"):
        scorer_for(ReferenceConfig(engine="pack", path=url, sha256="00"))
    assert not home.exists()


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (body(b"", 302, location="https://u:pw@elsewhere.example/x?sig=secret#s"),
         r"redirects to https://elsewhere\.example/x; give"),
        (body(b"", 302, location="/b.pack?token=secret"), r"redirects to http://127\.0\.0\.1:\d+/b\.pack; give"),
        (body(b"", 302, location="http://[secret"), "redirects to what is no address; give"),
        (body(b"gone", 404), "HTTP 404"),
        (body(b"x", content_encoding="gzip"), "content encoding"),
        (body(b"cut", content_length="10"), "cannot be fetched"),
    ],
)
def test_other_answers_are_refused(server: Server, answer: Answer, words: str, tmp_path: Path) -> None:
    with pytest.raises(GoldenError, match=words):
        fetched(server.at("/a.pack", answer), sha256=None, cache=tmp_path)


def test_size_and_time_are_bounded(server: Server) -> None:
    """The second would go on for five seconds, one byte at a time, each well within the silence that is allowed."""

    def endless(handler: BaseHTTPRequestHandler) -> None:
        body(b"", content_length="100")(handler)
        for _ in range(100):
            try:
                handler.wfile.write(b"x")
            except OSError:
                return
            time.sleep(0.05)

    with pytest.raises(GoldenError, match="more than 99 bytes"):
        download(server.at("/large", body(bytes(100))), most_bytes=99)
    with pytest.raises(GoldenError, match=r"not whole after 1 s"):
        download(server.at("/slow", endless), limit_s=1.0)


def test_a_server_that_is_down_is_said(server: Server) -> None:
    url = server.at("/a", body(b""))
    server.close()
    with pytest.raises(GoldenError, match="cannot be fetched"):
        download(url)
