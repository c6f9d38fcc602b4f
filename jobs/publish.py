"""``weighmaster publish``: a public, read-only status page as files: a page, its data, and a badge per endpoint.

Addresses of endpoints, what they said, errors, places and ids stay inside.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
from rich.console import Console

from jobs.compare_page import status_page
from jobs.evidence_folder import prepare
from jobs.out_file import replace_file
from monitor.badge import badge
from monitor.codec import plain
from monitor.comparison import Comparison, Row
from monitor.comparison_rows import concluding
from monitor.errors import UsageError
from monitor.plurals import plural

SHOWN = ("kl", "flips", "availability", "tools", "ttft_ms", "tps")
"""Measures that the public sees."""


def write(comparison: Comparison, out: Path, *, title: str) -> None:
    """Write ``index.html``, ``status.json`` and ``badges/NAME.svg`` into `out`.

    Raises
    ------
    UsageError
        When the folder cannot be written, or two names give the same file.
    """
    console = Console(stderr=True, highlight=False)
    prepare(prepare(out) / "badges")
    rows = [row for model in comparison.models for row in model.rows]
    files = {"index.html": status_page(comparison, title=title, shown=SHOWN).encode(), "status.json": _json(comparison)}
    for row in rows:
        name = f"badges/{file_name(row.endpoint.name)}.svg"
        if name in files:
            raise UsageError(f"{row.endpoint.name}: another endpoint has the same badge {name}; rename one of them")
        files[name] = badge(row.endpoint.name, concluding(row.verdicts)).encode()
    for name, data in files.items():
        replace_file(out / name, data)
    badges = plural(len(rows), "badge")
    console.print(f"written: {out / 'index.html'}, status.json and {badges}", markup=False, soft_wrap=True)


def file_name(endpoint: str) -> str:
    """Name of the file of an endpoint's badge, without its suffix: ``acme/m`` is ``acme__m``."""
    return re.sub(r"[^\w.-]", "_", endpoint.replace("/", "__"), flags=re.ASCII).lstrip(".") or "_"


def _json(comparison: Comparison) -> bytes:
    models = [
        {"model": model.model, "endpoints": [_public(row) for row in model.rows]} for model in comparison.models
    ]
    document = {"first_at": comparison.first_at, "last_at": comparison.last_at, "models": models}
    return orjson.dumps(plain(document), option=orjson.OPT_INDENT_2) + b"\n"


def _public(row: Row) -> dict[str, Any]:
    return {
        "endpoint": row.endpoint.name, "precision": row.endpoint.precision, "status": row.status,
        "causes": row.causes, "since": row.since.first_bad_at if row.since else None,
        "measures": dict(_measures(row)),
        "incidents": [
            {"opened_at": one.opened_at, "closed_at": one.closed_at, "what": one.cause or one.detector}
            for one in row.incidents
        ],
    }  # fmt: skip


def _measures(row: Row) -> Iterator[tuple[str, dict[str, Any]]]:
    for name in SHOWN:
        one = row.estimates[name]
        if one.value is not None:
            yield name, {"value": one.value, "low": one.low, "high": one.high, "k": one.k, "n": one.n}
