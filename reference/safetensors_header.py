"""Whether a safetensors file is whole: its header says how long it has to be. No weights are read.

Format: 8 bytes, the length of the header (little endian); the header, a JSON object; the tensors, whose last one ends
the file (huggingface.co/docs/safetensors).
"""

import json
import struct
from pathlib import Path

from monitor.errors import GoldenError

_SIZE = struct.Struct("<Q")
_MOST_HEADER_BYTES = 100_000_000
"""The format's own limit."""


def require_whole(path: Path) -> None:
    """Refuse the file `path` when its header cannot be read or promises another length.

    Raises
    ------
    GoldenError
        With what is wrong and the remedy.
    """
    promised = _promised_bytes(path)
    n_bytes = path.stat().st_size
    if promised is None:
        raise GoldenError(f"{path}: is no safetensors file, or its header is cut; get it again")
    if promised != n_bytes:
        raise GoldenError(f"{path}: is {n_bytes} bytes, its header promises {promised}; get it again")


def _promised_bytes(path: Path) -> int | None:
    """Length that the header promises; None where there is no header that could."""
    with path.open("rb") as file:
        start = file.read(_SIZE.size)
        if len(start) < _SIZE.size:
            return None
        (size,) = _SIZE.unpack(start)
        if size > _MOST_HEADER_BYTES:
            return None
        try:
            header = json.loads(file.read(size))
            ends = [int(one["data_offsets"][1]) for name, one in header.items() if name != "__metadata__"]
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            return None
    return _SIZE.size + int(size) + max(ends, default=0)
