"""Scripted responses: what a replay server sends, when, and how it ends."""

import pathlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple, Self

from jobs.capture_bytes import read_bytes
from monitor.errors import UsageError
from monitor.types import Capture
from monitor.wire.files import FORMATS, RECORDINGS, Recording, load, recording
from monitor.wire.har_file import n_entries
from monitor.wire.timing import since

Close = Literal["none", "fin", "cut", "rst"]
"""How a script ends: complete and the connection kept; complete, then closed; closed before the framing ends; reset."""

_CLOSES: Mapping[str, Close] = {"complete": "none", "reset": "rst"}
_FRAMING = frozenset({"content-length", "transfer-encoding", "connection", "keep-alive"})
_BY_SUFFIX = {name: name for name in FORMATS} | {"jsonl": "timed"}


class Chunk(NamedTuple):
    """Bytes to write, and when: ms after the request was fully received."""

    at_ms: float
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """One scripted response.

    ``raw`` chunks hold the whole response, status line included; others are body and get chunked framing.
    ``head_ms`` is when the head goes out, None with the first chunk; ``end_ms`` when the body ends or the connection
    closes, None right after the last chunk.
    """

    chunks: tuple[Chunk, ...] = ()
    status: int = 200
    headers: tuple[tuple[str, str], ...] = (("Content-Type", "text/event-stream"),)
    close: Close = "none"
    head_ms: float | None = None
    end_ms: float | None = None
    raw: bool = False

    @classmethod
    def from_capture(cls, capture: Capture) -> Self:
        """Return the script that answers as `capture` was answered, at the same times from t0.

        A capture without a clock is answered at once; one without a response becomes a closed connection.
        """
        t0 = capture.t0_ns
        end_ms = since(t0, capture.eof_ns)
        if capture.status is None:
            return cls(raw=True, close="rst" if capture.end == "reset" else "fin", end_ms=end_ms)
        return cls(
            chunks=tuple(Chunk(since(t0, read.at_ns) or 0.0, read.data) for read in capture.reads),
            head_ms=since(t0, capture.first_byte_ns),
            status=capture.status,
            headers=tuple((name, value) for name, value in capture.headers if name.lower() not in _FRAMING),
            close=_CLOSES.get(capture.end, "cut"),
            end_ms=end_ms,
        )

    @classmethod
    def from_recording(cls, raw: Recording) -> Self:
        """Return the script that sends what was recorded: a whole response as it is, a body under an assumed head.

        A recording without any byte is an accepted connection that stays silent.
        """
        is_raw = raw.is_response or not raw.reads
        kept: Close = "fin" if is_raw or raw.eof_ns is not None else "none"
        return cls(
            chunks=tuple(Chunk(read.at_ns / 1e6, read.data) for read in raw.reads),
            headers=(("Content-Type", raw.assumed_type),),
            close="rst" if raw.end == "reset" else kept,
            end_ms=since(0, raw.eof_ns),
            raw=is_raw,
        )

    @property
    def head(self) -> bytes:
        """Status line and headers of a script that is not raw."""
        lines = [f"HTTP/1.1 {self.status} Replayed", *(f"{name}: {value}" for name, value in self.headers)]
        lines.append("Transfer-Encoding: chunked")
        if self.close != "none":
            lines.append("Connection: close")
        return "\r\n".join([*lines, "", ""]).encode("latin-1", "replace")

    def writes(self) -> Iterator[tuple[float, bytes]]:
        """Yield what goes onto the socket, and when (ms): head, chunks in their framing, end."""
        last = self.chunks[0].at_ms if self.chunks else self.end_ms or 0.0
        if not self.raw:
            yield last if self.head_ms is None else self.head_ms, self.head
        for last, data in self.chunks:
            if data:
                yield last, data if self.raw else b"%x\r\n%b\r\n" % (len(data), data)
        unended = self.raw or self.close in {"cut", "rst"}
        yield last if self.end_ms is None else self.end_ms, b"" if unended else b"0\r\n\r\n"


def scripts_from(path: pathlib.Path, format: str | None = None) -> tuple[Script, ...]:  # noqa: A002
    """Return the scripts in `path`: one file, or all capture files of a folder in name order.

    Without a `format` the file's suffix names it (``.jsonl`` is ``timed``); other files of a folder, such as the
    ``record.json`` beside kept captures, are passed over.

    Raises
    ------
    UsageError
        When nothing can be read; names the file and the remedy.
    """
    if not path.exists():
        raise UsageError(f"{path}: not found: give a capture file, or a folder of them")
    if not path.is_dir():
        return _scripts(path, format or _format_of(path))
    files = [item for item in sorted(path.iterdir()) if item.is_file() and item.suffix[1:] in _BY_SUFFIX]
    if not files:
        raise UsageError(f"{path}: no capture files: name them with one of .{', .'.join(_BY_SUFFIX)}")
    return tuple(script for item in files for script in _scripts(item, format or _format_of(item)))


def _format_of(path: pathlib.Path) -> str:
    if path.suffix[1:] not in _BY_SUFFIX:
        raise UsageError(f"{path}: cannot tell the format from the name: give --format {'|'.join(FORMATS)}")
    return _BY_SUFFIX[path.suffix[1:]]


def _scripts(path: pathlib.Path, format: str) -> tuple[Script, ...]:  # noqa: A002
    """The script of a file; of an HTTP archive one per entry."""
    data = read_bytes(path)
    try:
        if format in RECORDINGS:
            return (Script.from_recording(recording(data, format)),)
        if format == "har":
            return tuple(Script.from_capture(load(data, format, index=at)) for at in range(n_entries(data)))
        return (Script.from_capture(load(data, format)),)
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from None
