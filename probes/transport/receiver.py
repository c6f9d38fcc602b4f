"""One HTTP/1.1 response taken out of its framing while it arrives (RFC 9112), with llhttp doing the parsing."""

import asyncio
from collections.abc import Callable

import httptools

from probes.transport.attempt import Attempt

_NO_HTTP = "Expected HTTP/"
"""What llhttp says of bytes that do not begin like a response."""


class Receiver:
    """Fills the `Attempt` from the reads of one response.

    Several chunks that came in one read become one entry with the stamp of that read. Interim 1xx responses and
    trailers are dropped. ``over`` says whether the attempt ended, ``reusable`` whether the connection is clean after
    it. ``head`` and ``end`` are done when the headers are complete and when the attempt is over, however it ended.
    """

    __slots__ = (
        "_at_ns", "_close_delimited", "_feed", "_n_bytes", "_n_counted", "_n_events", "_n_unframed", "_n_unwatched",
        "_parser", "_pieces", "attempt", "end", "head", "news", "on_body", "over", "reusable",
    )  # fmt: skip

    def __init__(self, attempt: Attempt, loop: asyncio.AbstractEventLoop) -> None:
        self.attempt = attempt
        self.head: asyncio.Future[None] = loop.create_future()
        self.end: asyncio.Future[None] = loop.create_future()
        self.news: asyncio.Future[None] | None = None
        self.over = self.reusable = False
        self._n_unwatched = min(attempt.limits.max_bytes, attempt.limits.max_events)
        self._at_ns = 0
        self._close_delimited = False
        self._n_bytes = self._n_counted = self._n_events = self._n_unframed = 0
        self._pieces: list[bytes] = []
        self.on_body: Callable[[bytes], None] = self._pieces.append
        self._parser = httptools.HttpResponseParser(self)
        # What real servers get away with; none of it changes which bytes are the body.
        self._parser.set_dangerous_leniencies(
            lenient_optional_cr_before_lf=True, lenient_spaces_after_chunk_size=True, lenient_data_after_close=True
        )
        self._feed: Callable[[memoryview], None] = self._parser.feed_data

    # Called by the connection.

    def feed(self, data: memoryview, at_ns: int) -> bool:
        """Take in what one read returned; return whether the attempt is over.

        This runs once per read of every stream, hence flat.
        """
        self._at_ns = at_ns
        attempt, pieces, broken = self.attempt, self._pieces, None
        if attempt.first_byte_ns is None:
            attempt.first_byte_ns = at_ns
        try:
            self._feed(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            broken = error
        if pieces:
            body = pieces[0] if len(pieces) == 1 else b"".join(pieces)
            pieces.clear()
            attempt.stamps.append(at_ns)
            attempt.bodies.append(body)
            self._n_unframed = 0
            self._n_bytes += len(body)
            if self._n_bytes > self._n_unwatched:
                self._watch()
            if self.news is not None and not self.news.done():
                self.news.set_result(None)
        elif not self.over:
            self._wait_for_body(len(data))
        if broken is not None:
            self._stop_parsing(broken, at_ns)
        elif self.over:
            self.stop(at_ns, reusable=self.reusable)
        return self.over

    def eof(self, at_ns: int) -> None:
        """The peer has closed its side: the end of a body without a length, too early for any other."""
        if self._close_delimited:
            self.attempt.finish("complete")
        self.attempt.finish("unclean", self._missing())
        self.stop(at_ns)

    def stop(self, at_ns: int, *, reusable: bool = False) -> None:
        """The attempt is over, and `Attempt.end` says how."""
        self.over, self.reusable = True, reusable
        if self.attempt.eof_ns is None and self.attempt.first_byte_ns is not None:
            self.attempt.eof_ns = at_ns
        self._wake()

    def release(self) -> None:
        """Let go of the parser, whose callbacks point back here; nothing more is fed."""
        del self._feed, self._parser, self.on_body

    # Called by the parser.

    def on_message_begin(self) -> None:
        """A response starts, or starts again after an interim one; after its end, nothing may."""
        if self.over:
            self.reusable = False
        else:
            self.attempt.first_byte_ns = self._at_ns

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header, or a trailer, which nobody needs."""
        if self.attempt.status is None:
            self.attempt.headers.append((name.decode("latin-1"), value.decode("latin-1")))

    def on_headers_complete(self) -> None:
        """The head is complete; that of an interim response is forgotten."""
        status = self._parser.get_status_code()
        if self.over:
            return
        if status < 200 and status != 101:
            self.attempt.headers.clear()
            return
        self.attempt.status = status
        if status == 101:
            self.attempt.finish("unclean", "the endpoint switched protocols, which nobody asked for")
        self._close_delimited = _close_delimited(self.attempt)
        if not self.head.done():
            self.head.set_result(None)

    def on_message_complete(self) -> None:
        """The body ended as its framing promised."""
        if self.attempt.status is None or self.over:
            return
        self.over = True
        self.reusable = self._parser.should_keep_alive()
        self.attempt.finish("complete")

    def _watch(self) -> None:
        """Count what came since the last look; fewer bytes than events are allowed need no look."""
        attempt = self.attempt
        for body in attempt.bodies[self._n_counted :]:
            self._n_events += body.count(b"data:") or 1
        self._n_counted = len(attempt.bodies)
        if self._n_bytes > attempt.limits.max_bytes or self._n_events > attempt.limits.max_events:
            self._give_up(f"stopped after {self._n_bytes} bytes, about {self._n_events} events")

    def _wait_for_body(self, n_bytes: int) -> None:
        """Headers, chunk extensions and trailers have no other bound."""
        self._n_unframed += n_bytes
        if self._n_unframed > self.attempt.limits.max_header_bytes:
            self._give_up(f"stopped after {self._n_unframed} bytes of headers or framing without a byte of the body")

    def _give_up(self, why: str) -> None:
        self.attempt.finish("client_limit", why)
        self.over, self.reusable = True, False

    def _stop_parsing(self, error: Exception, at_ns: int) -> None:
        """Bad framing; after the end of the response it only makes the connection useless."""
        if self.attempt.status is None and _NO_HTTP in str(error):
            self.attempt.finish("connect_error", f"no HTTP answer: {error}"[:200])
        self.attempt.finish("unclean", f"bad HTTP framing: {error}"[:200])
        self.stop(at_ns)

    def _missing(self) -> str:
        if self.attempt.first_byte_ns is None:
            return "the connection closed without an answer"
        part = "headers" if self.attempt.status is None else f"body, {self._n_bytes} bytes after its start"
        return f"the connection closed within the {part}"

    def _wake(self) -> None:
        for future in (self.head, self.end, self.news):
            if future is not None and not future.done():
                future.set_result(None)


def _close_delimited(attempt: Attempt) -> bool:
    """Whether only the end of the connection ends the body (RFC 9112, section 6.3)."""
    fields = {name.lower(): value.lower() for name, value in attempt.headers}
    coding = fields.get("transfer-encoding")
    if coding is not None:
        return coding.rsplit(",", 1)[-1].strip() != "chunked"
    return "content-length" not in fields
