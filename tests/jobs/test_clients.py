"""Clients as the configuration wants them: HTTP/2 and proxies. Oracle: what the servers on loopback sent and saw."""

import asyncio
import base64
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

import pytest

from jobs.clients import client_of
from jobs.clock import SystemClock
from monitor.codec import encode
from monitor.config import load
from monitor.config_types import EndpointConfig
from monitor.results import RunRecord
from monitor.types import Capture
from monitor.wire.files import dump
from probes.heartbeat import Heartbeat
from probes.run import run_probe
from probes.speed import Speed
from tests.config.catalogue import CATALOGUES
from tests.probes.transport.http2_server import Http2Server, serving_http2
from tests.probes.transport.servers import HEAD, PEM, read_request, serving

EVENT = b'data: {"choices":[{"index":0,"delta":{"content":"hi"},"finish_reason":%b}]}\n\n'
STEPS = [(0.0, EVENT % b"null"), (0.0, EVENT % b'"stop"'), (0.0, b"data: [DONE]\n\n")]
USER, PASSWORD = "sam", "correct-horse-battery"
SIGN = base64.b64encode(f"{USER}:{PASSWORD}".encode())


@dataclass(slots=True)
class Proxy:
    """A forward proxy that wants a password: passes CONNECT tunnels on, answers everything else itself."""

    allowed: bool = True
    heads: list[bytes] = field(default_factory=list)

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection."""
        request = await read_request(reader)
        self.heads.append(request)
        if not self.allowed or b"roxy-Authorization: Basic " + SIGN not in request:
            writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
        elif request.startswith(b"CONNECT "):
            await self._tunnel(request.split()[1].decode(), reader, writer)
        else:
            body = b"".join(data for _, data in STEPS)
            writer.write(HEAD + b"Connection: close\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        with suppress(ConnectionError):
            await writer.drain()

    async def _tunnel(self, target: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        host, _, port = target.rpartition(":")
        far_reader, far_writer = await asyncio.open_connection(host, int(port))
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        async with asyncio.TaskGroup() as group:
            group.create_task(_pour(reader, far_writer))
            group.create_task(_pour(far_reader, writer))


async def _pour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        with suppress(ConnectionError):
            while data := await reader.read(2**16):
                writer.write(data)
                await writer.drain()
    finally:
        writer.close()


@asynccontextmanager
async def proxied(proxy: Proxy) -> AsyncIterator[str]:
    """The address of `proxy`, with its credentials."""
    async with serving(proxy.handle) as url:
        yield url.replace("http://", f"http://{USER}:{PASSWORD}@")


def entry(url: str, keys: str = "", **environ: str) -> EndpointConfig:
    """The one endpoint of a file."""
    text = f"endpoints: [{{name: a/b, base_url: '{url}', model: m{keys}}}]"
    return load(text, environ, CATALOGUES).endpoints[0]


async def probed(one: EndpointConfig) -> tuple[RunRecord, tuple[Capture, ...]]:
    """One real probe through the client of `one`."""
    clock = SystemClock()
    async with Heartbeat(clock).beating() as heartbeat:
        client = client_of(one, clock, heartbeat)
        try:
            return await run_probe(
                Speed(n_requests=2, max_tokens=4), one.endpoint, client, clock=clock, seed=1, vantage="test",
                prober_version="0", concurrency=1,
            )  # fmt: skip
        finally:
            await client.aclose()


async def test_http2_where_the_file_asks_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(PEM))
    server = Http2Server(STEPS)
    async with serving_http2(server) as url:
        record, captures = await probed(entry(f"{url}/v1", ", http2: true"))
    assert [exchange.transport for exchange in record.exchanges] == ["httpx+http2"] * 2
    assert [exchange.outcome for exchange in record.exchanges] == ["ok"] * 2
    assert [exchange.choice.content for exchange in record.exchanges] == ["hihi"] * 2
    assert {capture.transport for capture in captures} == {"httpx+http2"}
    assert {seen[":path"] for seen in server.seen} == {"/v1/chat/completions"}


async def test_without_the_keys_our_own_transport_asks() -> None:
    proxy = Proxy()
    async with serving(proxy.handle) as url:
        record, _ = await probed(entry(f"{url}/v1"))
    assert {exchange.transport for exchange in record.exchanges} == {"wire"}
    assert all(head.startswith(b"POST /v1/chat/completions ") for head in proxy.heads)


def nowhere(secrets: tuple[str, ...], record: RunRecord, captures: tuple[Capture, ...], logged: str) -> None:
    """None of `secrets` is in what is kept, said or logged."""
    kept = encode(record) + b"".join(dump(capture) for capture in captures) + repr((record, captures)).encode()
    for secret in secrets:
        assert secret.encode() not in kept
        assert secret not in logged


@pytest.mark.parametrize("allowed", [True, False])
async def test_a_proxy_carries_plain_requests_and_its_password_stays_with_it(
    caplog: pytest.LogCaptureFixture, *, allowed: bool
) -> None:
    caplog.set_level(logging.DEBUG)
    proxy = Proxy(allowed=allowed)
    async with proxied(proxy) as address:
        one = entry("http://endpoint.invalid/v1", ", proxy: '${PROXY}'", PROXY=address)
        record, captures = await probed(one)
    assert all(head.startswith(b"POST http://endpoint.invalid/v1/chat/completions ") for head in proxy.heads)
    assert all(SIGN in head for head in proxy.heads)
    assert {exchange.transport for exchange in record.exchanges} == {"httpx+proxy"}
    outcome = ("ok", 200) if allowed else ("connect_error", None)  # a proxy's 407 is no answer of the endpoint
    assert {(exchange.outcome, exchange.status) for exchange in record.exchanges} == {outcome}
    assert PASSWORD not in repr(one)
    nowhere((PASSWORD, SIGN.decode()), record, captures, caplog.text)


async def test_http2_through_a_tunnel(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("SSL_CERT_FILE", str(PEM))
    proxy, server = Proxy(), Http2Server(STEPS)
    async with proxied(proxy) as address, serving_http2(server) as url:
        record, captures = await probed(entry(f"{url}/v1", ", http2: true, proxy: '${PROXY}'", PROXY=address))
    assert {exchange.transport for exchange in record.exchanges} == {"httpx+http2+proxy"}
    assert {exchange.outcome for exchange in record.exchanges} == {"ok"}
    assert all(head.startswith(b"CONNECT 127.0.0.1:") for head in proxy.heads)
    assert not [seen for seen in server.seen if "proxy-authorization" in seen]
    nowhere((PASSWORD, SIGN.decode()), record, captures, caplog.text)


async def test_a_tunnel_that_is_refused_is_no_answer_of_the_endpoint(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("SSL_CERT_FILE", str(PEM))
    async with proxied(Proxy(allowed=False)) as address:
        one = entry("https://endpoint.invalid/v1", ", proxy: '${PROXY}'", PROXY=address)
        record, captures = await probed(one)
    assert {exchange.outcome for exchange in record.exchanges} == {"connect_error"}
    assert {exchange.status for exchange in record.exchanges} == {None}
    assert all("407" in str(exchange.error) for exchange in record.exchanges)
    nowhere((PASSWORD, SIGN.decode()), record, captures, caplog.text)
