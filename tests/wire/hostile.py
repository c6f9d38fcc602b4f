"""Captures of servers that mean harm, by name. Run as a program it decodes one under limits of memory and time."""

import gzip
import json
import resource
import sys
import zlib
from collections.abc import Callable, Iterator
from typing import Any

from monitor import codec
from monitor.types import Capture, Read
from monitor.wire.annotate import explained
from monitor.wire.dispatch import decode, protocols
from monitor.wire.files import load
from monitor.wire.record import record

MEMORY = 3 * 2**30
CPU_S = 120
MB = 2**20


def event(delta: Any = None, **more: Any) -> bytes:
    """One event; `more` goes beside the delta."""
    choice = {"index": 0, "delta": {} if delta is None else delta, "finish_reason": None} | more
    return b'data: {"id":"c1","model":"m","choices":[%b]}\n\n' % json.dumps(choice).encode()


def sse(body: bytes, **fields: Any) -> Capture:
    """A 200 response with an event stream, as one read."""
    headers = (("content-type", "text/event-stream"), *fields.pop("headers", ()))
    return Capture(**{"status": 200, "headers": headers, "reads": (Read(1, body),), "t0_ns": 0, **fields})


def nested(depth: int) -> bytes:
    """Lists within lists, closed."""
    return b"[" * depth + b"]" * depth


def deep_places() -> Iterator[Capture]:
    """Deep nesting in every place that is read, twice in a row, streamed and whole."""
    places = [
        b'{"choices":[],"error":%b}', b'{"choices":[],"error":{"code":%b}}', b'{"error":{"message":%b,"type":%b}}',
        b'{"usage":%b}', b'{"model":%b,"choices":[]}', b'{"x":%b,"choices":[{"index":0,"delta":{"content":"a"}}]}',
        b'{"choices":[{"index":0,"delta":{"content":%b}}]}', b'{"choices":[{"index":%b}]}',
        b'{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":%b}}]}}]}',
        b'{"choices":[{"index":0,"delta":{"content":"a"},"logprobs":{"content":[{"token":%b,"bytes":%b}]}}]}',
        b'{"choices":[{"index":0,"message":{"content":"a","reasoning_details":[{"text":%b}]},"finish_reason":%b}]}',
    ]  # fmt: skip
    for depth in (200, 400, 700, 950, 1000, 1020, 200_000):
        for place in places:
            text = place % ((nested(depth),) * place.count(b"%b"))
            yield sse(b"data: %b\n\n" % text * 3)
            yield Capture(status=200, reads=(Read(1, text),))


def odd_numbers() -> Iterator[Capture]:
    """NaN, infinities and integers of any size wherever a number is expected."""
    for number in ("NaN", "-Infinity", "1e400", "9" * 30, "9" * 1_000_000, "-" + "9" * 5000, "18446744073709551615"):
        for place in (
            '{"index":%s,"delta":{"content":"a"}}',
            '{"index":0,"delta":{"content":"a","tool_calls":[{"index":%s,"function":{"name":"f"}}]}}',
            '{"index":0,"delta":{"content":"a"},"logprobs":{"content":[{"token":"a","logprob":%s,"id":%s,"bytes":[%s]}]}}',
        ):
            yield sse(f'data: {{"choices":[{place.replace("%s", number)}]}}\n\n'.encode() * 2)
        usage = '{"prompt_tokens":%s,"completion_tokens":%s,"total_tokens":%s}'.replace("%s", number)
        yield sse(event({"content": "a"}) + f'data: {{"choices":[],"usage":{usage}}}\n\n'.encode() * 2)
        yield sse(f'data: {{"error":{{"code":{number},"status":{number}}}}}\n\n'.encode())


def bad_framing() -> Iterator[Capture]:
    """Chunk sizes, lengths and heads that cannot be."""
    body = event({"content": "a"})
    for length in (b"9" * 5000, b"9" * 18, b"-1", b"+5", b"1e3", "٣".encode(), b"0x10", b""):
        yield load(b"HTTP/1.1 200 OK\r\nContent-Length: " + length + b"\r\n\r\n" + body, "http")
        yield load(b"HTTP/2 200\r\ncontent-length: " + length + b"\r\n\r\n" + body, "curl")
        head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        yield load(head + length + b"\r\n" + body + b"\r\n0\r\n\r\n", "http")
        yield load(head + b"f" * 100_000 + length + b"\r\n" + body, "http")
        yield load(b"HTTP/1.1 " + length + b"\r\n\r\n" + body, "http")
    yield load(b"HTTP/1.1 100 Continue\r\n\r\n" * 100_000 + b"HTTP/1.1 200 OK\r\n\r\n" + body, "http")


def tool_churn() -> Capture:
    """Each delta names the call anew, so that a naive reader parses all arguments again every time."""
    deltas = (
        {"tool_calls": [{"index": 0, "id": f"c{n}", "function": {"name": "f", "arguments": "[0," * 30}}]}
        for n in range(50_000)
    )
    return sse(b"".join(event(delta) for delta in deltas))


def members(count: int) -> bytes:
    """So many gzip members with nothing in them."""
    return gzip.compress(b"") * count


