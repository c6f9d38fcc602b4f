"""docs/protocols.md against the data."""

from pathlib import Path

from monitor.wire.dialects import dialects
from monitor.wire.dialects.table import tables
from monitor.wire.dispatch import protocols

TEXT = (Path(__file__).parents[2] / "docs" / "protocols.md").read_text(encoding="utf-8")


def test_the_tables_are_those_of_the_data() -> None:
    """Remedy: python -m monitor.wire.dialects.table, and paste what it prints."""
    assert tables() in TEXT


def test_every_protocol_and_dialect_is_named() -> None:
    assert all(f"`{name}`" in TEXT for name in [*protocols(), *dialects()])
