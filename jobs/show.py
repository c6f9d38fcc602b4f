"""``weighmaster show VERDICT``: one verdict with all that it says, and the command that computes it again."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson
from rich.table import Table
from rich.text import Text

from jobs import evidence_folder
from jobs.endpoints_now import exit_code
from jobs.store_client import SOON_S, StoreClient, client_for
from jobs.terminal import show as print_view
from jobs.terminal import show_document
from jobs.verdict_table import SYMBOLS
from monitor.codec import plain
from monitor.comparison_figures import one_line, stamp
from monitor.comparison_verdicts import effect, threshold
from monitor.config_types import Config
from monitor.errors import StoreError, UsageError
from monitor.replay_command import replay_command
from monitor.results import Verdict

_NEWEST = 1000
_MOST_CHARACTERS = 300


def run(config: Config | None, verdict_id: str, source: Path | None, *, store_url: str | None, as_json: bool) -> int:
    """Print the verdict whose id begins with `verdict_id`; return the exit code of its status.

    It is looked for in the folder of evidence `source`, else in the store.

    Raises
    ------
    UsageError
        When there is none, or there are several.
    StoreError
        When the store does not answer.
    """
    told = _only(verdict_id, _kept(source)) if source is not None else _asked(config, verdict_id, store_url)
    again = replay_command(told.detector, told.endpoint, told.verdict_id if source is None else str(source))
    if as_json:
        show_document({"verdict": plain(told), "replay": again})
    else:
        print_view(view(told, again))
    return exit_code([told.status])


def _kept(source: Path) -> list[Verdict]:
    return [told for kept in evidence_folder.read(source) for told in kept.verdicts]


def _asked(config: Config | None, verdict_id: str, store_url: str | None) -> Verdict:
    assert config is not None  # noqa: S101  # the command loads it when no folder is named
    store = client_for(config.store, store_url or config.store.url, answer_s=SOON_S)
    return asyncio.run(in_store(store, verdict_id))


async def in_store(client: StoreClient, verdict_id: str) -> Verdict:
    """The verdict of the store whose id begins so: among the newest 1000, or any by its whole id. Closes `client`."""
    try:
        newest = await client.verdicts(limit=_NEWEST)
        if any(one.verdict_id.startswith(verdict_id) for one in newest):
            return _only(verdict_id, newest)
        # The store has just answered, so a refusal now means that there is no such verdict.
        try:
            return await client.read(Verdict, "verdict", id=verdict_id)
        except StoreError:
            return _only(verdict_id, newest)
    finally:
        await client.aclose()


def _only(verdict_id: str, known: Sequence[Verdict]) -> Verdict:
    found = [one for one in known if one.verdict_id.startswith(verdict_id)]
    if len(found) == 1:
        return found[0]
    if not found:
        raise UsageError(f"no verdict {verdict_id[:80]!r} there; `weighmaster compare --format md` lists their ids")
    raise UsageError(f"{len(found)} verdicts begin with {verdict_id[:80]!r}: give more of the id")


def view(told: Verdict, again: str) -> Table:
    """Return what is printed: one line per thing."""
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, text in _lines(told, again):
        table.add_row(name, text if isinstance(text, Text) else Text(one_line(text)))
    return table


def _lines(told: Verdict, again: str) -> Iterator[tuple[str, str | Text]]:
    symbol, colour = SYMBOLS[told.status]
    cause = f" ({one_line(told.cause)})" if told.cause else ""
    yield "verdict", told.verdict_id
    yield "endpoint", told.endpoint
    yield "status", Text(f"{symbol} {told.status}{cause}", colour)
    yield "detector", f"{told.detector} {told.detector_version}"
    yield "at", stamp(told.at)
    yield "reason", told.reason
    yield told.statistic, effect(told)
    yield "n", f"{told.n:,}"
    yield "threshold", threshold(told)
    named = {"smallest seen": told.mde, "p": told.p_value, "e": told.e_value}
    yield from ((name, f"{number:.3g}") for name, number in named.items() if number is not None)
    if told.band:
        yield "band", told.band
    yield "golden", told.fingerprint or "none"
    yield "runs", ", ".join(told.run_ids) or "none"
    yield from _details(told.details)
    yield "again", again


def _details(details: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in plain(dict(details)).items():
        text = value if isinstance(value, str) else orjson.dumps(value).decode()
        if len(text) > _MOST_CHARACTERS:
            text = f"{text[:_MOST_CHARACTERS]} … (cut here; {len(text):,} characters; --json has all)"
        yield name, text
