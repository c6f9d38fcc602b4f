"""What ``curl -i`` prints: one or more heads, then the body with its framing already undone."""

from monitor.errors import UsageError
from monitor.types import Capture, Read
from monitor.wire.body import sniff
from monitor.wire.http1 import LENGTH, Head, read_head

_PREFIX = b"HTTP/"
_ANSWERED = frozenset({401, 407})
_BODY = frozenset({"content-type", "content-length", "transfer-encoding"})
_FRAMING = frozenset({"transfer-encoding", "content-length"})


def load_curl(data: bytes) -> Capture:
    """Return the capture that the output of ``curl -i`` holds: the last head, and what follows it.

    The heads before it are those of a proxy, of 100-continue or of redirects. Nothing says when anything came, so the
    capture has no clock. With ``--raw`` the body keeps its framing: use the format ``http`` for that.

    Raises
    ------
    UsageError
        When `data` does not begin with a status line, or its head is not whole; names the remedy.
    """
    if not data.startswith(_PREFIX):
        raise UsageError("line 1: not a status line as in 'HTTP/2 200': capture with `curl -i`, or use --format sse")
    head, at = read_head(data, 0), 0
    while head.status is not None:
        at += head.size
        if not (data.startswith(_PREFIX, at) and _has_successor(head)):
            break
        head = read_head(data, at)
    if head.status is None:
        line = data.count(b"\n", 0, at) + 1
        raise UsageError(
            f"line {line}: a head that is not whole: a status line as in 'HTTP/2 200', headers and an empty line "
            "are needed: capture all that `curl -i` prints"
        )
    body = data[at:]
    return Capture(
        status=head.status,
        headers=_kept(head, body),
        reads=(Read(0, body),) if body else (),
        end="unclean" if _is_short(head, body) else "complete",
    )


def _has_successor(head: Head) -> bool:
    """Whether curl prints another head behind this one; if not, what looks like one is the body.

    Another one follows interim heads, redirects, refusals that curl answers with credentials, and that of a tunnel,
    which has no body to tell of.
    """
    status = head.status or 0
    if 200 <= status < 300:
        return not {name.lower() for name, _ in head.headers} & _BODY
    return status < 400 or status in _ANSWERED


def _kept(head: Head, body: bytes) -> tuple[tuple[str, str], ...]:
    """The headers that still hold: not the framing, and no encoding that ``--compressed`` has undone."""
    undone = set(_FRAMING)
    if sniff(body, "") != "other" or body.lstrip().startswith(b"<"):
        undone.add("content-encoding")
    return tuple((name, value) for name, value in head.headers if name.lower() not in undone)


def _is_short(head: Head, body: bytes) -> bool:
    """Whether fewer bytes came than promised. Of an encoded body that was decoded nothing can be said."""
    fields = {name.lower(): value for name, value in head.headers}
    length = fields.get("content-length", "")
    counted = LENGTH.fullmatch(length) is not None and "content-encoding" not in fields
    return counted and len(body) < int(length)
