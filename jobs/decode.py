"""``weighmaster decode``: a capture file to its exchange record, offline."""

import pathlib
from dataclasses import replace
from typing import Any, TextIO

import orjson

from jobs.capture_bytes import read_bytes
from jobs.explain import document, lines, printable
from jobs.explain import read as read_explained
from monitor.errors import UsageError
from monitor.types import Capture
from monitor.wire.dispatch import decode, protocols
from monitor.wire.files import load
from monitor.wire.guess import guessed
from monitor.wire.record import record


def read_capture(
    path: pathlib.Path,
    format: str,  # noqa: A002  # the option
    *,
    index: int | None = None,
    protocol: str | None = None,
) -> Capture:
    """Return the capture in `path`; `index` is the number of an entry of a HAR.

    `protocol` None: the one that the capture names, or that its answer can only belong to, else OpenAI chat.

    Raises
    ------
    UsageError
        When the file cannot be read or is not in `format`, or the protocol is none; names the file, the line and the
        remedy.
    """
    if protocol is not None and protocol not in protocols():
        raise UsageError(f"no such protocol {protocol!r}: use one of {_names()}")
    data = read_bytes(path)
    try:
        capture = load(data, format, index=index)
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from None
    if protocol is None and capture.protocol not in protocols():
        raise UsageError(f"{path}: no such protocol {capture.protocol!r}: say --protocol, one of {_names()}")
    if protocol is None and format != "capture":
        protocol = guessed(capture)
    return capture if protocol is None else replace(capture, protocol=protocol)


def _names() -> str:
    return ", ".join(sorted(protocols()))


def run(
    path: pathlib.Path,
    format: str,  # noqa: A002
    *,
    as_json: bool,
    out: TextIO,
    explain: bool = False,
    index: int | None = None,
    protocol: str | None = None,
) -> int:
    """Print the record of `path`, explained if asked for; return 0 when a complete answer was decoded, else 1."""
    capture = read_capture(path, format, index=index, protocol=protocol)
    exchange, events = read_explained(capture) if explain else (decode(capture), ())
    whole = record(exchange)
    if as_json:
        told = whole | document(exchange, events) if explain else whole
        out.write(orjson.dumps(told, option=orjson.OPT_INDENT_2).decode() + "\n")
    else:
        out.writelines(f"{name:>18}  {_shown(value)}\n" for name, value in whole.items() if name != "choices")
        if explain:
            out.writelines(f"{line}\n" for line in ["", *lines(exchange, events)])
    return 0 if exchange.answered else 1


def _shown(value: Any) -> str:
    if value is None:
        return "-"
    return printable(value if isinstance(value, str) else orjson.dumps(value).decode())
