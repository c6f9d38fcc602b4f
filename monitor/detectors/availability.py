"""Does the endpoint answer, completely and in a usable form?

Needs: the exchanges of any probe; no golden weights. Costs nothing extra.
Counts an exchange as good when its answer is complete and its tool calls can be parsed. What is not the endpoint's
fault (rate limits, quota, a wrong key, the prober's own limits) is named but kept out of the rate; a stream that the
prober had to stop long after the asked-for length is the endpoint's.
What can mislead it: few requests (the interval says so); the prober's own network, until a connectivity check exists.
Source: outcomes and their classes in DESIGN section 5; Wilson interval.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

import numpy as np

from monitor.evidence import Card, Finding, verdict
from monitor.plurals import plural
from monitor.results import Evidence, Metric, Status, Verdict
from monitor.stats.rates import Rate, wilson
from monitor.types import ANSWERED, BROKEN_TOOL_CALL, NOT_THE_ENDPOINTS_FAULT, Exchange

ENDLESS = "ignores_max_tokens"
ENDLESS_FACTOR = 4
HINTS = {
    "auth_error": " (the key is refused: check api_key)",
    "address_refused": " (it leads to a private address: set allow_private if that is meant; or to a link-local or "
    "metadata one, which is always refused)",
    "connect_error": " (no connection: check base_url)",
    "redirect": " (answers with a redirect, which is not followed: put the final address into base_url)",
    "tls_trust": " (its certificate is not trusted here)",
    "unsupported_param": " (it cannot do what the probe needs)",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Availability:
    """Success rate against a target."""

    kind: ClassVar[str] = "availability"
    version: ClassVar[int] = 1
    probes: ClassVar[frozenset[str] | None] = None
    needs_no_words: ClassVar[bool] = True
    looks_back: ClassVar[int] = 0
    metrics: ClassVar[tuple[Metric, ...]] = (
        Metric(name="availability", unit="share", better="higher", source="DESIGN section 5",
               definition="Good exchanges / exchanges that were the endpoint's to answer, k of n."),
    )  # fmt: skip

    target: float = 0.95
    """Success rate below which the endpoint fails (when the interval excludes it) or is suspect."""
    min_n: int = 5
    """Fewest exchanges for a verdict."""

    def __post_init__(self) -> None:
        if not 0 < self.target <= 1 or self.min_n < 1:
            raise ValueError("`target` must lie between 0 and 1, `min_n` must be at least 1")

    def run(self, evidence: Evidence, *, at: datetime, rng: np.random.Generator) -> Verdict:
        """Judge all exchanges of the evidence."""
        card = Card(detector=self.kind, version=self.version, statistic="availability", unit="share")
        faults = Counter(_fault(exchange) for exchange in evidence.exchanges)
        n_good = faults.pop(None, 0)
        named = {str(fault): count for fault, count in faults.most_common()}
        n_own = sum(count for fault, count in named.items() if fault not in NOT_THE_ENDPOINTS_FAULT)
        rate = wilson(n_good, n_good + n_own)
        status = self._status(rate)
        return verdict(card, self._finding(status, rate, named), evidence, at)

    def _status(self, rate: Rate) -> Status:
        if rate.value is None or rate.high is None or rate.n < self.min_n:
            return "inconclusive"
        if rate.high < self.target:
            return "fail"
        return "suspect" if rate.value < self.target else "pass"

    def _finding(self, status: Status, rate: Rate, named: dict[str, int]) -> Finding:
        own = [fault for fault in named if fault not in NOT_THE_ENDPOINTS_FAULT]
        apart = [fault for fault in named if fault not in own]
        faults = _counts(named, own) or "no faults"
        faults += f"; not counted: {_counts(named, apart)}" if apart else ""
        reason = f"{rate.k} of {plural(rate.n, 'exchange')} good; {faults}"
        if status == "inconclusive":
            reason = f"too few exchanges to judge ({rate.n}, {self.min_n} needed); {faults}"
        return Finding(
            status=status, cause=None if status == "pass" else ", ".join(own or apart) or None, reason=reason,
            effect=rate.value, low=rate.low, high=rate.high, n=rate.n, threshold=self.target,
            details={"faults": named, "k": rate.k},
        )  # fmt: skip


def _counts(named: Mapping[str, int], faults: Sequence[str]) -> str:
    return ", ".join(f"{named[fault]} x {fault}{HINTS.get(fault, '')}" for fault in faults)


def _fault(exchange: Exchange) -> str | None:
    """Name of what went wrong, or None for a good exchange."""
    if exchange.outcome == "client_limit" and _endless(exchange):
        return ENDLESS
    if exchange.outcome not in ANSWERED:
        return exchange.outcome
    # Arguments that the token limit cut are the prober's doing.
    if "arguments_invalid" in exchange.flags and exchange.outcome != "ok_length":
        return BROKEN_TOOL_CALL
    return None


def _endless(exchange: Exchange) -> bool:
    """Whether the prober stopped a stream that had long passed the length that was asked for."""
    if exchange.request is None or exchange.token_events is None:
        return False
    return exchange.token_events > ENDLESS_FACTOR * max(exchange.request.max_tokens, 16)


DETECTOR = Availability
