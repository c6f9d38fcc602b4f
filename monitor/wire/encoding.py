"""Content encodings of a body, decoded read by read so that stamps stay with the bytes they made readable."""

import zlib
from collections.abc import Iterator, Sequence

from monitor.types import Read
from monitor.wire.bounds import MAX_DECODED_BYTES, TooLargeError

_SLICE = 4096
"""What follows a gzip member is copied for the next one, so the input is fed in slices."""

_MEMBERS = 100_000
"""More gzip members than any answer has flushes."""

_PLAIN = frozenset({"", "identity"})
_GZIP = frozenset({"gzip", "x-gzip"})


class UndecodableError(Exception):
    """The body is in an encoding that is unknown here, or not in the encoding that it claims."""


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
        When the decoded body is longer than `MAX_DECODED_BYTES`, or made of too many members.
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
    unpacker = _Unpacker(wbits)
    for read in reads:
        pieces = [unpacker.unpack(read.data[at : at + _SLICE]) for at in range(0, len(read.data), _SLICE)]
        if data := b"".join(pieces):
            yield Read(read.at_ns, data)


class _Unpacker:
    """Unpacks one member after the other: some servers write one per flush."""

    def __init__(self, wbits: int) -> None:
        self._wbits = wbits
        self._member = zlib.decompressobj(wbits)
        self._members, self._room = 1, MAX_DECODED_BYTES

    def unpack(self, data: bytes) -> bytes:
        """Return what `data` makes readable."""
        pieces = []
        while data:
            if self._member.eof:
                self._next_member()
            pieces.append(self._member.decompress(data, self._room + 1))
            self._room -= len(pieces[-1])
            if self._room < 0:
                raise TooLargeError("the decoded body exceeds the cap")
            data = self._member.unused_data
        return b"".join(pieces)

    def _next_member(self) -> None:
        self._members += 1
        if self._members > _MEMBERS:
            raise TooLargeError("the body has too many gzip members")
        self._member = zlib.decompressobj(self._wbits)
