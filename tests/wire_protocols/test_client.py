"""Protocols and dialects on a real connection. Oracle: the request that a server on 127.0.0.1 read."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import orjson
import pytest

from jobs.clients import http_client
from jobs.clock import SystemClock
from monitor.types import Capture, Endpoint, Request
from monitor.wire.dispatch import decode
from probes.heartbeat import Heartbeat

HELLO = Request(prompt_id="p", messages=({"role": "user", "content": "weigh it"},), max_tokens=16, stream=False)
ANSWERS = {
    "anthropic_messages": b'{"type":"message","content":[{"type":"text","text":"9 kg"}],"stop_reason":"end_turn"}',
    "ollama_chat": b'{"model":"m","message":{"content":"9 kg"},"done":true,"done_reason":"stop"}',
    "openai_responses": b'{"status":"completed","output":[{"type":"message","content":[{"text":"9 kg"}]}]}',
    "openai_chat": b'{"choices":[{"index":0,"message":{"content":"9 kg"},"finish_reason":"stop"}]}',
}


@asynccontextmanager
async def listening(answer: bytes, heard: list[bytes]) -> AsyncIterator[str]:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        heard.append(head + await reader.readexactly(length))
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n"
                     b"content-length: %d\r\n\r\n%b" % (len(answer), answer))  # fmt: skip
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def asked(request: Request, endpoint: Endpoint, heard: list[bytes]) -> Capture:
    clock = SystemClock()
    async with Heartbeat(clock).beating() as heartbeat, listening(ANSWERS[endpoint.protocol], heard) as url:
        client = http_client(replace(endpoint, base_url=url + endpoint.base_url), "the-key", clock, heartbeat)
        try:
            return await client.send(request)
        finally:
            await client.aclose()


@pytest.mark.parametrize(
    ("protocol", "dialect", "line", "header"),
    [
        ("anthropic_messages", None, b"POST /v1/messages HTTP/1.1", b"x-api-key: the-key"),
        ("ollama_chat", None, b"POST /v1/chat HTTP/1.1", b"authorization: Bearer the-key"),
        ("openai_responses", None, b"POST /v1/responses HTTP/1.1", b"authorization: Bearer the-key"),
        ("openai_chat", "azure",
         b"POST /v1/openai/deployments/m/chat/completions?api-version=2024-10-21 HTTP/1.1", b"api-key: the-key"),
    ],
)  # fmt: skip
async def test_path_key_and_body(protocol: str, dialect: str | None, line: bytes, header: bytes) -> None:
    endpoint = Endpoint(name="a/b", provider="a", base_url="/v1", model="m", protocol=protocol, dialect=dialect)
    heard: list[bytes] = []
    capture = await asked(replace(HELLO, seed=3), endpoint, heard)
    head, _, body = heard[0].partition(b"\r\n\r\n")
    lines = head.split(b"\r\n")
    assert lines[0] == line
    assert header.lower() in [item.lower() for item in lines]
    assert body == capture.sent
    assert b"the-key" not in capture.sent
    exchange = decode(capture)
    assert (exchange.outcome, exchange.choice.content, exchange.protocol) == ("ok", "9 kg", protocol)
    said = b'"seed":3' in body
    assert said is ("not_sent:seed" not in exchange.flags)


async def test_what_cannot_be_said_is_not_sent() -> None:
    endpoint = Endpoint(name="a/b", provider="a", base_url="/v1", model="m", protocol="anthropic_messages")
    heard: list[bytes] = []
    capture = await asked(replace(HELLO, top_logprobs=5), endpoint, heard)
    assert (heard, capture.sent, capture.end, capture.status) == ([], b"", "unsupported", None)
    exchange = decode(capture)
    assert exchange.outcome == "unsupported_param"
    assert "top_logprobs" in (exchange.error or "")
    assert exchange.request is not None
    assert not exchange.answered


async def test_the_same_request_is_sent_where_it_may_be_left_out() -> None:
    endpoint = Endpoint(name="a/b", provider="a", base_url="/v1", model="m", protocol="anthropic_messages")
    heard: list[bytes] = []
    capture = await asked(replace(HELLO, top_logprobs=5, optional=("top_logprobs",)), endpoint, heard)
    assert "logprobs" not in orjson.loads(capture.sent)
    assert "not_sent:top_logprobs" in decode(capture).flags
