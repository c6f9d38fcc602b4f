"""Golden captures of five protocols. Oracle: the expected records, written by hand from the protocols' references."""

from dataclasses import replace

import pytest

from monitor.types import Read
from monitor.wire.dispatch import decode
from tests.wire.golden import recut, shown
from tests.wire_protocols.cases import FOLDER, Case, cases

KINDS_EVERY_PROTOCOL_HAS = {"stream", "whole", "error_in_stream", "truncated", "rate_limited"}


@pytest.mark.parametrize("case", cases())
def test_whole(case: Case) -> None:
    record = shown(decode(case.capture))
    wanted = {key: value for key, value in case.want.items() if key != "flags"}
    assert {key: record[key] for key in wanted} == wanted
    assert set(case.want.get("flags", [])) <= set(record["flags"])
    assert not set(case.not_flags) & set(record["flags"])


@pytest.mark.parametrize("case", cases())
def test_byte_by_byte(case: Case) -> None:
    assert shown(decode(recut(case.capture, 1))) == shown(decode(case.capture))


@pytest.mark.parametrize("case", cases())
def test_cut_anywhere(case: Case) -> None:
    body = case.capture.body
    still = replace(case.capture, reads=(Read(0, body),), t0_ns=None, eof_ns=None)
    whole = decode(still)
    for at in range(1, len(body)):
        assert decode(replace(still, reads=(Read(0, body[:at]), Read(1, body[at:])))) == whole


def test_every_protocol_has_the_same_kinds_of_cases() -> None:
    for folder in FOLDER.iterdir():
        names = {path.name.partition(".")[0] for path in folder.iterdir()}
        assert names >= KINDS_EVERY_PROTOCOL_HAS, folder.name
