"""The fault corpus. Oracle: the expected records, written by hand from the case definitions."""

from dataclasses import replace

import pytest

from monitor.types import Capture, Read
from monitor.wire.dispatch import decode
from monitor.wire.files import load
from tests.wire.golden import Case, cases, check, recut, shown

ALL_POSITIONS_BELOW = 8192


@pytest.mark.parametrize("case", cases())
def test_whole(case: Case) -> None:
    check(decode(load(case.data, case.format)), case)


@pytest.mark.parametrize("case", cases())
def test_byte_by_byte(case: Case) -> None:
    capture = load(case.data, case.format)
    assert shown(decode(recut(capture, 1))) == shown(decode(capture))


def joined(capture: Capture) -> Capture:
    """The body as one read without a clock: what is left is what does not depend on time."""
    reads = (Read(0, capture.body),) if capture.reads else ()
    return replace(capture, reads=reads, t0_ns=None, eof_ns=None)


@pytest.mark.parametrize("case", cases())
def test_cut_anywhere(case: Case) -> None:
    capture = joined(load(case.data, case.format))
    body = capture.body
    whole = decode(capture)
    step = 1 if len(body) <= ALL_POSITIONS_BELOW else len(body) // 499
    for at in range(1, len(body), step):
        parts = (Read(0, body[:at]), Read(1, body[at:]))
        assert decode(replace(capture, reads=parts)) == whole
