"""Parameters that a model's vendor has fixed: does an endpoint refuse other values, and take the fixed ones?

A thinking model is drawn at temperature 1 and no other, and the vendor's own API refuses what differs. An endpoint that
takes another value serves answers that the model was not made for. Refusing, taking and failing are counted apart.
Source: the immutable parameters of Kimi-Vendor-Verifier.
"""

from collections.abc import Sequence

from monitor.results import Metric, Observation
from monitor.types import Exchange

FEATURE = "fixed"
"""The first part of the names of such requests: ``fixed/other/temperature``."""

_REFUSED = frozenset({"http_4xx", "unsupported_param"})
_COUNTS = frozenset({"n", "best_of", "top_k", "seed", "top_logprobs"})
_SOURCE = "MoonshotAI/Kimi-Vendor-Verifier"

METRICS: tuple[Metric, ...] = (
    Metric(name="fixed_reject_rate", unit="share", better="higher", source=_SOURCE,
           definition="Other values of fixed parameters refused / taken or refused, k of n."),
    Metric(name="fixed_accept_rate", unit="share", better="higher", source=_SOURCE,
           definition="Fixed values taken / taken or refused, k of n."),
    Metric(name="fixed_error_rate", unit="share", better="lower", source=_SOURCE,
           definition="Requests about fixed parameters that were neither taken nor refused / all of them, k of n."),
)  # fmt: skip


def another(name: str, value: float) -> float:
    """A value of the parameter `name` that is not `value`, and that an API which fixes nothing takes."""
    if name in _COUNTS:
        return value + 1
    return value / 2 if value else 0.5


def observed(exchanges: Sequence[Exchange]) -> tuple[Observation, ...]:
    """Return one observation per card of `METRICS`."""
    told: dict[str, list[bool]] = {"default": [], "other": []}
    asked = [one for one in exchanges if one.request and one.request.prompt_id.startswith(f"{FEATURE}/")]
    for exchange in asked:
        variant = exchange.request.prompt_id.split("/")[1] if exchange.request else ""
        if exchange.answered or exchange.outcome in _REFUSED:
            told[variant].append(exchange.answered)
    known = sum(map(len, told.values()))
    return (
        _rate(METRICS[0], told["other"].count(False), len(told["other"])),
        _rate(METRICS[1], told["default"].count(True), len(told["default"])),
        _rate(METRICS[2], len(asked) - known, len(asked)),
    )


def _rate(card: Metric, k: int, n: int) -> Observation:
    if not n:
        return Observation(metric=card.name, value=None, n=0, reason="no fixed parameter was asked about")
    return Observation(metric=card.name, value=k / n, n=n, k=k)
