"""How an identification is shown: one row per endpoint, for people and as JSON."""

from collections.abc import Sequence
from typing import Any

from rich.table import Table

from jobs.verdict_table import SYMBOLS
from monitor.codec import plain
from monitor.identified_parts import told_parts
from monitor.results import Verdict
from monitor.stats.posterior import posterior_text

_SHOWN = 3


def identified_row(verdict: Verdict) -> dict[str, Any]:
    """All that was found; None where nothing could be compared."""
    details = verdict.details
    return {
        "endpoint": verdict.endpoint, "status": verdict.status, "cause": verdict.cause, "reason": verdict.reason,
        "schemes": details.get("schemes", []), "families": details.get("families", {}),
        "parts": details.get("parts", []),
        "share": details.get("share"), "share_low": details.get("share_low"), "share_high": details.get("share_high"),
        "residual_nats": details.get("residual_nats"), "prompts": details.get("n_prompts", 0),
        "verdict": plain(verdict),
    }  # fmt: skip


def identified_table(rows: Sequence[dict[str, Any]]) -> Table:
    """Render `rows`; a dash stands for what is not known."""
    shown = Table(title="Weighmaster: what is being served?", title_justify="left")
    for name in ("endpoint", "prompts", "posterior", "share", "residual, nats", "verdict", "cause"):
        shown.add_column(name)
    for one in rows:
        symbol, colour = SYMBOLS[one["status"]]
        schemes = [f"{each['name']} {posterior_text(each['posterior'])}" for each in one["schemes"][:_SHOWN]]
        # None where it deviates as a whole: the interval of one part says only how few requests there were.
        parts = told_parts(one)
        share = "\n".join(f"{part.share:.0%} ({part.range}) {part.label}" for part in parts) or "–"
        # Of two parts, what the nearest alone leaves says nothing.
        residual = "–" if one["residual_nats"] is None or parts else f"{one['residual_nats']:.2g}"
        shown.add_row(
            one["endpoint"], str(one["prompts"]), ", ".join(schemes) or "–", share, residual,
            f"[{colour}]{symbol} {one['status']}[/{colour}]", one["cause"] or "",
        )  # fmt: skip
    return shown
