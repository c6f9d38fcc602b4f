"""The page on variants names what there is."""

from pathlib import Path

import pytest

from reference.variants.bank import bank, schemes

PAGE = (Path(__file__).parents[2] / "docs" / "variants.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", sorted(bank()))
def test_every_name_is_in_the_table(name: str) -> None:
    assert f"`{name}`" in PAGE


@pytest.mark.parametrize("kind", sorted(schemes()))
def test_every_scheme_has_a_row(kind: str) -> None:
    row = next(line for line in PAGE.splitlines() if f"| `{kind}` |" in line)
    assert f"| {schemes()[kind].changes} |" in row
