"""The verdict table: one row per endpoint, for people and as JSON."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal

from rich.table import Table

from jobs.pipeline import Judged
from monitor.codec import plain
from monitor.results import Status, Verdict

SYMBOLS: dict[Status, tuple[str, str]] = {
    "pass": ("✓", "green"), "suspect": ("?", "yellow"), "fail": ("✗", "red"), "inconclusive": ("–", "cyan"),
}  # fmt: skip


_COLUMNS: tuple[tuple[str, Literal["left", "right"]], ...] = (
    ("endpoint", "left"), ("outcomes", "left"), ("TTFT p50", "right"), ("TPS p50", "right"),
    ("prompt tokens", "right"), ("mean KL [95%], nats", "right"), ("verdict", "left"), ("cause", "left"),
)  # fmt: skip


def row(judged: Judged) -> dict[str, Any]:
    """All numbers of one endpoint; None where not measured."""
    fidelity = _verdict(judged, "logprob_fidelity")
    accounting = _verdict(judged, "accounting")
    return {
        "endpoint": judged.probed.endpoint.name,
        "status": judged.summary.status,
        "cause": ", ".join(judged.summary.causes) or None,
        "reason": judged.summary.reason,
        "outcomes": _outcomes(judged),
        "ttft_ms_p50": _observed(judged, "ttft_ms_p50"),
        "tps_p50": _observed(judged, "tps_p50"),
        "prompt_token_match": _k_of_n(accounting),
        "kl": fidelity.effect if fidelity else None,
        "kl_low": fidelity.low if fidelity else None,
        "kl_high": fidelity.high if fidelity else None,
        "kl_positions": fidelity.n if fidelity and fidelity.effect is not None else None,
        "verdicts": [plain(verdict) for verdict in judged.verdicts],
    }


def table(rows: Sequence[dict[str, Any]]) -> Table:
    """Render `rows`; a dash stands for what was not measured."""
    shown = Table(title="Weighmaster: is it the model it says it is?", title_justify="left")
    for name, justify in _COLUMNS:
        shown.add_column(name, justify=justify)
    for one in rows:
        symbol, colour = SYMBOLS[one["status"]]
        shown.add_row(
            one["endpoint"],
            ", ".join(f"{count} {outcome}" for outcome, count in one["outcomes"].items()),
            _number(one["ttft_ms_p50"], "{:.0f} ms"),
            _number(one["tps_p50"], "{:.0f}/s"),
            _match(one["prompt_token_match"]),
            _kl(one),
            f"[{colour}]{symbol} {one['status']}[/{colour}]",
            one["cause"] or "",
        )
    return shown


def reasons(one: dict[str, Any]) -> list[str]:
    """The reason of a row, and where that leaves it open, what the detectors say that could judge."""
    if one["status"] != "inconclusive":
        return [one["reason"]]
    told = [verdict for verdict in one["verdicts"] if verdict["status"] != "inconclusive"]
    return [one["reason"], *(f"{verdict['detector']} {verdict['status']}: {verdict['reason']}" for verdict in told)]


def matrix(one: dict[str, Any]) -> list[str]:
    """A line for each feature that the probe `parameters` looked at: how it stands, and what that was told from."""
    told = [verdict["details"] for verdict in one["verdicts"] if "capabilities" in verdict["details"]]
    return [
        f"{name} {standing}: {details['why'][name]}" for details in told
        for name, standing in details["capabilities"].items()
    ]  # fmt: skip


def _verdict(judged: Judged, detector: str) -> Verdict | None:
    return next((verdict for verdict in judged.verdicts if verdict.detector == detector), None)


def _outcomes(judged: Judged) -> dict[str, int]:
    """Outcomes of all exchanges, most frequent first; complete answers are one word, broken tool calls another."""
    counts: Counter[str] = Counter()
    for record in judged.probed.records:
        for exchange in record.exchanges:
            counts["ok" if exchange.answered else exchange.outcome] += 1
    availability = _verdict(judged, "availability")
    broken = availability.details["faults"].get("broken_tool_call", 0) if availability else 0
    if broken:
        counts["broken_tool_call"] = broken
        counts["ok"] -= broken
    return {name: count for name, count in counts.most_common() if count}


def _observed(judged: Judged, metric: str) -> float | None:
    for record in judged.probed.records:
        for observation in record.observations:
            if observation.metric == metric:
                return observation.value
    return None


def _k_of_n(verdict: Verdict | None) -> dict[str, int] | None:
    if verdict is None or verdict.effect is None:
        return None
    return {"k": int(verdict.details["k"]), "n": verdict.n}


def _number(value: float | None, form: str) -> str:
    return "–" if value is None else form.format(value)


def _match(match: dict[str, int] | None) -> str:
    return "–" if match is None else f"{match['k']}/{match['n']}"


def _kl(one: dict[str, Any]) -> str:
    if one["kl"] is None:
        return "–"
    if one["kl_low"] is None:
        return f"{one['kl']:.2g}"
    return f"{one['kl']:.2g} [{one['kl_low']:.2g}, {one['kl_high']:.2g}]"
