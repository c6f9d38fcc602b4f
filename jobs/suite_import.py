"""``weighmaster suite validate`` and ``suite import``: what is in a file."""

from pathlib import Path
from typing import Any

import typer

from jobs.out_file import replace_file
from jobs.settings import read_text
from jobs.suite_files import from_file, keep
from jobs.suite_store import SuiteStore
from jobs.terminal import show_document
from monitor.errors import UsageError
from monitor.suites.case import Suite
from monitor.suites.importers.catalogue import AUTO, imported
from monitor.suites.importers.imported import Imported
from monitor.suites.reading import write_suite

OWN = "weighmaster"
"""The name of our own format."""


def validate(path: Path, *, as_json: bool) -> int:
    """Look at a suite and say what is in it. Raises ConfigError with all mistakes."""
    suite = from_file(path)
    document = _summary(suite)
    if as_json:
        show_document(document)
    else:
        typer.echo(f"{path}: fine; {_words(document)}")
    return 0


def take(
    path: Path, *, form: str, beside: Path | None, name: str | None, report: bool, out: Path | None,
    store: SuiteStore | None, as_json: bool,
) -> int:  # fmt: skip
    """Take a suite over from `path`, into a file, a customer's store, or both; tell what was left out.

    Raises
    ------
    UsageError
        When the format is not known, or no case could be taken over.
    """
    kind, found = _read(path, form, beside, name or path.stem)
    if not found.suite.cases and not found.suite.generated:
        raise UsageError(f"{path}: no case could be imported: {_counted(found) or 'there is none'}")
    if out is not None:
        replace_file(out, write_suite(found.suite).encode())
    if store is not None:
        keep(store, found.suite)
    if as_json:
        show_document(_document(kind, found))
    else:
        _tell(path, kind, found, report=report)
    return 0


def _read(path: Path, form: str, beside: Path | None, name: str) -> tuple[str, Imported]:
    text = read_text(path, remedy="give the file to import")
    if form == OWN or (form == AUTO and _is_own(text, path)):
        suite = from_file(path)
        return OWN, Imported(suite=suite, unsupported=(), notes=())
    other = read_text(beside, remedy="give the second file of this format") if beside is not None else None
    try:
        return imported(text, name, form=form, beside=other)
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from None


def _is_own(text: str, path: Path) -> bool:
    """Whether the file has our own words: oracles of a kind, or generated cases."""
    if path.suffix.lower() in {".yaml", ".yml"}:
        return "\ncases:" in f"\n{text}" or "\ngenerated:" in f"\n{text}"
    return '"oracles"' in text.partition("\n")[0] or text.startswith(('{"suite"', '{"generated"'))


def _document(kind: str, found: Imported) -> dict[str, Any]:
    left = [{"where": one.where, "what": one.what} for one in found.unsupported]
    return {
        "format": kind, **_summary(found.suite), "unsupported": found.counts, "unsupported_at": left,
        "notes": list(found.notes),
    }  # fmt: skip


def _tell(path: Path, kind: str, found: Imported, *, report: bool) -> None:
    typer.echo(f"{path}: format {kind}; {_words(_summary(found.suite))}")
    for note in found.notes:
        typer.echo(f"note: {note}")
    if found.unsupported:
        typer.echo(f"not imported: {_counted(found)}")
        if report:
            for one in found.unsupported:
                typer.echo(f"  {one.where}: {one.what}")
        else:
            typer.echo("  --report-unsupported lists the places")


def _counted(found: Imported) -> str:
    return "; ".join(f"{count} x {what}" for what, count in found.counts.items())


def _summary(suite: Suite) -> dict[str, Any]:
    generated = sum(one.n for one in suite.generated)
    answers = sum(one.repeats for one in suite.cases) + sum(one.n * one.repeats for one in suite.generated)
    return {
        "suite": suite.name, "hash": suite.mark, "cases": len(suite.cases), "generated": generated,
        "answers": answers, "python": sorted({entry for one in suite.cases for entry in one.entries}),
    }  # fmt: skip


def _words(summary: dict[str, Any]) -> str:
    wanted = f"; wants to run {', '.join(summary['python'])} (--allow-python)" if summary["python"] else ""
    return (
        f"suite {summary['suite']} ({summary['hash']}), {summary['cases']} cases and {summary['generated']} generated "
        f"in each run, {summary['answers']} answers a run{wanted}"
    )
