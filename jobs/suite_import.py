"""``weighmaster suite validate`` and ``suite import``: what is in a file."""

from pathlib import Path
from typing import Any

import typer

from jobs.out_file import replace_file, require_writable
from jobs.settings import read_text
from jobs.suite_files import from_file, keep
from jobs.suite_store import SuiteStore
from jobs.terminal import show_document
from monitor.errors import ConfigError, UsageError
from monitor.plurals import plural
from monitor.suites.case import Suite
from monitor.suites.importers.catalogue import AUTO, imported
from monitor.suites.importers.imported import Imported
from monitor.suites.outcome import Terms, needs
from monitor.suites.reading import write_suite, write_yaml

OWN = "weighmaster"
"""The name of our own format."""
_YAML = (".yaml", ".yml")


def validate(path: Path, *, as_json: bool) -> int:
    """Look at a suite and say what is in it. Raises ConfigError with all mistakes; `as_json` shows them as well."""
    try:
        suite = from_file(path)
    except ConfigError as error:
        if as_json:
            show_document({"problems": [{"path": one.path, "message": one.message, "suggestion": one.suggestion}
                                        for one in error.problems]})  # fmt: skip
        raise
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
        When the format is not known, no case could be taken over, or `out` cannot be written.
    """
    if out is not None:
        require_writable(out)
    kind, found = _read(path, form, beside, name or path.stem)
    if not found.suite.cases and not found.suite.generated:
        if as_json:
            show_document(_document(kind, found))
        places = "".join(f"\n{line}" for line in _places(found)) if report else ""
        raise UsageError(f"{path}: no case could be imported: {_counted(found) or 'there is none'}{places}")
    if out is not None:
        written = write_yaml if out.suffix.lower() in _YAML else write_suite
        replace_file(out, written(found.suite).encode())
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
    if path.suffix.lower() in _YAML:
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
            typer.echo("\n".join(_places(found)))
        else:
            typer.echo("  --report-unsupported lists the places")


def _places(found: Imported) -> list[str]:
    return [f"  {one.where}: {one.what}" for one in found.unsupported]


def _counted(found: Imported) -> str:
    return "; ".join(f"{count} x {what}" for what, count in found.counts.items())


def _summary(suite: Suite) -> dict[str, Any]:
    generated = sum(one.n for one in suite.generated)
    answers = sum(one.repeats for one in suite.cases) + sum(one.n * one.repeats for one in suite.generated)
    return {
        "suite": suite.name, "hash": suite.mark, "cases": len(suite.cases), "generated": generated,
        "answers": answers, "needs": needs(len(suite.cases) + generated, Terms()),
        "python": sorted({entry for one in suite.cases for entry in one.entries}),
    }  # fmt: skip


def _words(summary: dict[str, Any]) -> str:
    wanted = f"; wants to run {', '.join(summary['python'])} (--allow-python)" if summary["python"] else ""
    n, fresh = summary["cases"], summary["generated"]
    held = [plural(n, "case")] * (n > 0) + [f"{plural(fresh, 'fresh case')} in each run"] * (fresh > 0)
    return (
        f"suite {summary['suite']} ({summary['hash']}), {' and '.join(held) or 'no case'}, "
        f"{plural(summary['answers'], 'answer')} a run{wanted}\n{summary['needs']}"
    )
