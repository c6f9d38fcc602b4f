"""Content encodings as servers really send them. Oracle: Python's own gzip and zlib."""

import gzip
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.types import Capture, Read
from monitor.wire.dispatch import decode
from monitor.wire.encoding import UndecodableError, content_encoding, decoded, encoded

TEXT = b'data: {"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'


def joined(body: bytes, encoding: str | None, size: int = 7) -> bytes:
    reads = [Read(at, body[at : at + size]) for at in range(0, len(body), size)]
    return b"".join(read.data for read in decoded(reads, encoding))


@pytest.mark.parametrize("size", [1, 7, 10_000])
@pytest.mark.parametrize("padding", [b"\0", b"\0" * 500, b"\r\n", b"trailing words"])
def test_what_follows_the_packed_data_is_ignored(padding: bytes, size: int) -> None:
    """As the gzip program does."""
    assert joined(gzip.compress(TEXT) + padding, "gzip", size) == TEXT
    assert joined(zlib.compress(TEXT) + padding, "deflate", size) == TEXT
    assert joined(gzip.compress(TEXT) + gzip.compress(b"more") + padding, "gzip", size) == TEXT + b"more"


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("gzip, identity", gzip.compress(TEXT)),
        ("identity,x-gzip", gzip.compress(TEXT)),
        (" GZIP ", gzip.compress(TEXT)),
        ("gzip, gzip", gzip.compress(gzip.compress(TEXT))),
        ("gzip, gzip", gzip.compress(TEXT)),
        ("deflate, gzip", gzip.compress(zlib.compress(TEXT))),
        ("identity, ", TEXT),
        (None, TEXT),
    ],
)
def test_lists_of_encodings(encoding: str | None, body: bytes) -> None:
    assert joined(body, encoding) == TEXT


@pytest.mark.parametrize("encoding", ["br", "gzip, br", "gzip, " * 5, "aws-chunked"])
def test_what_cannot_be_undone(encoding: str) -> None:
    with pytest.raises(UndecodableError, match="content-encoding: "):
        joined(gzip.compress(TEXT), encoding)


def test_two_headers_are_one_list() -> None:
    headers = (("Content-Encoding", "deflate"), ("x", "y"), ("content-encoding", "gzip"))
    assert content_encoding(headers) == "deflate, gzip"
    body = gzip.compress(zlib.compress(TEXT))
    exchange = decode(Capture(status=200, headers=headers, reads=(Read(0, body),)))
    assert (exchange.outcome, exchange.choice.content) == ("ok", "a")
    assert "content_encoding:deflate, gzip" in exchange.flags
    assert content_encoding((("x", "y"),)) is None


@given(st.lists(st.binary(min_size=1, max_size=50), min_size=1, max_size=5), st.sampled_from(["gzip", "deflate, gzip"]))
def test_packing_again_keeps_texts_and_stamps(texts: list[bytes], encoding: str) -> None:
    reads = tuple(Read(at, text) for at, text in enumerate(texts))
    assert decoded(encoded(reads, encoding), encoding) == reads
    assert encoded(reads, None) == reads
