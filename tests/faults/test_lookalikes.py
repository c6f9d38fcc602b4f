"""What looks like a fault and is none. Oracle: every row is a real, legal shape; a finding in any is a false one."""

import pytest

from monitor.faults.find import faults
from monitor.faults.profiles import PROFILES
from monitor.types import Exchange
from tests.faults.lookalikes import ROWS


@pytest.mark.parametrize(("about", "profile", "exchange"), ROWS, ids=[row[0] for row in ROWS])
def test_nothing_is_found(about: str, profile: str, exchange: Exchange) -> None:
    assert exchange.outcome in {"ok", "ok_length"}
    assert faults(exchange, PROFILES[profile]) == ()


def test_there_are_at_least_150_and_all_differ() -> None:
    shapes = {
        (one.flags, one.choices, str(one.usage), str(one.request), one.models, one.comments) for _, _, one in ROWS
    }
    assert len({about for about, _, _ in ROWS}) == len(ROWS) >= 150
    assert len(shapes) >= 150, "rows that differ in their framing alone decode alike; so many others must not"
