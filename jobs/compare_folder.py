"""Evidence that commands kept in folders, as the facts of a comparison."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from fnmatch import fnmatchcase
from pathlib import Path

from jobs import evidence_folder
from jobs.evidence_folder import Kept
from monitor.comparison_facts import Facts
from monitor.comparison_gather import Measured, gathered, within
from monitor.errors import UsageError
from monitor.results import GoldenView


def facts_of_folders(
    folders: Sequence[Path], *, patterns: Sequence[str] = (), span: timedelta | None = None
) -> tuple[Facts, ...]:
    """Facts of all endpoints in `folders` that match; several folders may hold parts of one endpoint's evidence.

    `span` counts back from the newest run in them.

    Raises
    ------
    UsageError
        When a folder holds no evidence, or it cannot be read.
    """
    known: dict[str, Measured] = {}
    for kept in (one for folder in folders for one in evidence_folder.read(folder)):
        name = kept.probed.endpoint.name
        if not patterns or any(fnmatchcase(name, pattern) for pattern in patterns):
            known[name] = _joined([*([known[name]] if name in known else []), _measured(kept)])
    since = _start(known.values(), span)
    return tuple(gathered(within(known[name], since)) for name in sorted(known))


def _measured(kept: Kept) -> Measured:
    return Measured(
        endpoint=kept.probed.endpoint, records=kept.probed.records, verdicts=kept.verdicts,
        views=_views(kept.place / evidence_folder.VIEWS),
    )  # fmt: skip


def _views(path: Path) -> dict[str, GoldenView]:
    try:
        return evidence_folder.views_in(path)
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: evidence that cannot be read: {error}; probe again, or leave it out") from None


def _joined(parts: Sequence[Measured]) -> Measured:
    """All of one endpoint; what the newest part declares holds."""
    newest = max(parts, key=lambda one: max((record.run.started_at for record in one.records), default=_NEVER))
    records = {record.run.run_id: record for one in parts for record in one.records}
    verdicts = {told.verdict_id: told for one in parts for told in one.verdicts}
    return Measured(
        endpoint=newest.endpoint, records=tuple(records.values()), verdicts=tuple(verdicts.values()),
        views={key: view for one in parts for key, view in one.views.items()},
    )  # fmt: skip


_NEVER = datetime.fromisoformat("1970-01-01T00:00:00Z")


def _start(known: Iterable[Measured], span: timedelta | None) -> datetime | None:
    if span is None:
        return None
    last = max((record.run.started_at for one in known for record in one.records), default=None)
    return None if last is None else last - span
