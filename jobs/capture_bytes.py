"""Reads the capture files that commands are given."""

import pathlib

from monitor.errors import UsageError

MAX_BYTES = 256 * 2**20
"""Four times the longest body that is captured: room for base64, pretty JSON and headers."""


def read_bytes(path: pathlib.Path) -> bytes:
    """Return what `path` holds.

    Raises
    ------
    UsageError
        When it cannot be read, is no regular file, or is larger than any capture; names the file and the remedy.
    """
    if path.exists() and not path.is_file():  # opening a pipe could wait forever
        raise UsageError(f"{path}: not a regular file: give a capture file; save what a pipe yields first")
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}: give a capture file that can be read") from None
    if len(data) > MAX_BYTES:
        raise UsageError(f"{path}: larger than any capture ({MAX_BYTES // 2**20} MB): cut it to one exchange")
    return data
