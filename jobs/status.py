"""``weighmaster status``: the newest verdicts that the store has, and what became of the slots, on a terminal."""

import asyncio
from collections import Counter
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from rich.table import Table

from jobs.endpoints_now import exit_code
from jobs.store_client import SOON_S, StoreClient, client_for
from jobs.terminal import show, show_json
from jobs.verdict_table import SYMBOLS
from monitor.budget import Budget, priced
from monitor.codec import decode, encode, plain
from monitor.config_types import Config
from monitor.errors import StoreError
from monitor.ports import Clock
from monitor.results import Verdict
from monitor.summary import summarise

SLOTS_OF = timedelta(days=1)


def run(config: Config, url: str, clock: Clock, *, as_json: bool) -> int:
    """Print one row per endpoint; return the exit code of the worst."""
    rows = asyncio.run(status_rows(config, client_for(config.store, url, answer_s=SOON_S), clock.now()))
    if as_json:
        show_json(rows)
    else:
        show(_table(rows))
    return exit_code([row["status"] for row in rows])


async def status_rows(config: Config, client: StoreClient, now: datetime) -> list[dict[str, Any]]:
    """Return what the store knows of each endpoint; `client` is closed.

    Slots are those of the last 24 hours, tokens and money those of the UTC day so far, as endpoints counted them.
    """
    try:
        endpoints = (await client.overview())["endpoints"]
        slots = (await client.coverage(now - SLOTS_OF))["slots"]
        spent = (await client.coverage(now.replace(hour=0, minute=0, second=0, microsecond=0)))["spent"]
    except (KeyError, TypeError):
        raise StoreError("what answers there is no store of Weighmaster; see store.listen and --store-url") from None
    finally:
        await client.aclose()
    used = {one["endpoint"]: one for one in spent}
    return [
        _verdicts(one) | _slots(one["endpoint"], slots) | _spent(config, one["endpoint"], used.get(one["endpoint"]))
        for one in endpoints
    ]


def _verdicts(one: dict[str, Any]) -> dict[str, Any]:
    summary = summarise([decode(Verdict, encode(verdict)) for verdict in one["verdicts"]])
    return {
        "endpoint": one["endpoint"], "status": summary.status, "cause": ", ".join(summary.causes) or None,
        "reason": summary.reason, "last_run_at": one["last_run_at"], "open_incidents": len(one["incidents"]),
    }  # fmt: skip


def _slots(endpoint: str, slots: Iterable[dict[str, Any]]) -> dict[str, Any]:
    states: Counter[str] = Counter()
    skipped: Counter[str] = Counter()
    for one in slots:
        if one["endpoint"] == endpoint:
            states[one["state"]] += one["n"]
            skipped[one["reason"] or "no reason"] += one["n"] if one["state"] == "skipped" else 0
    return {"slots": dict(states), "skipped": {reason: n for reason, n in skipped.items() if n}}


def _spent(config: Config, endpoint: str, used: dict[str, Any] | None) -> dict[str, Any]:
    entry = next((one for one in config.endpoints if one.endpoint.name == endpoint), None)
    budget = entry.budget if entry is not None else Budget()
    tokens = (used["tokens_in"], used["tokens_out"]) if used is not None else (0, 0)
    usd = priced(entry.endpoint, *tokens).usd if entry is not None else None
    return {
        "tokens_today": sum(tokens), "usd_today": usd, "budget": plain(budget) if budget else None,
        "uncounted_today": used["n_uncounted"] if used is not None else 0,
    }  # fmt: skip


def _table(rows: list[dict[str, Any]]) -> Table:
    table = Table()
    for name in ("endpoint", "verdict", "cause", "last run", "open incidents", "slots of 24 h", "tokens today"):
        table.add_column(name, overflow="fold")
    for row in rows:
        symbol, colour = SYMBOLS[row["status"]]
        verdict = f"[{colour}]{symbol} {row['status']}[/{colour}]"
        last = row["last_run_at"] or "never"
        table.add_row(
            row["endpoint"], verdict, row["cause"] or "", last, str(row["open_incidents"]), slots_text(row),
            spent_text(row),
        )  # fmt: skip
    return table


def slots_text(row: dict[str, Any]) -> str:
    """Return such as ``22 done, 2 skipped (over budget 2)``."""
    why = ", ".join(f"{reason} {n}" for reason, n in sorted(row["skipped"].items()))
    parts = [
        f"{row['slots'][state]} {state}" + (f" ({why})" if state == "skipped" else "")
        for state in ("done", "skipped", "overlapped", "missed")
        if state in row["slots"]
    ]
    return ", ".join(parts) or "none"


def spent_text(row: dict[str, Any]) -> str:
    """Return such as ``12,300 of 50,000; 0.12 of 1 USD``; what nobody counted is told too."""
    budget = row["budget"] or {"tokens": None, "usd": None}
    text = f"{row['tokens_today']:,}" + (f" of {budget['tokens']:,}" if budget["tokens"] else "")
    if budget["usd"]:
        usd = "unknown" if row["usd_today"] is None else f"{row['usd_today']:.3g}"
        text += f"; {usd} of {budget['usd']:.3g} USD"
    return text + (f" + {row['uncounted_today']} uncounted answers" if row["uncounted_today"] else "")
