"""What an audit says at its end: what it cost, what it found, and what it could not see."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from monitor.audit import AREAS, Sight, Standing
from monitor.evidence import Finding
from monitor.results import GoldenView, RunRecord, Verdict
from monitor.types import Endpoint, Exchange
from monitor.wire.usage import read_usage
from probes.cost import Cost, cost_of

EITHER = ("weights", "kv_cache")
"""Causes that look alike in few answers."""
_MAIN = ("logprob_fidelity", "greedy_flips")


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What an audit has used up: requests sent, tokens as the endpoint counts them (else as golden does), money.

    ``ends`` says how the requests ended, ``8 connect_error``.
    """

    n_requests: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    usd: float | None = None
    ends: str = ""

    @property
    def tokens(self) -> int:
        """All tokens."""
        return self.tokens_in + self.tokens_out


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """When to stop although nothing is decided. ``usd`` needs the endpoint's prices."""

    tokens: int = 10_000
    usd: float | None = None

    def is_used_up(self, spent: Spent) -> bool:
        """Whether no new round may begin."""
        over = self.usd is not None and spent.usd is not None and spent.usd >= self.usd
        return over or spent.tokens >= self.tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One look: what was spent until then, and what the detectors say."""

    spent: Spent
    verdicts: tuple[Verdict, ...]
    standing: Standing


def spent_on(endpoint: Endpoint, records: Sequence[RunRecord], views: Mapping[str, GoldenView]) -> Spent:
    """Add up what `records` cost.

    Tokens as the endpoint counts them, else as golden does, else the most that they can be: a budget must hold. A
    request that brought nothing back cost nothing.
    """
    exchanges = [exchange for record in records for exchange in record.exchanges]
    counts = [_tokens(exchange, views.get(exchange.exchange_id)) for exchange in exchanges if _brought(exchange)]
    n_in, n_out = (sum(column) for column in zip(*counts, strict=True)) if counts else (0, 0)
    usd = None
    if endpoint.price_in_usd is not None and endpoint.price_out_usd is not None:
        usd = (n_in * endpoint.price_in_usd + n_out * endpoint.price_out_usd) / 1e6
    ends = Counter(exchange.outcome for exchange in exchanges)
    told = ", ".join(f"{count} {outcome}" for outcome, count in ends.most_common())
    return Spent(n_requests=len(exchanges), tokens_in=n_in, tokens_out=n_out, usd=usd, ends=told)


def _brought(exchange: Exchange) -> bool:
    """Whether an answer began, complete or not."""
    return exchange.answered or bool(exchange.token_events) or exchange.usage is not None


def _tokens(exchange: Exchange, view: GoldenView | None) -> tuple[int, int]:
    usage, request = read_usage(exchange.usage or {}), exchange.request
    golden_in, golden_out = (view.prompt_tokens, view.completion_tokens) if view else (None, None)
    most = cost_of([request]) if request else Cost(0, 0, 0)
    return (
        _first_known(usage.input_total, golden_in, most.tokens_in),
        _first_known(usage.generated, golden_out, most.tokens_out),
    )


def _first_known(*counts: float | None) -> int:
    return int(next(count for count in counts if count is not None))


def finding(
    rounds: Sequence[Round], sight: Sight, alpha: float, budget: Budget, *, named: bool = True, silent: bool = False
) -> Finding:
    """What the audit's verdict says after its last round.

    `named` says whether it saw enough answers to tell what of the weights and the KV cache is at fault, `silent`
    whether nothing was answered in the last round.
    """
    last = rounds[-1]
    # What was beyond 1 / alpha once is rejected, whatever was asked afterwards to name the cause.
    failed = next((one.standing for one in rounds if one.standing.status == "fail"), None)
    stand, spent = last.standing, last.spent
    if failed is not None:
        stand = replace(stand, status="fail", cause=stand.cause or failed.cause)
    if not named and stand.cause is not None and stand.cause.cause in EITHER:
        stand = replace(stand, cause=replace(
            stand.cause, cause=" or ".join(EITHER), reason=f"{stand.cause.reason}; too few answers to tell which"
        ))  # fmt: skip
    heard = {one.detector: one for one in last.verdicts if one.detector in AREAS}
    main = _main(heard, stand)
    nothing = "no_answers" if sight.level is None else "undecided"
    cause = stand.cause.cause if stand.cause else (None if stand.status == "pass" else nothing)
    return Finding(
        status=stand.status, cause=cause, reason=_reason(stand, last, sight, budget, main, silent=silent),
        effect=stand.log_e, n=spent.n_requests, threshold=math.log(1 / alpha), log_e=stand.log_e,
        mde=None if main is None else main.mde, band=None if main is None else main.band,
        details=_details(rounds, sight, heard, main, budget),
    )  # fmt: skip


def _reason(
    stand: Standing, last: Round, sight: Sight, budget: Budget, main: Verdict | None, *, silent: bool
) -> str:
    spent = last.spent
    money = "" if spent.usd is None else f", {spent.usd:.4f} USD"
    cost = f"{spent.n_requests} requests, {spent.tokens} tokens{money}"
    if sight.level is None:
        return f"no complete answer after {cost}: {spent.ends}"
    if stand.status == "fail":
        told = f"{stand.cause.cause}: {stand.cause.reason}" if stand.cause else "all evidence together, no single cause"
        return f"{told} ({cost})"
    if stand.status == "pass":
        size = "" if main is None or main.mde is None else f"; {main.mde:.2g} {main.unit} off golden would have shown"
        fine = f"{' and '.join(sight.areas)} are as they should be"
        return f"{fine} ({cost}){size}; this level cannot see: {sight.blind_to}"
    ended = "the endpoint stopped answering" if silent else "all that can be asked was asked"
    why = "its budget is used up" if budget.is_used_up(spent) else ended
    undecided = [one for one in last.verdicts if AREAS.get(one.detector) in stand.open]
    reasons = "; ".join(f"{one.detector}: {one.reason}" for one in undecided)
    return f"undecided after {cost}, since {why}: {' and '.join(stand.open)} still open ({reasons})"


def _main(heard: Mapping[str, Verdict], stand: Standing) -> Verdict | None:
    """The verdict whose effect is told: of the weights their best measurement, else of the one that names the cause."""
    if stand.cause is not None and AREAS[stand.cause.detector] != "weights":
        return heard.get(stand.cause.detector)
    return next((heard[kind] for kind in _MAIN if kind in heard and heard[kind].effect is not None), None)


def _details(
    rounds: Sequence[Round], sight: Sight, heard: dict[str, Verdict], main: Verdict | None, budget: Budget
) -> dict[str, Any]:
    spent = rounds[-1].spent
    return {
        "level": sight.level, "areas": list(sight.areas), "blind_to": sight.blind_to, "n_requests": spent.n_requests,
        "tokens_in": spent.tokens_in, "tokens_out": spent.tokens_out, "usd": spent.usd, "budget_tokens": budget.tokens,
        "budget_usd": budget.usd,
        "path": [[one.spent.tokens_out, _rounded(one.standing.log_e)] for one in rounds],
        "measured": None if main is None else {
            "metric": main.statistic, "unit": main.unit, "value": main.effect, **_anytime(main),
        },
        "detectors": {
            kind: {"status": one.status, "cause": one.cause, "effect": one.effect, "low": one.low, "high": one.high,
                   "log_e": None if one.e_value is None else _rounded(math.log(one.e_value)), "reason": one.reason}
            for kind, one in heard.items()
        },
    }  # fmt: skip


def _anytime(main: Verdict) -> dict[str, float | None]:
    """Its interval at every look: an audit looks after every round.

    Where rare answers are far off, the upper end of the capped mean would lie below the mean: then there is none.
    """
    low, high = (main.details.get(f"anytime_{end}", getattr(main, end)) for end in ("low", "high"))
    effect = main.effect or 0.0
    return {"low": low, "high": None if high is not None and high < effect else high}


def _rounded(nats: float | None) -> float | None:
    return None if nats is None else round(nats, 3)
