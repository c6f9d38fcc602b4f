"""Alerts and silences on a terminal."""

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from jobs.alert_desk import Listed, Listing
from jobs.terminal import show, show_document
from monitor.alerting.message import clean, command
from monitor.alerting.nouns import Silence
from monitor.codec import plain


def show_alerts(found: Listing, *, as_json: bool) -> int:
    """Print incidents and what does not arrive; return the exit code: 1 when an incident is open."""
    if as_json:
        incidents = [{**plain(one), "command": command(one)} for one in found.incidents]
        troubled = [
            {key: value for key, value in plain(one).items() if key != "message"} for one in found.undelivered
        ]
        show_document({"incidents": incidents, "undelivered": troubled, "silences": plain(list(found.silences))})
    else:
        show(_incidents(found.incidents))
        if found.undelivered:
            show(_undelivered(found))
    return int(any(one.closed_at is None for one in found.incidents))


def _incidents(incidents: Sequence[Listed]) -> Table:
    table = Table(title=None if incidents else "no incident")
    for name in ("id", "state", "endpoint", "cause", "since", "evidence"):
        table.add_column(name, overflow="fold")
    for one in incidents:
        table.add_row(*(Text(cell) for cell in _cells(one)))
    return table


def _cells(one: Listed) -> tuple[str, ...]:
    since = f"{one.opened_at:%Y-%m-%d %H:%M}" + ("" if one.closed_at is None else f" to {one.closed_at:%m-%d %H:%M}")
    cause = clean(", ".join(one.causes) or one.cause or "")
    return one.incident_id, _state(one), clean(one.endpoint), cause, since, clean(one.reason, 160)


def _state(one: Listed) -> str:
    if one.closed_at is not None:
        return "resolved"
    if one.muted:
        return f"open, {clean(one.muted)}"
    if one.ack is not None:
        return f"open, {clean(one.ack.by)} knows"
    return "open" if one.announced_at else "open, not told yet"


def _undelivered(found: Listing) -> Table:
    table = Table(title="messages that do not arrive")
    for name in ("route", "since", "attempts", "why", "next"):
        table.add_column(name, overflow="fold")
    for one in found.undelivered:
        following = "given up" if one.given_up_at else f"{one.next_at:%m-%d %H:%M}"
        cells = (one.route, f"{one.created_at:%m-%d %H:%M}", str(one.attempts), clean(one.error or ""), following)
        table.add_row(*(Text(cell) for cell in cells))
    return table


def show_silences(silences: Sequence[Silence], *, as_json: bool) -> None:
    """Print silences in force."""
    if as_json:
        show_document({"silences": plain(list(silences))})
        return
    table = Table(title=None if silences else "no silence in force")
    for name in ("id", "match", "topic", "until", "by", "reason"):
        table.add_column(name, overflow="fold")
    for one in silences:
        until = f"{one.until:%Y-%m-%d %H:%M}"
        cells = (one.silence_id, one.match, one.topic or "all", until, clean(one.by), clean(one.reason))
        table.add_row(*(Text(cell) for cell in cells))
    show(table)
