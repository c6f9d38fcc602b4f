"""From reads to an `Answer`: undo the encoding, decide what the body is, read it. Content type is only a hint."""

from dataclasses import dataclass
from typing import Literal

from monitor.types import Capture, Outcome, Read
from monitor.wire.asked import Asked
from monitor.wire.chat_state import Answer
from monitor.wire.encoding import TooLargeError, UndecodableError, decoded, is_plain
from monitor.wire.error_body import evidence
from monitor.wire.lenient import NotJsonError, loads
from monitor.wire.sse import Framing, frame

Kind = Literal["sse", "json", "empty", "other"]

_SSE_STARTS = (b"data:", b"event:", b"id:", b"retry:", b":")
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """A body that was read. ``verdict`` is set when it is no answer at all; ``words`` is evidence for people."""

    answer: Answer
    framing: Framing | None = None
    verdict: Outcome | None = None
    words: str | None = None


def sniff(body: bytes, content_type: str) -> Kind:
    """Return what a body is, from its first non-blank byte, then from its content type."""
    start = body[:4096].removeprefix(_BOM).lstrip()[:8]
    if not start:
        return "empty"
    if start.startswith(b"{"):
        return "json"
    if start.startswith(_SSE_STARTS):
        return "sse"
    return "sse" if "event-stream" in content_type and not start.startswith(b"<") else "other"


def read_body(capture: Capture, asked: Asked) -> Body:
    """Read the body of `capture`, whatever it is."""
    encoding = capture.header("content-encoding")
    try:
        reads = decoded(capture.reads, encoding)
    except UndecodableError as error:
        return Body(answer=Answer(streamed=False), verdict="undecodable_encoding", words=str(error))
    except TooLargeError:
        return Body(answer=Answer(streamed=False), verdict="client_limit", words="the decoded body exceeds the cap")
    body = _read(reads, (capture.header("content-type") or "").lower(), asked)
    if not is_plain(encoding):
        body.answer.flags[f"content_encoding:{encoding}"] = None
    return body


def _read(reads: tuple[Read, ...], content_type: str, asked: Asked) -> Body:
    data = b"".join([read.data for read in reads])
    kind = sniff(data, content_type)
    if kind == "other":
        return Body(
            answer=Answer(streamed=False),
            verdict="non_json_200",
            words=f"{content_type or 'no content type'}: {evidence(data)}",
        )
    body = _read_json(data, asked) if kind == "json" else _read_sse(reads)
    expected = "json" if kind == "json" else "event-stream"
    if kind != "empty" and content_type and expected not in content_type:
        body.answer.flags["wrong_content_type"] = None
    return body


def _read_sse(reads: tuple[Read, ...]) -> Body:
    framing, answer = frame(reads), Answer(streamed=True)
    answer.read_stream(framing)
    if any(_is_error_line(line) for line in framing.unknown):
        answer.flags["unframed_error"] = None
    return Body(answer=answer, framing=framing, words=framing.unknown[0] if framing.unknown else None)


def _is_error_line(line: str) -> bool:
    """Whether an unframed line reports an error: ``error: {...}`` or a bare ``{"error": ...}``."""
    text = line.replace(" ", "").lower()
    return text.startswith(("error:{", '{"error":'))


def _read_json(data: bytes, asked: Asked) -> Body:
    answer = Answer(streamed=False)
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
