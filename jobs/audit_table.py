"""The table of an audit: one row per endpoint, for people and as JSON."""

from collections.abc import Sequence
from typing import Any

from rich.table import Table

from jobs.audit import Audited
from jobs.verdict_table import SYMBOLS
from monitor.codec import plain


def audit_row(audited: Audited) -> dict[str, Any]:
    """All that is told of one audit; None where not measured."""
    verdict = audited.verdict
    told = ("level", "blind_to", "n_requests", "tokens_in", "tokens_out", "usd", "measured", "path")
    return {
        "endpoint": verdict.endpoint, "status": verdict.status, "cause": verdict.cause, "reason": verdict.reason,
        "log_e": verdict.effect, "log_e_needed": verdict.threshold, "mde": verdict.mde, "band": verdict.band,
        **{name: verdict.details[name] for name in told},
        "verdict": plain(verdict), "verdicts": [plain(one) for one in audited.rounds[-1].verdicts],
    }  # fmt: skip


def audit_table(rows: Sequence[dict[str, Any]]) -> Table:
    """Render `rows`; a dash stands for what was not measured."""
    shown = Table(title="Weighmaster: is it faithful to the golden model?", title_justify="left")
    for name in ("endpoint", "seen", "verdict", "cause", "measured", "evidence", "requests", "tokens in+out", "USD"):
        shown.add_column(name, justify="right" if name in {"evidence", "requests", "tokens in+out", "USD"} else "left")
    for row in rows:
        symbol, colour = SYMBOLS[row["status"]]
        shown.add_row(
            row["endpoint"], str(row["level"] or "–").replace("_", " "),
            f"[{colour}]{symbol} {row['status']}[/{colour}]",
            row["cause"] or "", _measured(row["measured"]), _evidence(row),
            str(row["n_requests"]), f"{row['tokens_in']}+{row['tokens_out']}",
            "–" if row["usd"] is None else f"{row['usd']:.4f}",
        )  # fmt: skip
    return shown


def _measured(one: dict[str, Any] | None) -> str:
    if one is None or one["value"] is None:
        return "–"
    ends = ["–" if one[end] is None else f"{one[end]:.2g}" for end in ("low", "high")]
    interval = "" if one["low"] is None else f" [{ends[0]}, {ends[1]}]"
    return f"{one['metric']} {one['value']:.2g}{interval}"


def _evidence(row: dict[str, Any]) -> str:
    return "–" if row["log_e"] is None else f"{row['log_e']:.1f} of {row['log_e_needed']:.1f} nats"
