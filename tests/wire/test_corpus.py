"""The fault corpus. Oracle: the expected records, written by hand from the case definitions."""

from dataclasses import replace

import pytest

from monitor.types import Capture, Read
from monitor.wire.dispatch import decode
from monitor.wire.files import load
from tests.wire.golden import Case, cases, check, long_lines, recut, shown

ALL_POSITIONS_BELOW = 8192
FEW_POSITIONS_ABOVE = 2**18
CASES = cases() + long_lines()
CLASSES = {"FR": 12, "TR": 10, "TE": 7, "TM": 9, "TK": 7, "DL": 9, "TC": 8, "FN": 7, "LP": 12, "ID": 5}


def test_every_case_is_here_and_two_of_our_own_for_each_class() -> None:
    """Oracle: the table of classes in the definition of the corpus: 86 cases on the wire."""
    names = [param.values[0].name for param in CASES]
    for kind, count in CLASSES.items():
        assert {name[:5] for name in names} >= {f"{kind}-{n:02d}" for n in range(1, count + 1)}
        assert sum(name.startswith(kind) and ".own_" in name for name in names) >= 2


@pytest.mark.parametrize("case", CASES)
def test_whole(case: Case) -> None:
    check(decode(load(case.data, case.format)), case)


@pytest.mark.parametrize("case", CASES)
def test_byte_by_byte(case: Case) -> None:
    capture = load(case.data, case.format)
    assert shown(decode(recut(capture, 1))) == shown(decode(capture))


def joined(capture: Capture) -> Capture:
    """The body as one read without a clock: what is left is what does not depend on time."""
    reads = (Read(0, capture.body),) if capture.reads else ()
    return replace(capture, reads=reads, t0_ns=None, eof_ns=None)


@pytest.mark.parametrize("case", CASES)
def test_cut_anywhere(case: Case) -> None:
    capture = joined(load(case.data, case.format))
    body = capture.body
    whole = decode(capture)
    sampled = 499 if len(body) <= FEW_POSITIONS_ABOVE else 11
    step = 1 if len(body) <= ALL_POSITIONS_BELOW else len(body) // sampled
    for at in range(1, len(body), step):
        parts = (Read(0, body[:at]), Read(1, body[at:]))
        assert decode(replace(capture, reads=parts)) == whole
