"""Captures that were nearly right: the golden corpus with values, bytes, heads and endings changed."""

import pathlib
import random
from dataclasses import replace
from typing import Any, get_args

import orjson

from monitor.errors import UsageError
from monitor.types import Capture, End, Read
from monitor.wire.dispatch import protocols
from monitor.wire.files import load

GOLDEN = pathlib.Path(__file__).parent.parent / "golden" / "wire"
VALUES: list[Any] = [
    None, True, False, 0, -1, 1, 2**53, 2**64 - 1, -(2**63), 1e308, 1e-320, 0.5, "", " ", "a", "stop", "error",
    "length", "\ud7ff", "\x00", "<think>", "</think>", "[DONE]", "9" * 40, [], {}, [[]], [None], [{}], {"": None},
    {"error": "a"}, [1, "a", {"text": "a"}], {"index": 0, "function": {"name": "f", "arguments": "{"}},
]  # fmt: skip
TEXTS = [
    b"\n", b"\r", b"\r\n", b"\n\n", b"data:", b"data: ", b"event: error\n", b": ", b"\xef\xbb\xbf", b"\xff", b"\x00",
    b"[DONE]", b"data: [DONE]\n\n", b"NaN", b"-Infinity", b"1e999", b"9" * 30, b'"', b"\\", b"\\ud800", b"{", b"}",
    b"[" * 300, b'{"error":{"code":429}}', b"\x1f\x8b\x08", b"<html>", b"event: message_stop\n",
]  # fmt: skip
HEADERS = [
    ("content-type", "text/event-stream"), ("content-type", "application/json"), ("content-type", "text/html"),
    ("content-type", "application/x-ndjson"), ("content-encoding", "gzip"), ("content-encoding", "deflate"),
    ("content-encoding", "br"), ("retry-after", "1"), ("retry-after", "Wed, 21 Oct 2026 07:28:00 GMT"), ("date", "x"),
]  # fmt: skip
STATUSES = [None, 200, 200, 200, 200, 204, 301, 400, 401, 429, 500, 524, 999]


def seeds() -> list[Capture]:
    """Every golden file, whatever its protocol."""
    found = []
    for path in sorted(GOLDEN.iterdir()):
        if path.is_file() and not path.name.endswith(".expected.json"):
            try:
                found.append(load(path.read_bytes(), path.suffix[1:]))
            except UsageError:
                continue  # a format of its own, with its own tests
    return found


def mutated(capture: Capture, rng: random.Random) -> Capture:
    """`capture` with up to four changes."""
    body = capture.body
    for _ in range(rng.randint(1, 4)):
        body = rng.choice((_value_changed, _value_changed, _value_changed, _bytes_changed, _lines_shuffled))(body, rng)
    changes: dict[str, Any] = {"reads": _cut(body, rng)}
    if rng.random() < 0.2:
        changes["protocol"] = rng.choice(sorted(protocols()))
    if rng.random() < 0.2:
        changes["end"] = rng.choice(get_args(End))
    if rng.random() < 0.2:
        changes["status"] = rng.choice(STATUSES)
    if rng.random() < 0.2:
        changes["headers"] = tuple(rng.sample(HEADERS, 2))
    return replace(capture, **changes)


def _value_changed(body: bytes, rng: random.Random) -> bytes:
    """One value of one JSON text of the body replaced, removed or moved."""
    lines = body.split(b"\n")
    texts = [n for n, line in enumerate(lines) if b"{" in line]
    if not texts:
        return body
    number = rng.choice(texts)
    start = lines[number].index(b"{")
    try:
        value = orjson.loads(lines[number][start:])
    except orjson.JSONDecodeError:
        return body
    _change(value, rng)
    lines[number] = lines[number][:start] + orjson.dumps(value)
    return b"\n".join(lines)


def _change(value: Any, rng: random.Random) -> None:
    """Walk down from `value` to a random place, and change that."""
    while True:
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        if not keys:
            return
        key = rng.choice(keys)
        inner = value[key]
        if isinstance(inner, dict | list) and inner and rng.random() < 0.8:
            value = inner
            continue
        if rng.random() < 0.2:
            del value[key]
        elif rng.random() < 0.2 and isinstance(value, list):
            value.append(inner)
        else:
            value[key] = rng.choice(VALUES)
        return


def _bytes_changed(body: bytes, rng: random.Random) -> bytes:
    at, drop = rng.randint(0, len(body)), rng.choice((0, 0, 1, 9, 200))
    return body[:at] + rng.choice(TEXTS) + body[at + drop :]


def _lines_shuffled(body: bytes, rng: random.Random) -> bytes:
    """An event dropped, repeated or put elsewhere."""
    events = body.split(b"\n\n")
    event = events.pop(rng.randrange(len(events)))
    for _ in range(rng.choice((0, 1, 1, 2, 5))):
        events.insert(rng.randint(0, len(events)), event)
    return b"\n\n".join(events)


def _cut(body: bytes, rng: random.Random) -> tuple[Read, ...]:
    at, reads, now = 0, [], 0
    while at < len(body):
        size = rng.choice((1, 7, 60, 400, 10**6))
        now += rng.choice((0, 1, 10**7))
        reads.append(Read(now, body[at : at + size]))
        at += size
    return tuple(reads)
