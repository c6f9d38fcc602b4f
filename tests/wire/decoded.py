"""A capture file to its record, as ``weighmaster decode`` does it."""

from pathlib import Path

from jobs.decode import read_capture
from monitor.types import Exchange
from monitor.wire.dispatch import decode


def decode_file(path: Path, format: str, *, protocol: str | None = None) -> Exchange:  # noqa: A002
    return decode(read_capture(path, format, protocol=protocol))
