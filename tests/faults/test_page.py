"""docs/faults.md against the catalogue. Remedy: python -m jobs.faults_page."""

import re

import pytest

from jobs.faults_page import PAGE, renewed, table
from monitor.faults.behaviour import smallest_rate
from monitor.faults.catalogue import BY_NAME
from tests.faults.lookalikes import ROWS

TEXT = PAGE.read_text(encoding="utf-8")


def test_the_table_is_fresh() -> None:
    assert renewed(TEXT) == TEXT
    assert table() in TEXT


def test_every_kind_has_a_line() -> None:
    assert all(f"| `{name}` " in TEXT for name in BY_NAME)


@pytest.mark.parametrize("n", [32, 176])
def test_the_power_that_the_page_states_is_that_of_the_test(n: int) -> None:
    stated = re.search(rf"{n} (?:prompts )?find (?:signs on )?(\d+)%", TEXT)
    assert stated is not None
    assert round(100 * (smallest_rate(n) or 0)) == int(stated[1])


def test_the_number_of_lookalikes() -> None:
    assert f"the {len(ROWS)} shapes" in TEXT.replace("\n", " ")
