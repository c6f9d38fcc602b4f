"""Foreign files that are tables: comma-separated values with a head."""

import csv
import io
from collections.abc import Callable, Collection, Iterator
from typing import Any


def has_head(text: str, wanted: Collection[str]) -> bool:
    """Whether the first row of `text` holds all `wanted` names. Never raises."""
    try:
        return set(wanted) <= set(next(_reader(text), []))
    except csv.Error:
        return False


def table_rows(text: str, left: Callable[[str, str], None]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the rows below the head by its names, with their places; empty cells are left out of them.

    `left` is told of rows with more cells than the head, and of such as are no CSV.
    """
    reader = _reader(text)
    head: list[str] = next(reader, [])
    while True:
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error:
            left(f"line {reader.line_num}", "row that is not CSV")
            continue
        if len(row) > len(head):
            left(f"line {reader.line_num}", "row with more cells than the head")
        elif any(row):
            yield f"line {reader.line_num}", {name: cell for name, cell in zip(head, row, strict=False) if cell}


def _reader(text: str) -> Any:
    return csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""), strict=True)
