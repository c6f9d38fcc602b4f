"""Content encodings of a body, decoded read by read so that stamps stay with the bytes they made readable."""

import zlib
from collections.abc import Iterator, Sequence

from monitor.types import Read

MAX_DECODED_BYTES = 64 * 2**20
"""No answer is this long; a body that unpacks to more is refused."""

_PLAIN = frozenset({"", "identity"})
_GZIP = frozenset({"gzip", "x-gzip"})


class UndecodableError(Exception):
    """The body is in an encoding that is unknown here, or not in the encoding that it claims."""


class TooLargeError(Exception):
    """The body unpacks to more than `MAX_DECODED_BYTES`."""


def is_plain(encoding: str | None) -> bool:
    """Whether a ``Content-Encoding`` value leaves the body as it is."""
    return encoding is None or encoding.strip().lower() in _PLAIN


def decoded(reads: Sequence[Read], encoding: str | None) -> tuple[Read, ...]:
    """Return the reads after undoing ``Content-Encoding``; reads that made nothing readable are left out.

    A cut body yields what is readable of it.

    Raises
    ------
    UndecodableError
        For encodings other than gzip and deflate, and for damaged data.
    TooLargeError
        When the decoded body exceeds the cap.
    """
    if is_plain(encoding) or not any(read.data for read in reads):
        return tuple(reads)
    name = (encoding or "").strip().lower()
    if name not in _GZIP and name != "deflate":
        raise UndecodableError(f"content-encoding: {encoding}")
    try:
        return tuple(_inflated(reads, _wbits(name, b"".join(read.data for read in reads))))
    except zlib.error as error:
        raise UndecodableError(f"content-encoding: {encoding}: {error}") from None


def _wbits(name: str, body: bytes) -> int:
    if name in _GZIP:
        return zlib.MAX_WBITS | 16
    # "deflate" means zlib by RFC 9110, but raw deflate is common; the low nibble of a zlib header is 8.
    return zlib.MAX_WBITS if body[0] & 0x0F == 8 else -zlib.MAX_WBITS


def _inflated(reads: Sequence[Read], wbits: int) -> Iterator[Read]:
    unpacker = zlib.decompressobj(wbits)
    room = MAX_DECODED_BYTES
    for read in reads:
        data, pieces = read.data, []
        while data:
            if unpacker.eof:  # some servers write one gzip member per flush
                unpacker = zlib.decompressobj(wbits)
            pieces.append(unpacker.decompress(data, room + 1))
            room -= len(pieces[-1])
            if room < 0:
                raise TooLargeError
            data = unpacker.unused_data
        if any(pieces):
            yield Read(read.at_ns, b"".join(pieces))
