"""``weighmaster decode``: a capture file to its exchange record, offline."""

import pathlib
from typing import Any, TextIO

import orjson

from monitor.errors import UsageError
from monitor.types import Exchange
from monitor.wire.dispatch import decode
from monitor.wire.files import load
from monitor.wire.record import record


def decode_file(path: pathlib.Path, format: str) -> Exchange:  # noqa: A002  # the word of the command line
    """Return the record of the capture in `path`.

    Raises
    ------
    UsageError
        When the file cannot be read or is not in `format`; names the file, the line and the remedy.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}: give a capture file that can be read") from None
    try:
        return decode(load(data, format))
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from None


def run(path: pathlib.Path, format: str, *, as_json: bool, out: TextIO) -> int:  # noqa: A002
    """Print the record of `path`; return 0 when a complete answer was decoded, else 1."""
    exchange = decode_file(path, format)
    whole = record(exchange)
    if as_json:
        out.write(orjson.dumps(whole, option=orjson.OPT_INDENT_2).decode() + "\n")
    else:
        out.writelines(f"{name:>18}  {_shown(value)}\n" for name, value in whole.items() if name != "choices")
    return 0 if exchange.answered else 1


def _shown(value: Any) -> str:
    """One line of printable ASCII: model output may hold terminal escapes."""
    if value is None:
        return "-"
    text = value if isinstance(value, str) else orjson.dumps(value).decode()
    return ascii(text)[1:-1]
