"""How a run of a suite is shown: on the terminal, as JSON, JUnit XML and Markdown. Private cases have no names here."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from jobs.out_file import replace_file, require_writable
from jobs.suite_ci import junit, markdown
from jobs.suite_shown import Line, Shown, facts, group_words
from jobs.terminal import show, show_document
from jobs.verdict_table import SYMBOLS
from monitor.codec import plain


def document(result: Shown) -> dict[str, Any]:
    """Return all numbers of a run: what ``--json`` prints."""
    return {
        "suite": result.suite, "hash": result.mark, "endpoint": result.endpoint, "run": result.run,
        "started_at": result.started_at, "reference": result.reference, **plain(result.outcome),
        "groups": [plain(one) for one in result.groups], "cases": [plain(line) for line in result.lines],
    }  # fmt: skip


def show_result(result: Shown, *, as_json: bool) -> None:
    """Print a run on standard output."""
    if as_json:
        show_document(document(result))
    else:
        tables = [_facts(result), _groups(result), _wrong(result)]
        show(Group(*(one for one in tables if one.row_count)))


def require_files(*paths: Path | None) -> None:
    """Refuse places where no report can be written, before anything is asked."""
    for path in paths:
        if path is not None:
            require_writable(path)


def write_files(result: Shown, junit_at: Path | None, markdown_at: Path | None) -> None:
    """Write the reports for a CI."""
    for path, made in ((junit_at, junit), (markdown_at, markdown)):
        if path is not None:
            replace_file(path, made(result).encode())


def show_runs(found: list[Shown], *, as_json: bool) -> None:
    """Print a list of runs, oldest first."""
    rows = [_run_row(one) for one in found]
    if as_json:
        show_document({"runs": rows})
        return
    table = Table("run", "started", "suite", "endpoint", "right", "against golden", "verdict", "cause")
    for row in rows:
        table.add_row(*(str(row[key]) for key in ("run", "started_at", "suite", "endpoint", "right", "difference",
                                                  "status", "cause")))  # fmt: skip
    show(table)


def _run_row(one: Shown) -> Mapping[str, Any]:
    said = dict(facts(one))
    return {
        "run": one.run[:8], "started_at": one.started_at[:19], "suite": f"{one.suite} {one.mark}",
        "endpoint": one.endpoint, "right": said["cases right"], "difference": said["against golden"],
        "status": one.outcome.status, "cause": one.outcome.cause or "",
    }  # fmt: skip


def _facts(result: Shown) -> Table:
    symbol, colour = SYMBOLS[result.outcome.status]
    table = Table(title=f"Suite {result.suite} ({result.mark}) on {result.endpoint}", title_justify="left")
    table.add_column("what")
    table.add_column("value")
    for name, value in facts(result):
        table.add_row(name, Text(value))
    table.add_row("verdict", Text(f"{symbol} {result.outcome.status}: {result.outcome.reason}", style=colour))
    return table


def _groups(result: Shown) -> Table:
    table = Table("tag or family", "cases", "right", "golden", "against golden", title_justify="left")
    for one in result.groups:
        table.add_row(*map(_safe, group_words(one)))
    return table


def _wrong(result: Shown) -> Table:
    """The cases with a wrong answer, those first that golden answers rightly."""
    table = Table("case", "right", "golden", "why", title_justify="left")
    for line in sorted(_missed(result), key=lambda one: (not one.lost, one.name)):
        golden = "–" if line.golden_n is None else f"{line.golden_k}/{line.golden_n}"
        table.add_row(_safe(line.name), f"{line.k}/{line.n}", golden, _safe(", ".join(line.why)))
        for text in line.texts:
            table.add_row("", "", "", _safe(text))
    return table


def _missed(result: Shown) -> list[Line]:
    return [one for one in result.lines if one.k < one.n or not one.n]


def _safe(text: str) -> Text:
    """Text for a terminal: words of models may hold what moves its cursor or writes to its clipboard."""
    return Text("".join(char if char.isprintable() or char == "\n" else "?" for char in text))
