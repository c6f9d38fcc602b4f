"""Lines of a log: a file or standard input, plain or gzip, one line in memory at a time."""

import gzip
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from monitor.errors import UsageError

LINE_BYTES = 16 * 2**20

_GZIP, _MARK = b"\x1f\x8b", b"\xef\xbb\xbf"


def lines_in(source: Path) -> Iterator[bytes]:
    """Yield the lines of `source` (``-`` is standard input). Of a line longer than `LINE_BYTES` only the beginning.

    Raises
    ------
    UsageError
        When it cannot be read, or is gzip that ends early or is damaged.
    """
    if str(source) == "-":
        yield from _told(source, sys.stdin.buffer)
        return
    try:
        file = source.open("rb")
    except OSError as error:
        raise _unreadable(source, error) from None
    with file:
        yield from _told(source, file)


def _told(source: Path, file: Any) -> Iterator[bytes]:
    try:
        yield from lines_of(file)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise UsageError(f"{source}: damaged gzip ({error}); give it whole, or unpack what can be unpacked") from None
    except OSError as error:
        raise _unreadable(source, error) from None


def _unreadable(source: Path, error: OSError) -> UsageError:
    return UsageError(f"{source}: cannot be read: {error.strerror}; give the path of a log, or - for standard input")


def lines_of(file: Any) -> Iterator[bytes]:
    """Yield the lines of an open buffered file, plain or gzip, without a byte order mark."""
    whole: Any = gzip.GzipFile(fileobj=file) if file.peek(2)[:2] == _GZIP else file
    line: bytes = whole.readline(LINE_BYTES + 2).removeprefix(_MARK)
    while line:
        yield line
        rest = line
        while len(rest) > LINE_BYTES and not rest.endswith(b"\n"):
            rest = whole.readline(LINE_BYTES + 2)  # of a line that is refused, one refusal is enough
        line = whole.readline(LINE_BYTES + 2)
