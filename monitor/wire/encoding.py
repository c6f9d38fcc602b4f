"""Content encodings of a body, undone read by read so that stamps stay with the bytes they made readable."""

import zlib
from collections.abc import Callable, Iterator, Sequence

from monitor.types import Read
from monitor.wire.bounds import MAX_DECODED_BYTES, TooLargeError

_SLICE = 4096
"""What follows a gzip member is copied for the next one, so the input is fed in slices."""

_MEMBERS = 100_000
"""More gzip members than any answer has flushes."""

_LAYERS = 4
"""More encodings, one on the other, than any server applies."""

_PLAIN = frozenset({"", "identity"})
_GZIP = frozenset({"gzip", "x-gzip"})
_GZIP_BITS = zlib.MAX_WBITS | 16
_MAGIC = b"\x1f"


class UndecodableError(Exception):
    """The body is in an encoding that is unknown here, or not in the encoding that it claims."""


def content_encoding(headers: Sequence[tuple[str, str]]) -> str | None:
    """Return the ``Content-Encoding`` of a response, all its headers joined (RFC 9110, section 5.3); None without."""
    values = [value for name, value in headers if name.lower() == "content-encoding"]
    return ", ".join(values) if values else None


def is_plain(encoding: str | None) -> bool:
    """Whether a ``Content-Encoding`` value leaves the body as it is."""
    return not _layers(encoding)


def decoded(reads: Sequence[Read], encoding: str | None) -> tuple[Read, ...]:
    """Return the reads after undoing ``Content-Encoding``; reads that made nothing readable are left out.

    A cut body yields what is readable of it. What follows the end of the packed data and is none is ignored, as gzip
    itself does: some servers pad. A second layer of the same name that is not there is taken as a header sent twice.

    Raises
    ------
    UndecodableError
        For encodings other than gzip and deflate, for more than four, and for damaged data.
    TooLargeError
        When the decoded body is longer than `MAX_DECODED_BYTES`, or made of too many members.
    """
    layers = _layers(encoding)
    if not layers or not any(read.data for read in reads):
        return tuple(reads)
    if len(layers) > _LAYERS or not all(name in _GZIP or name == "deflate" for name in layers):
        raise UndecodableError(f"content-encoding: {encoding}")
    unpacked = tuple(reads)
    try:
        for at, name in enumerate(reversed(layers)):
            start = next((read.data for read in unpacked if read.data), b"")
            if not start or (at > 0 and name in _GZIP and not start.startswith(_MAGIC)):
                break
            unpacked = tuple(_inflated(unpacked, _wbits(name, start)))
    except zlib.error as error:
        raise UndecodableError(f"content-encoding: {encoding}: {error}") from None
    return unpacked


def encoded(reads: Sequence[Read], encoding: str | None) -> tuple[Read, ...]:
    """Return reads that `decoded` makes into `reads`: each is packed and flushed, so that stamps stay where they were.

    `encoding` is one that `decoded` can undo.
    """
    packed = tuple(reads)
    for name in _layers(encoding):
        packer = zlib.compressobj(wbits=_GZIP_BITS if name in _GZIP else zlib.MAX_WBITS)
        packed = tuple(_packed(packed, packer.compress, packer.flush))
    return packed


def _packed(
    reads: Sequence[Read], compress: Callable[[bytes], bytes], flush: Callable[[int], bytes]
) -> Iterator[Read]:
    for number, read in enumerate(reads, 1):
        last = number == len(reads)
        yield Read(read.at_ns, compress(read.data) + flush(zlib.Z_FINISH if last else zlib.Z_SYNC_FLUSH))


def _layers(encoding: str | None) -> list[str]:
    """The encodings in the order in which they were applied, without those that change nothing."""
    names = [name.strip().lower() for name in (encoding or "").split(",")]
    return [name for name in names if name not in _PLAIN]


def _wbits(name: str, start: bytes) -> int:
    if name in _GZIP:
        return _GZIP_BITS
    # "deflate" means zlib by RFC 9110, but raw deflate is common; the low nibble of a zlib header is 8.
    return zlib.MAX_WBITS if start[0] & 0x0F == 8 else -zlib.MAX_WBITS


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
        self._members, self._room, self._over = 1, MAX_DECODED_BYTES, False

    def unpack(self, data: bytes) -> bytes:
        """Return what `data` makes readable."""
        pieces = []
        while data and not self._over:
            if self._member.eof and not self._next_member(data):
                break
            pieces.append(self._member.decompress(data, self._room + 1))
            self._room -= len(pieces[-1])
            if self._room < 0:
                raise TooLargeError("the decoded body exceeds the cap")
            data = self._member.unused_data
        return b"".join(pieces)

    def _next_member(self, data: bytes) -> bool:
        """Open the next member, if `data` begins one."""
        self._over = not data.startswith(_MAGIC) if self._wbits == _GZIP_BITS else data[0] & 0x0F != 8
        if self._over:
            return False
        self._members += 1
        if self._members > _MEMBERS:
            raise TooLargeError("the body has too many gzip members")
        self._member = zlib.decompressobj(self._wbits)
        return True
