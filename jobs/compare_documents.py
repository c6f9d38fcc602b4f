"""The comparison for machines: JSON with every number, and CSV with one line per endpoint and measure."""

import csv
import io
from collections.abc import Iterator
from typing import Any

import orjson

from monitor.codec import plain
from monitor.comparison import Comparison, ModelComparison, Row
from monitor.comparison_figures import one_line
from monitor.comparison_measures import MEASURES

COLUMNS = (
    "model", "endpoint", "status", "causes", "measure", "unit", "better", "value", "low", "high", "k", "n",
    "place_best", "place_worst", "places", "threshold", "top_k", "first_at", "last_at", "reason", "remark",
    "verdict_id",
)  # fmt: skip
# Spreadsheets take a cell that begins so for a formula.
_FORMULA = ("=", "+", "-", "@")


def document(comparison: Comparison) -> dict[str, Any]:
    """Return the comparison as JSON-able values."""
    found: dict[str, Any] = plain(comparison)
    return found


def as_json(comparison: Comparison) -> str:
    """Return the comparison as indented JSON with sorted keys."""
    return orjson.dumps(document(comparison), option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS).decode() + "\n"


def as_csv(comparison: Comparison) -> str:
    """Return one line per endpoint and measure; numbers in full, an empty cell for what was not measured."""
    to = io.StringIO()
    writer = csv.writer(to, lineterminator="\n")
    writer.writerow(COLUMNS)
    for model in comparison.models:
        for row in model.rows:
            writer.writerows(_lines(model, row))
    return to.getvalue()


def _lines(model: ModelComparison, row: Row) -> Iterator[list[Any]]:
    for measure in MEASURES:
        one, place = row.estimates[measure.name], row.places.get(measure.name)
        cells = (
            model.model, row.endpoint.name, row.status, ", ".join(row.causes), measure.name, measure.unit,
            measure.better, one.value, one.low, one.high, one.k, one.n,
            place.best if place else None, place.worst if place else None, place.of if place else None,
            one.threshold, one.top_k, _instant(one.first_at), _instant(one.last_at), one.reason,
            one.apart or one.remark, one.verdict_id,
        )  # fmt: skip
        yield [_safe(cell) for cell in cells]


def _instant(at: Any) -> str | None:
    return None if at is None else str(plain(at))


def _safe(cell: Any) -> Any:
    """Text in one line, with an apostrophe in front where a spreadsheet would take it for a formula."""
    if not isinstance(cell, str):
        return cell
    text = one_line(cell)
    return f"'{text}" if text.startswith(_FORMULA) else text
