"""``weighmaster compare``: endpoints of a model side by side, as a report in five forms."""

import asyncio
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal

from rich.console import Console

from jobs.compare_folder import facts_of_folders
from jobs.compare_ladder import ladders_of
from jobs.endpoints_now import exit_code
from jobs.evidence_folder import prepare
from jobs.out_file import replace_file
from jobs.store_client import StoreClient, client_for
from jobs.terminal import show
from monitor.comparison import Comparison
from monitor.comparison_facts import Facts
from monitor.comparison_figures import stamp
from monitor.comparison_public import public_facts
from monitor.comparison_rows import compare
from monitor.config_types import Config
from monitor.errors import StoreError, UsageError

Form = Literal["text", "html", "md", "json", "csv"]
FILES: tuple[Form, ...] = ("html", "md", "json", "csv")
"""What is written into a folder."""
NAME = "comparison"
_DATABASE = "weighmaster.duckdb"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is compared: endpoints by name or pattern (all without any), and how far back from the newest run."""

    patterns: tuple[str, ...]
    span: timedelta | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    facts: tuple[Facts, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _LastRun:
    started_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class _LastRuns:
    runs: tuple[_LastRun, ...]


def run(
    config: Config | None, wanted: Wanted, sources: Sequence[Path], *, store_url: str | None, form: Form,
    out: Path | None,
) -> int:  # fmt: skip
    """Compare, print the report in one form, write all others into `out`; return the exit code of the worst.

    Facts come from `sources` (folders of evidence, or one snapshot of a store), else from the store.

    Raises
    ------
    UsageError
        When a source or a name does not exist, or nothing can be written.
    StoreError
        When the store does not answer.
    """
    if out is not None:
        prepare(out)
    found = compared(config, wanted, sources, store_url=store_url)
    if out is not None:
        _write(found, out)
    _print(found, form)
    statuses = [row.status for model in found.models for row in model.rows]
    return exit_code(statuses) if statuses else 3


def compared(
    config: Config | None, wanted: Wanted, sources: Sequence[Path], *, store_url: str | None, public: bool = False
) -> Comparison:
    """The comparison of what is wanted, out of `sources` or the store, all or what the public may see of it.

    Raises as `run` does.
    """
    facts, source = _facts(config, wanted, sources, store_url)
    facts = tuple(map(public_facts, facts)) if public else facts
    _check_names(wanted, facts)
    return compare(facts, ladders=ladders_of(config) if config else None, source=source)


def _facts(
    config: Config | None, wanted: Wanted, sources: Sequence[Path], store_url: str | None
) -> tuple[tuple[Facts, ...], str]:
    snapshots = [path for path in sources if (path / _DATABASE).exists()]
    if snapshots and len(sources) > 1:
        raise UsageError("--from takes one snapshot of a store, or folders of evidence, not both")
    if snapshots:
        return _of_snapshot(snapshots[0], wanted), f"from the snapshot of {_taken(snapshots[0])}"
    if sources:
        missing = [str(path) for path in sources if not path.is_dir()]
        if missing:
            raise UsageError(f"{', '.join(missing)}: no such folder; --from takes what --out named, or a snapshot")
        return facts_of_folders(sources, patterns=wanted.patterns, span=wanted.span), "from folders of evidence"
    assert config is not None  # noqa: S101  # the command loads it when no source is named
    client = client_for(config.store, store_url or config.store.url)
    try:
        return asyncio.run(facts_of_store(client, wanted)), "from the store"
    except StoreError as error:
        raise StoreError(f"{error} Without a store: --from FOLDER, what `probe` or `audit` kept.") from None


def _taken(snapshot: Path) -> str:
    """When a snapshot was taken, as its name tells (``20261130T110207Z-asked``); any other name as it is."""
    name = snapshot.resolve().name
    try:
        return stamp(datetime.strptime(name.partition("-")[0], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC))
    except ValueError:
        return name


def _of_snapshot(snapshot: Path, wanted: Wanted) -> tuple[Facts, ...]:
    from storage.comparison_reads import facts_of_snapshot, last_run_in  # noqa: PLC0415  # duckdb only for snapshots

    last = last_run_in(snapshot) if wanted.span is not None else None
    since = last - wanted.span if last is not None and wanted.span is not None else None
    return facts_of_snapshot(snapshot, patterns=wanted.patterns, since=since)


async def facts_of_store(client: StoreClient, wanted: Wanted) -> tuple[Facts, ...]:
    """Facts over the store's API; `client` is closed. The window ends with the newest run, whatever the clock says."""
    try:
        last = await client.read(_LastRuns, "last-runs")
        newest = max((one.started_at for one in last.runs), default=None)
        since = newest - wanted.span if newest is not None and wanted.span is not None else None
        match = ",".join(wanted.patterns) or None
        found = await client.read(
            _Answer, "comparison", match=match, since=None if since is None else since.isoformat()
        )
    finally:
        await client.aclose()
    return found.facts


def _check_names(wanted: Wanted, facts: Sequence[Facts]) -> None:
    names = [one.endpoint.name for one in facts]
    unmatched = [one for one in wanted.patterns if not any(fnmatchcase(name, one) for name in names)]
    if unmatched:
        known = ", ".join(names) or "none of these"
        raise UsageError(f"no endpoint is called {', '.join(unmatched)} there; found: {known}")


def _text_of(found: Comparison, form: Form) -> str:
    from jobs import compare_documents, compare_page  # noqa: PLC0415  # jinja2 only for reports

    made = {
        "html": compare_page.html, "md": compare_page.markdown, "json": compare_documents.as_json,
        "csv": compare_documents.as_csv,
    }  # fmt: skip
    return made[form](found)


def _write(found: Comparison, out: Path) -> None:
    console = Console(stderr=True, highlight=False)
    for form in FILES:
        path = out / f"{NAME}.{form}"
        replace_file(path, _text_of(found, form).encode())
        console.print(f"written: {path}", markup=False, soft_wrap=True)


def _print(found: Comparison, form: Form) -> None:
    if form == "text":
        from jobs.compare_text import view  # noqa: PLC0415

        show(view(found))
    else:
        sys.stdout.write(_text_of(found, form))
