"""The key never gets into a capture, however it was cut, packed or escaped. Oracle: decoders that are not ours."""

import gzip
import html
import json
import urllib.parse
import zlib
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.types import Capture, Read
from monitor.wire.dispatch import decode
from monitor.wire.encoding import decoded
from probes.redact import Redactor

SECRET = "sk-a/b+c=0123"
OURS = Redactor(SECRET)


def unjson(text: str) -> str:
    return str(json.loads(f'"{text}"'))


@given(st.lists(st.sampled_from([b"x", b"{}", SECRET.encode(), b"sk-", b"\xff", b"\\"]), max_size=12), st.randoms())
def test_gone_at_every_cut_with_lengths_and_stamps_kept(parts: list[bytes], random: object) -> None:
    body = b"".join(parts)
    cuts = sorted({random.randrange(len(body) + 1) for _ in range(4)}) if body else []  # type: ignore[attr-defined]
    edges = [0, *cuts, len(body)]
    reads = [Read(index, body[a:b]) for index, (a, b) in enumerate(pairwise(edges))]
    cleaned = OURS.reads(reads)
    assert SECRET.encode() not in b"".join(read.data for read in cleaned)
    assert [(read.at_ns, len(read.data)) for read in cleaned] == [(read.at_ns, len(read.data)) for read in reads]


@pytest.mark.parametrize(
    ("write", "read"),
    [
        (lambda key: key.replace("/", r"\/"), unjson),
        (lambda key: "".join(f"\\u{ord(char):04X}" for char in key), unjson),
        (lambda key: key.replace("-", r"\u002d"), unjson),
        (lambda key: json.dumps(key.replace("/", r"\/"))[1:-1], lambda text: unjson(unjson(text))),
        (lambda key: urllib.parse.quote(key, safe=""), urllib.parse.unquote),
        (lambda key: "".join(f"&#x{ord(char):x};" if char in "/+=" else char for char in key), html.unescape),
        (lambda key: key.replace("+", "&#43;"), html.unescape),
    ],
)
def test_escaped(write: Callable[[str], str], read: Callable[[str], str]) -> None:
    text = f"bad key {write(SECRET)}, sorry"
    assert SECRET in read(text)
    cleaned = OURS.reads([Read(1, text.encode())])[0].data.decode()
    assert SECRET not in read(cleaned)
    assert len(cleaned) == len(text)
    assert read(OURS.text(text)) == "bad key [key], sorry"


@pytest.mark.parametrize("packing", ["gzip", "deflate", "gzip, identity", "deflate, gzip"])
def test_packed_bodies_are_masked_within(packing: str) -> None:
    """What comes out unpacks to the same text with the key masked, read by read."""
    text = b'{"error":{"message":"Incorrect API key: ' + SECRET.encode() + b'"}}'
    body = zlib.compress(text) if packing.startswith("deflate") else gzip.compress(text)
    body = gzip.compress(body) if packing == "deflate, gzip" else body
    capture = Capture(
        status=401, headers=(("Content-Encoding", packing), ("X-Debug", f"Bearer {SECRET}")),
        reads=(Read(1, body[:20]), Read(2, body[20:])),
    )  # fmt: skip
    cleaned = OURS.capture(capture, decode)
    masked = b"".join(read.data for read in decoded(cleaned.reads, packing))
    assert masked == text.replace(SECRET.encode(), b"*" * len(SECRET))
    assert dict(cleaned.headers)["X-Debug"] == "Bearer [key]"
    before, after = decode(capture), decode(cleaned)
    assert (after.outcome, after.flags) == (before.outcome, before.flags)
    assert SECRET in (before.error or "")
    assert SECRET not in (after.error or "")


def test_a_packed_body_that_cannot_be_read_is_not_kept() -> None:
    for packing, body in (("br", SECRET.encode()), ("gzip", gzip.compress(SECRET.encode())[:-2] + b"??")):
        capture = Capture(status=401, headers=(("content-encoding", packing),), reads=(Read(1, body),))
        cleaned = OURS.capture(capture, decode)
        assert cleaned.reads == (Read(1, b"*" * len(body)),)
        assert decode(cleaned).outcome == decode(capture).outcome == "auth_error"


def test_a_packed_body_without_the_key_stays_as_it_came() -> None:
    body = gzip.compress(b'{"error":"no"}')
    capture = Capture(status=401, headers=(("content-encoding", "gzip"),), reads=(Read(1, body),))
    assert OURS.capture(capture, decode) == capture


def test_a_key_in_pieces_that_decoding_would_join() -> None:
    pieces = (SECRET[:6], SECRET[6:])
    events = [f'data: {{"choices":[{{"index":0,"delta":{{"content":"{piece}"}}}}]}}\n\n' for piece in pieces]
    capture = Capture(status=200, reads=tuple(Read(n, event.encode()) for n, event in enumerate(events)))
    assert decode(capture).choice.content == SECRET
    assert decode(OURS.capture(capture, decode)).choice.content == ""


def test_a_placeholder_key_does_not_damage_the_answer() -> None:
    capture = Capture(status=200, reads=(Read(1, b'{"tokens": 3}'),), headers=(("x", "tokens"),))
    assert Redactor("k").capture(capture, decode) == capture


def test_nothing_to_hide_nothing_changed() -> None:
    capture = Capture(status=200, reads=(Read(1, b"hello \\u0041 %41 &#65;"),), headers=(("x", "y"),))
    assert OURS.capture(capture, decode) == capture
    assert Redactor(None).capture(capture, decode) == capture
