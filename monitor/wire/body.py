"""From reads to an `Answer`: undo the encoding, decide what the body is, read it. Content type is only a hint."""

from dataclasses import dataclass
from typing import Literal

from monitor.types import Capture, Outcome, Read
from monitor.wire.asked import Asked
from monitor.wire.bounds import TooLargeError, check_json, check_lines
from monitor.wire.chat_state import Answer, Reader
from monitor.wire.encoding import UndecodableError, content_encoding, decoded, is_plain
from monitor.wire.error_body import evidence
from monitor.wire.lenient import NotJsonError, loads
from monitor.wire.ndjson import frame_lines, is_lines
from monitor.wire.sse import Framing, frame

Kind = Literal["sse", "json", "empty", "other"]

SSE_STARTS = (b"data:", b"event:", b"id:", b"retry:", b":")
_BOM = b"\xef\xbb\xbf"
_ENOUGH = 4096
_ENCODING_CHARS = 40
_TYPE_CHARS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """A body that was read. ``verdict`` is set when it is no answer at all; ``words`` is evidence for people."""

    answer: Answer
    framing: Framing | None = None
    verdict: Outcome | None = None
    words: str | None = None


def sniff(body: bytes, content_type: str) -> Kind:
    """Return what a body is, from its first non-blank byte, then from its content type."""
    start = body[:_ENOUGH].removeprefix(_BOM).lstrip()[:8]
    if not start:
        return "empty"
    if start.startswith(b"{"):
        return "json"
    if start.startswith(SSE_STARTS):
        return "sse"
    return "sse" if "event-stream" in content_type and not start.startswith(b"<") else "other"


def read_body(capture: Capture, asked: Asked, reader: Reader = Answer, *, ndjson: bool = False) -> Body:
    """Read the body of `capture`, whatever it is, with the `reader` of its protocol."""
    encoding = content_encoding(capture.headers)
    content_type = (capture.header("content-type") or "").lower()
    try:
        body = _read(decoded(capture.reads, encoding), content_type, asked, reader, ndjson=ndjson)
    except UndecodableError as error:
        return Body(answer=Answer(streamed=False), verdict="undecodable_encoding", words=str(error))
    except TooLargeError as error:
        return Body(answer=Answer(streamed=False), verdict="client_limit", words=str(error))
    if encoding is not None and not is_plain(encoding):
        body.answer.flags[f"content_encoding:{encoding[:_ENCODING_CHARS]}"] = None
    return body


def _read(
    reads: tuple[Read, ...], content_type: str, asked: Asked, reader: Reader, *, ndjson: bool
) -> Body:  # fmt: skip
    start = _start(reads)
    kind = sniff(start, content_type)
    if kind == "other":
        return Body(
            answer=Answer(streamed=False),
            verdict="non_json_200",
            words=f"{content_type[:_TYPE_CHARS] or 'no content type'}: {evidence(start)}",
        )
    check_lines(reads)
    body = _read_object(reads, asked, reader, ndjson=ndjson) if kind == "json" else _read_events(frame(reads), reader)
    expected = "json" if kind == "json" else "event-stream"
    if kind != "empty" and content_type and expected not in content_type:
        body.answer.flags["wrong_content_type"] = None
    if kind == "sse" and asked.stream is False and body.answer.choices:
        body.answer.flags["stream_unasked"] = None
    return body


def _read_object(reads: tuple[Read, ...], asked: Asked, reader: Reader, *, ndjson: bool) -> Body:
    """Read a body that begins with a JSON object: one answer, or the first of many lines."""
    data = b"".join([read.data for read in reads])
    check_json((data.partition(b"\n")[0],) if ndjson else (data,))
    if ndjson and is_lines(data, streamed=asked.stream is not False):
        return _read_events(frame_lines(reads), reader)
    check_json((data,))
    return _read_json(data, asked, reader)


def _start(reads: tuple[Read, ...]) -> bytes:
    """The first bytes of a body, enough to tell what it is."""
    pieces: list[bytes] = []
    missing = _ENOUGH
    for read in reads:
        pieces.append(read.data[:missing])
        missing -= len(pieces[-1])
        if missing <= 0:
            break
    return b"".join(pieces)


def _read_events(framing: Framing, reader: Reader) -> Body:
    check_json([event.data for event in framing.events])
    answer = reader(streamed=True)
    answer.read_stream(framing)
    if any(_is_error_line(line) for line in framing.unknown):
        answer.flags["unframed_error"] = None
    elif framing.unknown_lines > framing.comments and not framing.events:  # random bytes hold a colon or two
        return Body(answer=answer, verdict="non_json_200", words=framing.unknown[0])
    return Body(answer=answer, framing=framing, words=framing.unknown[0] if framing.unknown else None)


def _is_error_line(line: str) -> bool:
    """Whether an unframed line reports an error: ``error: {...}`` or a bare ``{"error": ...}``."""
    text = line.replace(" ", "").lower()
    return text.startswith(("error:{", '{"error":'))


def _read_json(data: bytes, asked: Asked, reader: Reader) -> Body:
    answer = reader(streamed=False)
    try:
        value, forgiven = loads(data.removeprefix(_BOM))
    except NotJsonError:
        answer.parse_errors = 1
        answer.cut_tail = not data.rstrip().endswith(b"}")
        return Body(answer=answer, verdict=None if answer.cut_tail else "non_json_200", words=evidence(data))
    for flag in forgiven:
        answer.flags[flag] = None
    answer.read_whole(value)
    # Without a known request a stream is assumed, since that is what `Request` asks for.
    if asked.stream is not False and answer.choices:
        answer.flags["stream_ignored"] = None
    return Body(answer=answer)
