"""OP-09: no artefact of a run holds the key, whatever the endpoint repeats. Oracle: a search of all that is written."""

import asyncio
import base64
import gzip
import json
import logging
import re
import zlib
from pathlib import Path

import pytest

from jobs import evidence_folder
from jobs.clients import http_client
from jobs.clock import SystemClock
from jobs.decode import read_capture
from jobs.pipeline import Prober, probe_endpoint
from monitor.codec import encode
from monitor.types import Endpoint
from monitor.wire.dispatch import decode
from probes.client import Sender
from probes.heartbeat import Heartbeat
from probes.logprobs import Logprobs
from probes.transport.stock import StockSender
from storage.spool import SqliteSpool
from tests.probes.transport.servers import Handler, read_request, serving

KEY = "sk-canary/0123456789-abcdef"
PROBE = Logprobs(one_token=2, greedy=1)


def answer(status: str, body: bytes, *headers: bytes) -> bytes:
    fields = b"".join(header + b"\r\n" for header in (*headers, b"Content-Length: %d" % len(body)))
    return b"HTTP/1.1 %b\r\n%b\r\n" % (status.encode(), fields) + body


def plain(auth: bytes) -> bytes:
    headers = (b"X-Debug-Auth: " + auth, b"X-Request-Id: " + auth)
    return answer("401 U", b'{"error":{"message":"bad key %b"}}' % auth, *headers)


def packed(auth: bytes) -> bytes:
    return answer("401 U", gzip.compress(b'{"error":{"message":"bad %b"}}' % auth), b"Content-Encoding: gzip")


def deflated(auth: bytes) -> bytes:
    return answer("200 OK", zlib.compress(b'{"error":"%b"}' % auth), b"Content-Encoding: deflate")


def escaped(auth: bytes) -> bytes:
    return answer("401 U", b'{"error":{"message":"bad %b"}}' % auth.replace(b"/", b"\\/").replace(b"-", b"\\u002d"))


def streamed(auth: bytes) -> bytes:
    return answer("200 OK", b'data: {"error":{"message":"%b"}}\n\n' % auth, b"Content-Type: text/event-stream")


def no_http(auth: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Length: " + auth + b"\r\n\r\n"


ANSWERS = (plain, packed, deflated, escaped, streamed, no_http)


def leaking() -> Handler:
    """Answers in turn, each with the key."""
    turn = iter(ANSWERS * 9)

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await read_request(reader)
        found = re.search(rb"(?i)authorization: (.*)\r\n", request)
        assert found is not None
        writer.write(next(turn)(found[1]))
        await writer.drain()

    return handler


def layers(data: bytes) -> list[bytes]:
    """What is written, and what a reader could make of it: base64 undone, unpacked, JSON escapes undone."""
    found = [data]
    for text in re.findall(rb'"b64":\s*"([^"]+)"', data):
        found.append(base64.b64decode(text))
        for bits in (31, 15):
            try:
                found.append(zlib.decompressobj(bits).decompress(found[-1]))
            except zlib.error:
                continue
    plain = [re.sub(rb"\\u00(..)", lambda hit: bytes.fromhex(hit[1].decode()), one) for one in found]
    return [*found, *(one.replace(b"\\", b"") for one in plain)]


def leaks(folder: Path) -> list[str]:
    """Decode all captures again, and name the files that hold the key."""
    captures = sorted(folder.rglob("*.capture"))
    assert len(captures) == 3 * (len(ANSWERS) // 2)
    (folder / "again").write_bytes(b"\n".join(encode(decode(read_capture(path, "capture"))) for path in captures))
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [path.name for path in files if any(KEY.encode() in one for one in layers(path.read_bytes()))]


@pytest.mark.parametrize("stock", [False, True])
async def test_no_sink_holds_the_key(stock: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    clock = SystemClock()
    prober = Prober(clock=clock, vantage="here", version="1", seed=1, concurrency=1)
    spool = SqliteSpool(tmp_path / "spool.sqlite", writer="canary")
    async with serving(leaking()) as url, Heartbeat(clock).beating() as heartbeat:
        endpoint = Endpoint(name="test/one", provider="test", base_url=url, model="m")
        sender: Sender | None = StockSender(clock.monotonic_ns) if stock else None
        client = http_client(endpoint, KEY, clock, heartbeat, sender=sender)
        for _ in ANSWERS[: len(ANSWERS) // 2]:
            probed = await probe_endpoint(endpoint, client, [PROBE], prober, lambda *_: None)
            evidence_folder.keep_probed(tmp_path, probed)
            spool.append([("run", encode(record)) for record in probed.records])
        await client.aclose()
    spool.close()
    (tmp_path / "log").write_text(caplog.text)
    assert leaks(tmp_path) == []


def test_the_search_finds_what_it_looks_for() -> None:
    body = base64.b64encode(gzip.compress(json.dumps(KEY).replace("/", "\\/").encode()))
    assert any(KEY.encode() in one for one in layers(b'{"b64": "%b"}' % body))
