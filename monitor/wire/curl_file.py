"""What ``curl -i`` prints: one or more heads, then the body with its framing already undone."""

from monitor.errors import UsageError
from monitor.types import Capture, Read
from monitor.wire.body import sniff
from monitor.wire.http1 import LENGTH, Head, read_head

_PREFIX = b"HTTP/"
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
    at = 0
    while True:
        head = read_head(data, at)
        at += head.size
        if head.status is None:
            line = data.count(b"\n", 0, at - head.size) + 1
            raise UsageError(
                f"line {line}: a head that is not whole: a status line as in 'HTTP/2 200', headers and an empty line "
                "are needed: capture all that `curl -i` prints"
            )
        if not data.startswith(_PREFIX, at):
            break
    body = data[at:]
    return Capture(
        status=head.status,
        headers=_kept(head, body),
        reads=(Read(0, body),) if body else (),
        end="unclean" if _is_short(head, body) else "complete",
    )


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
