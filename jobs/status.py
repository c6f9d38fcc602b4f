"""``weighmaster status``: the newest verdicts that the store has, on a terminal."""

import asyncio
from typing import Any

from rich.table import Table

from jobs.probe_now import exit_code
from jobs.store_client import StoreClient
from jobs.terminal import show, show_json
from jobs.verdict_table import SYMBOLS
from monitor.codec import decode, encode
from monitor.results import Verdict
from monitor.summary import summarise


def run(url: str, token: str | None, *, as_json: bool) -> int:
    """Print one row per endpoint; return the exit code of the worst."""
    rows = asyncio.run(_rows(url, token))
    if as_json:
        show_json(rows)
    else:
        show(_table(rows))
    return exit_code([row["status"] for row in rows])


async def _rows(url: str, token: str | None) -> list[dict[str, Any]]:
    client = StoreClient(url, token=token)
    try:
        overview = await client.overview()
    finally:
        await client.aclose()
    return [_row(one) for one in overview["endpoints"]]


def _row(one: dict[str, Any]) -> dict[str, Any]:
    summary = summarise([decode(Verdict, encode(verdict)) for verdict in one["verdicts"]])
    return {
        "endpoint": one["endpoint"], "status": summary.status, "cause": ", ".join(summary.causes) or None,
        "reason": summary.reason, "last_run_at": one["last_run_at"], "open_incidents": len(one["incidents"]),
    }  # fmt: skip


def _table(rows: list[dict[str, Any]]) -> Table:
    table = Table()
    for name in ("endpoint", "verdict", "cause", "last run", "open incidents"):
        table.add_column(name)
    for row in rows:
        symbol, colour = SYMBOLS[row["status"]]
        verdict = f"[{colour}]{symbol} {row['status']}[/{colour}]"
        last = row["last_run_at"] or "never"
        table.add_row(row["endpoint"], verdict, row["cause"] or "", last, str(row["open_incidents"]))
    return table