BOMB = zlib.compressobj(9, zlib.DEFLATED, 31)
GZIP = (("content-encoding", "gzip"),)

CAPTURES: dict[str, tuple[Callable[[], Any], set[str]]] = {
    "one line of 60 MB": (lambda: sse(event({"content": "a" * (60 * MB)})), {"client_limit"}),
    "one line of 15 MB": (lambda: sse(event({"content": "a" * (15 * MB)}, finish_reason="stop")), {"ok"}),
    "a line without end": (lambda: sse(b"data: " + b"a" * (60 * MB)), {"client_limit"}),
    "an endless stream": (
        lambda: sse(b"", reads=tuple(Read(n, event({"content": " a"})) for n in range(200_000)), end="client_limit"),
        {"client_limit"},
    ),
    "a million tiny events": (lambda: sse(b"data: {}\n\n" * 1_000_000), {"empty"}),
    "many empty deltas": (lambda: sse(b'data: {"choices":[{"index":0,"delta":{}}]}\n\n' * 200_000), {"empty"}),
    "a million one-byte reads": (
        lambda: sse(b"", reads=tuple(Read(n, b"data: {}\n\n"[n % 10 : n % 10 + 1]) for n in range(1_000_000))),
        {"empty"},
    ),
    "60 MB of line ends": (lambda: sse(b"data: 1\n" + b"\n" * (60 * MB)), {"client_limit"}),
    "60 MB of CR": (lambda: sse(b"data: 1\r" + b"\r" * (60 * MB)), {"client_limit"}),
    "30 million comments": (lambda: sse(b":\n" * (30 * MB)), {"client_limit"}),
    "one event of a million lines": (lambda: sse(b"data: 1\n" * 1_000_000), {"truncated"}),
    "invalid UTF-8 in every event": (
        lambda: sse(event({"content": "@"}).replace(b"@", b"\xff\xfe") * 30_000), {"truncated"},
    ),
    "a bomb of objects": (lambda: sse(b"data: [" + b"{}," * (5 * MB) + b"{}]\n\n"), {"empty"}),
    "a larger bomb of objects": (lambda: sse(b"data: [" + b"{}," * (20 * MB) + b"{}]\n\n"), {"client_limit"}),
    "a whole bomb of objects": (lambda: sse(b'{"choices":[' + b"{}," * (20 * MB) + b"{}]}"), {"client_limit"}),
    "half a million choices": (
        lambda: sse(b'data: {"choices":[%b]}\n\n' % b",".join(b'{"index":%d}' % n for n in range(500_000))), {"empty"},
    ),
    "many calls": (
        lambda: sse(event({"tool_calls": [{"index": n, "function": {"name": "f"}} for n in range(100_000)]})),
        {"truncated"},
    ),
    "calls that start over": (tool_churn, {"truncated"}),
    "many models": (
        lambda: sse(b"".join(b'data: {"model":"m%d","choices":[]}\n\n' % n for n in range(100_000))), {"empty"},
    ),
    "a name of 10 MB": (
        lambda: sse(b'data: {"model":"%b","id":"%b","choices":[]}\n\n' % (b"m" * (5 * MB), b"i" * (5 * MB))), {"empty"},
    ),
    "a usage of 10 MB": (
        lambda: sse(b'data: {"usage":{"completion_tokens":1,"x":"%b"}}\n\n' % (b"m" * (10 * MB))), {"empty"},
    ),
    "a million alternatives": (
        lambda: sse(b'data: {"choices":[{"index":0,"delta":{"content":"a"},"logprobs":{"content":[{"token":"a",'
                    b'"top_logprobs":[%b{}]}]}}]}\n\n' % (b"{}," * MB)),
        {"truncated"},
    ),
    "a gzip bomb": (lambda: sse(BOMB.compress(bytes(400 * MB)) + BOMB.flush(), headers=GZIP), {"client_limit"}),
    "a million gzip members": (lambda: sse(members(1_000_000), headers=GZIP), {"client_limit"}),
    "gzip members that are few": (lambda: sse(members(50_000), headers=GZIP), {"empty"}),
    "deep nesting": (deep_places, set()),
    "odd numbers": (odd_numbers, set()),
    "bad framing": (bad_framing, set()),
}  # fmt: skip
"""What each makes, and the outcomes that are right; none given: any named one."""


def run(name: str) -> dict[str, Any]:
    """Decode, explain, record and write what `name` makes; return the outcomes and the peak of memory in MB."""
    made = CAPTURES[name][0]()
    outcomes = set()
    for capture in [made] if isinstance(made, Capture) else made:
        exchange = decode(capture)
        outcomes.add(exchange.outcome)
        assert codec.decode(type(exchange), codec.encode(exchange)).outcome == exchange.outcome
        assert len(codec.encode(record(exchange)["flags"])) < 10_000
        explained(capture, protocols()[capture.protocol])
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return {"outcomes": sorted(outcomes), "mb": usage.ru_maxrss // 1024, "cpu_s": round(usage.ru_utime, 1)}


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S))
    sys.stdout.write(json.dumps(run(sys.argv[1])))
