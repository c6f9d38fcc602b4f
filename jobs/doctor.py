"""``weighmaster doctor``: what would keep the service from working here, each with its remedy. Nothing is changed."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from jobs.terminal import show, show_document
from monitor.codec import plain

Status = Literal["ok", "warning", "failed", "unknown"]
_COLOURS: dict[Status, str] = {"ok": "green", "warning": "yellow", "failed": "red", "unknown": "yellow"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What one check saw of one subject. ``unknown`` is what could not be looked at; ``remedy`` says what to do."""

    check: str
    subject: str
    status: Status
    seen: str
    remedy: str | None = None


Check = Callable[[], Iterable[Finding]]
"""Looks at one thing. Raises nothing but our bugs."""


def run(checks: Sequence[Check], *, as_json: bool) -> int:
    """Print what all `checks` find; return 1 when one failed, else 0."""
    found = [finding for check in checks for finding in check()]
    if as_json:
        show_document({"ok": not _failed(found), "checks": plain(found)})
    else:
        show(_table(found))
    return 1 if _failed(found) else 0


def _failed(found: Iterable[Finding]) -> bool:
    return any(one.status == "failed" for one in found)


def _table(found: Sequence[Finding]) -> Any:
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = Table()
    for name in ("check", "of", "", "seen", "remedy"):
        table.add_column(name, overflow="fold")
    for one in found:
        status = Text(one.status, style=_COLOURS[one.status])
        table.add_row(one.check, Text(one.subject), status, Text(one.seen), Text(one.remedy or ""))
    return table
