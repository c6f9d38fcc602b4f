"""Any bytes decode to a named outcome. Oracle: the list of outcomes, and the codec that must take every record."""

import pathlib
from dataclasses import replace
from typing import Any, get_args

import orjson
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor import codec
from monitor.types import Capture, End, Exchange, Outcome, Read
from monitor.wire.dispatch import decode
from monitor.wire.files import load
from monitor.wire.record import record
from tests.wire.golden import FOLDER

OUTCOMES = frozenset(get_args(Outcome))
SEEDS = tuple(path.read_bytes() for path in sorted(pathlib.Path(FOLDER).glob("*.sse")))
HEADERS = st.sampled_from(
    [
        (),
        (("Content-Type", "text/event-stream"),),
        (("content-type", "application/json"), ("Retry-After", "\u0663")),
        (("content-type", "text/event-stream"), ("Content-Encoding", "gzip")),
        (("content-encoding", "deflate"), ("retry-after", "Wed, 99 Xyz 2026 07:28:00 GMT")),
        (("content-encoding", "br"), ("retry-after", "9" * 400)),
    ]
)
STATUSES = st.sampled_from([None, 101, 200, 204, 302, 400, 401, 404, 429, 500, 524])
CHANNELS = ("content", "reasoning", "reasoning_content", "reasoning_details", "refusal", "tool_calls", "function_call")
LEAVES = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=6)


def values(keys: tuple[str, ...], inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """An object with some of the keys that the decoder looks at, or something else in its place."""
    return st.fixed_dictionaries({}, optional=dict.fromkeys(keys, inner | LEAVES)) | LEAVES


PARTS = values(("type", "text", "thinking", "data"), st.lists(values(("text",), LEAVES), max_size=2))
OBJECTS = st.dictionaries(st.text(max_size=2), LEAVES)
CALLS = values(("index", "id", "function"), values(("name", "arguments"), OBJECTS))
DELTAS = values(CHANNELS, st.lists(PARTS | CALLS, max_size=3) | CALLS)
NUMBERS = st.lists(st.integers(-1, 300) | LEAVES, max_size=3)
ENTRIES = values(("token", "logprob", "bytes", "id", "top_logprobs"), NUMBERS)
LOGPROBS = values(("content", "refusal", "tokens", "token_logprobs", "top_logprobs"), st.lists(ENTRIES, max_size=3))
CHOICE = st.fixed_dictionaries(
    {},
    optional={
        "index": LEAVES,
        "delta": DELTAS,
        "message": DELTAS,
        "finish_reason": LEAVES | st.sampled_from(["stop", "length", "error", ""]),
        "logprobs": LOGPROBS,
    },
)
USAGE = values(
    ("prompt_tokens", "completion_tokens", "total_tokens", "completion_tokens_details", "prompt_tokens_details"),
    values(("reasoning_tokens", "cached_tokens"), LEAVES),
)
CHUNK = st.fixed_dictionaries(
    {},
    optional={
        "id": LEAVES,
        "model": LEAVES,
        "choices": st.lists(CHOICE | LEAVES, max_size=3) | LEAVES,
        "usage": USAGE,
        "error": values(("message", "code", "type", "param", "metadata", "innererror"), LEAVES),
        "object": LEAVES,
    },
)


def assert_sound(exchange: Exchange) -> None:
    """A named outcome, a record, and JSON that reads back as the same thing."""
    assert exchange.outcome in OUTCOMES
    orjson.dumps(record(exchange))
    encoded = codec.encode(exchange)
    assert codec.encode(codec.decode(Exchange, encoded)) == encoded


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=400), HEADERS, STATUSES, st.sampled_from(get_args(End)), st.integers(1, 50))
def test_arbitrary_bytes(data: bytes, headers: Any, status: int | None, end: End, size: int) -> None:
    reads = tuple(Read(at, data[at : at + size]) for at in range(0, len(data), size))
    assert_sound(decode(Capture(status=status, headers=headers, reads=reads, end=end, t0_ns=-5, eof_ns=10**6)))


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(SEEDS), st.integers(0, 10**6), st.binary(max_size=4), st.integers(0, 12), HEADERS)
def test_mutated_streams(seed: bytes, at: int, patch: bytes, drop: int, headers: Any) -> None:
    at %= len(seed) + 1
    data = seed[:at] + patch + seed[at + drop :]
    assert_sound(decode(Capture(status=200, headers=headers, reads=(Read(1, data[:at]), Read(2, data[at:])))))


def lax_json(value: Any) -> bytes:
    """JSON as a careless server writes it: NaN, Infinity, lone surrogates, huge integers."""
    import json

    return json.dumps(value).encode("utf-8", "surrogatepass")


@settings(max_examples=400, deadline=None)
@given(st.lists(CHUNK, max_size=4), st.booleans())
def test_odd_types_everywhere(chunks: list[Any], streamed: bool) -> None:
    if streamed:
        body = b"".join(b"data: " + lax_json(chunk) + b"\n\n" for chunk in chunks)
    else:
        body = lax_json(chunks[0]) if chunks else b"{}"
    assert_sound(decode(Capture(status=200, reads=(Read(3, body),), t0_ns=0)))


def test_deep_nesting() -> None:
    for opened in (b'{"choices":', b'{"usage":', b'{"choices":[{"delta":{"tool_calls":[{"function":{"arguments":'):
        for depth in (5, 200, 400, 900, 1100, 20000):
            for inner in (b"[" * depth + b"]" * depth, b'{"a":' * depth + b"1" + b"}" * depth):
                body = opened + inner + (b"}}]}}]}" if b"[" in opened else b"}")
                for data in (body, b"data: " + body + b"\n\n"):
                    assert_sound(decode(Capture(status=200, reads=(Read(0, data),))))


def test_any_cut_of_any_file_still_decodes() -> None:
    whole = load((FOLDER / "TR-06.B.http").read_bytes(), "http")
    raw = (FOLDER / "TR-06.B.http").read_bytes()
    for at in range(len(b"HTTP/1."), len(raw)):
        assert_sound(decode(load(raw[:at], "http")))
    assert_sound(decode(replace(whole, reads=())))
