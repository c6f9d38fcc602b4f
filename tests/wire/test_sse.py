"""Framing. Oracle: the WHATWG rules for event streams, worked out by hand."""

from hypothesis import given
from hypothesis import strategies as st

from monitor.types import Read
from monitor.wire.sse import Event, frame


def framed(*pieces: bytes) -> list[tuple[str | None, bytes]]:
    framing = frame([Read(n, piece) for n, piece in enumerate(pieces)])
    return [(event.name, event.data) for event in framing.events]


def test_fields() -> None:
    assert framed(b"event: a\ndata: 1\ndata:2\ndata:  3\nid: 7\nretry: 9\n\n") == [("a", b"1\n2\n 3")]
    assert framed(b"data\n\ndata:\n\n") == [(None, b""), (None, b"")]
    assert framed(b"event: lost\n\ndata: 1\n\n") == [(None, b"1")], "a name without data does not reach the next event"


def test_an_event_carries_the_stamp_of_the_read_that_completed_it() -> None:
    reads = [Read(10, b"data: 1\n"), Read(20, b"\ndata: 2\n\nda"), Read(30, b"ta: 3\r\n\r"), Read(40, b"\n")]
    assert frame(reads).events == (Event(20, None, b"1"), Event(20, None, b"2"), Event(30, None, b"3"))


def test_stamps_are_right_behind_a_byte_order_mark_and_empty_reads() -> None:
    reads = [Read(1, b"\xef\xbb"), Read(2, b""), Read(3, b"\xbfdata: 1\n\n"), Read(4, b""), Read(5, b"data: 2\n\n")]
    assert [event.at_ns for event in frame(reads).events] == [3, 5]
    reads = [Read(1, b"\xef\xbb\xbfdata: 1\n"), Read(2, b"\n")]
    assert [event.at_ns for event in frame(reads).events] == [2]


def test_an_unclosed_event_is_returned_and_said_so() -> None:
    whole = frame([Read(1, b"data: 1\n\n"), Read(2, b"data: 2"), Read(3, b"")])
    assert whole.unterminated
    assert whole.events[-1] == Event(2, None, b"2")
    assert not frame([Read(1, b"data: 1\n\n: bye")]).unterminated


def test_evidence_of_unknown_lines_is_bounded() -> None:
    framing = frame([Read(0, b"x" * 5000 + b"\n" + b"y: 1\n" * 100)])
    assert framing.unknown_lines == 101
    assert [len(line) for line in framing.unknown] == [200, 4, 4, 4, 4]


LINES = st.sampled_from([b"data: a", b"data:b", b": c", b"event: d", b"", b"", b"zz", b"\xef\xbb\xbf", b"\xe2\x80\xa8"])
ENDS = st.sampled_from([b"\n", b"\r\n", b"\r"])


@given(st.lists(st.tuples(LINES, ENDS)), st.booleans(), st.integers(1, 9))
def test_cuts_and_line_ends_do_not_matter(lines: list[tuple[bytes, bytes]], closed: bool, size: int) -> None:
    """Oracle: the same lines under LF alone, in one piece (a CR just before an LF is one line end in both)."""
    body = b"".join(line + end for line, end in lines) + (b"\n\n" if closed else b"")
    plain = body.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    cut = frame([Read(0, body[at : at + size]) for at in range(0, len(body), size)])
    assert cut == frame([Read(0, plain)] if plain else [])


def test_a_hundred_thousand_reads() -> None:
    """Would take minutes if reads were joined one by one."""
    body = b"data: 0123456789\n\n" * 60_000
    framing = frame([Read(at, body[at : at + 9]) for at in range(0, len(body), 9)])
    assert len(framing.events) == 60_000
    assert framing.events[-1] == Event(len(body) - 9, None, b"0123456789")
