"""View models of the endpoint page: evidence of verdicts, the band, rows of exchanges. No Streamlit."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from dashboard.words import DASH, interval, number, quantity, spoken, stamp
from monitor.identified_parts import told_parts
from monitor.results import Verdict
from monitor.types import ANSWERED, NOT_THE_ENDPOINTS_FAULT, Exchange
from monitor.wire.usage import read_usage

SHOWN_RUNS = 3
"""Run ids that a verdict lists before it counts the rest."""

DRAWN = frozenset({"dots", "parts", "schemes", "strips"})
"""Details that are drawn, or told in words, instead of listed."""

Kind = Literal["answered", "endpoint's fault", "reported apart"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """Where faithful engines stay: at most ``pass_nats``; at least ``fail_nats`` fails. None where not calibrated."""

    pass_nats: float | None
    fail_nats: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """How often an outcome occurred, and whose fault it is."""

    outcome: str
    kind: Kind
    n: int


def band(verdicts: Iterable[Verdict]) -> Band:
    """The thresholds that the newest fidelity verdict was held against."""
    verdict = next((verdict for verdict in verdicts if verdict.detector == "logprob_fidelity"), None)
    if verdict is None:
        return Band(pass_nats=None, fail_nats=None)
    return Band(
        pass_nats=_positive(verdict.details.get("pass_nats", verdict.threshold)),
        fail_nats=_positive(verdict.details.get("fail_nats")),
    )


def identified(verdicts: Iterable[Verdict]) -> Verdict | None:
    """The newest identification that names something, None where there is none."""
    return next((one for one in verdicts if one.detector == "identify" and one.details.get("schemes")), None)


def _positive(value: Any) -> float | None:
    """A threshold that a logarithmic axis can draw, else None."""
    return float(value) if isinstance(value, int | float) and value > 0 else None


def evidence(verdict: Verdict) -> list[tuple[str, str]]:
    """The numbers behind a verdict as (name, value); what was not measured is left out, except the effect."""
    rows: list[tuple[str, str | None]] = [
        ("statistic", verdict.statistic),
        ("effect", quantity(verdict.effect, verdict.unit)),
        ("interval", interval(verdict.low, verdict.high, verdict.unit)),
        ("threshold", _optional(verdict.threshold, verdict.unit)),
        ("n", str(verdict.n)),
        ("p", _optional(verdict.p_value)),
        ("e-value", _optional(verdict.e_value)),
        ("smallest visible", _optional(verdict.mde, verdict.unit)),
        ("band", verdict.band),
        ("answered by", _answered_by(verdict)),
        *((spoken(name), _short(value)) for name, value in verdict.details.items() if name not in DRAWN),
        ("at", f"{stamp(verdict.at)} UTC"),
        ("fingerprint", verdict.fingerprint[:16] if verdict.fingerprint else None),
        ("runs", _runs(verdict.run_ids)),
        ("verdict", verdict.verdict_id),
    ]
    return [(name, value) for name, value in rows if value]


def _answered_by(verdict: Verdict) -> str | None:
    """Who answers which share of the requests; None where that is one backend."""
    parts = told_parts(verdict.details) if verdict.detector == "identify" else ()
    return ", ".join(f"{one.share:.0%} ({one.range}) {one.meaning}" for one in parts) or None


def _optional(value: float | None, unit: str = "") -> str | None:
    return quantity(value, unit) if value is not None else None


def _short(value: Any) -> str | None:
    """One line for a detail: numbers rounded, maps as name=value, absent values left out."""
    if isinstance(value, dict):
        return ", ".join(f"{name}={_short(inner) or DASH}" for name, inner in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(_short(inner) or DASH for inner in value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return number(value)
    return None if value is None else str(value)


def _runs(run_ids: Sequence[str]) -> str:
    shown = ", ".join(run_ids[:SHOWN_RUNS])
    rest = len(run_ids) - SHOWN_RUNS
    return f"{shown} and {rest} more" if rest > 0 else shown


def outcome_counts(exchanges: Iterable[Exchange]) -> list[Count]:
    """Outcomes of the exchanges, most frequent first."""
    counted = Counter(exchange.outcome for exchange in exchanges)
    return [Count(outcome=outcome, kind=kind_of(outcome), n=n) for outcome, n in counted.most_common()]


def kind_of(outcome: str) -> Kind:
    """Whose fault an outcome is (DESIGN section 5: availability counts only faults of the endpoint)."""
    if outcome in ANSWERED:
        return "answered"
    return "reported apart" if outcome in NOT_THE_ENDPOINTS_FAULT else "endpoint's fault"


def exchange_row(exchange: Exchange) -> dict[str, Any]:
    """One exchange as a table row. Holds no text of the model."""
    return {
        "time": stamp(exchange.started_at),
        "outcome": exchange.outcome,
        "status": exchange.status,
        "ttft": exchange.ttft_ms,
        "tps": exchange.tps,
        "tokens": exchange.tokens_golden,
        "billed": billed_tokens(exchange),
        "prompt": exchange.request.prompt_id if exchange.request else None,
        "flags": ", ".join(exchange.flags),
    }


def billed_tokens(exchange: Exchange) -> int | None:
    """Generated tokens as the endpoint counts them; None when it does not say."""
    billed = read_usage(exchange.usage or {}).generated
    return None if billed is None else int(billed)


def exchange_text(exchange: Exchange) -> list[tuple[str, str]]:
    """What was said in an exchange, as (channel, text) with empty channels left out. Hostile: show it as code only."""
    choice = exchange.choice
    calls = "\n".join(f"{call.name or '(no name)'} {call.arguments}" for call in choice.tool_calls)
    asked = (
        "\n".join(str(message.get("content", "")) for message in exchange.request.messages) if exchange.request else ""
    )
    said = [("Asked", asked), ("Answer", choice.content), ("Reasoning", choice.reasoning), ("Tool calls", calls)]
    return [(channel, text) for channel, text in [*said, ("Error", exchange.error or "")] if text]
