"""How results reach a person or a pipe."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson
from rich.console import Console, RenderableType

from jobs.verdict_table import matrix, reasons, table

PIPE_COLUMNS = 160
"""Width where there is no terminal and COLUMNS is not set: wide enough for the verdict table."""


def show(renderable: RenderableType) -> None:
    """Print to standard output, as wide as the terminal (or COLUMNS) says."""
    known = Console().is_terminal or "COLUMNS" in os.environ
    Console(width=None if known else PIPE_COLUMNS).print(renderable)


def show_json(rows: Sequence[dict[str, Any]]) -> None:
    """Print `rows` as the one document that ``--json`` promises."""
    show_document({"endpoints": rows})


def show_document(document: Mapping[str, Any]) -> None:
    """Print the one document that ``--json`` promises."""
    print(orjson.dumps(document).decode())  # noqa: T201  # the only place that prints results


def show_verdicts(rows: Sequence[dict[str, Any]], evidence: Path, *, as_json: bool) -> None:
    """Print the verdict table on standard output, reasons and the place of the evidence on standard error."""
    if as_json:
        show_json(rows)
        return
    show(table(rows))
    console = Console(stderr=True, highlight=False)
    for one in rows:
        for line in (*reasons(one), *matrix(one)):
            console.print(f"{one['endpoint']}: {line}", markup=False, soft_wrap=True)
    console.print(f"evidence: {evidence}", markup=False, soft_wrap=True)
