"""Are the endpoint's next-token probabilities those of the golden weights?

Needs: top-k logprobs and the golden view of the endpoint's own tokens (teacher-forced). No extra requests.
Statistic: tail-bucket KL(golden || endpoint) per position over the endpoint's listed tokens plus the rest, never
renormalised; the mean over positions with an interval that resamples prompts. The e-value bets, request by request,
that the mean is above the tolerance; it may be looked at after every request.
Decides: *fail* when the interval lies above ``fail_nats``; *suspect* when it lies above the tolerance of the declared
precision; *pass* when it lies below that tolerance; else *inconclusive*. A difference on prompts whose token count is
already wrong is blamed on the template, not on the weights.
What can mislead it: logprobs after temperature or masking; tolerances measured on one model (calibrate your own).
Source: formula and traps in Notes of `monitor.stats.divergence`; default tolerances separate the ladder measured on
SmolLM2-135M: engine noise at f16 and bf16 up to 0.001, 8-bit integers 0.001 to 0.004 (fp8 0.016), four bits and coarse
caches from 0.04 nats (docs/calibration.md).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar

import numpy as np

from monitor.evidence import (
    Card,
    Finding,
    after_sampler,
    mostly_misread,
    prompt_of,
    says_nothing_of_weights,
    verdict,
)
from monitor.plurals import plural
from monitor.results import Evidence, GoldenPosition, GoldenView, Metric, Status, Verdict
from monitor.standing import allowed
from monitor.stats.clustered import ClusteredMean, clustered_mean
from monitor.stats.confseq import capped_mean, mean_above, mean_below
from monitor.stats.divergence import tail_bucket_kl
from monitor.stats.rates import wilson
from monitor.types import Exchange

# One-sided 97.5% and 80% normal quantiles: the usual planning rule for a minimum detectable effect.
MDE_FACTOR = 1.96 + 0.84
# A request whose own mean is this many tolerances is counted as odd; where evidence of smallness is cut.
ODD, CUT = 10, 3


@dataclass(frozen=True, slots=True)
class _Position:
    exchange_id: str
    prompt_id: str
    kl: float
    golden: GoldenPosition


@dataclass(frozen=True, slots=True, kw_only=True)
class LogprobFidelity:
    """KL divergence from golden, in bands."""

    kind: ClassVar[str] = "logprob_fidelity"
    version: ClassVar[int] = 1
    probes: ClassVar[frozenset[str] | None] = frozenset({"logprobs", "greedy"})
    looks_back: ClassVar[int] = 0
    metrics: ClassVar[tuple[Metric, ...]] = (
        Metric(name="kl_nats", unit="nats", better="lower", source="monitor.stats.divergence",
               definition="Mean over positions of the tail-bucket KL(golden || endpoint) at the endpoint's top-k."),
        Metric(name="mean_abs_dlp", unit="nats", better="lower", source="DESIGN section 6",
               definition="Mean |endpoint - golden| logprob of golden's most likely token, where it is listed."),
        Metric(name="top1_same", unit="share", better="higher", source="DESIGN section 6",
               definition="Positions at which golden and endpoint agree on the most likely token, k of n."),
    )  # fmt: skip

    indistinguishable_nats: float = 0.001
    """Below this, faithful engines differ from one another as much."""
    full_precision_nats: float = 0.002
    """Tolerance for an endpoint that declares 16 or 32 bit, or nothing; where the reference is not calibrated."""
    eight_bit_nats: float = 0.01
    """Tolerance for an endpoint that declares 8 bit or less; where the reference is not calibrated for it."""
    fail_nats: float = 0.02
    """Above this, the endpoint fails whatever it declares."""
    min_prompts: int = 8
    """Fewest prompts with logprobs for a verdict."""

    def __post_init__(self) -> None:
        steps = (self.indistinguishable_nats, self.full_precision_nats, self.eight_bit_nats, self.fail_nats)
        if steps[0] <= 0 or list(steps) != sorted(steps):
            raise ValueError(
                "0 < `indistinguishable_nats` <= `full_precision_nats` <= `eight_bit_nats` <= `fail_nats` must hold"
            )
        if self.min_prompts < 2:
            raise ValueError("`min_prompts` must be at least 2, or there is no interval")

    def run(self, evidence: Evidence, *, at: datetime, rng: np.random.Generator) -> Verdict:
        """Judge all positions that have both an endpoint's and a golden distribution."""
        card = Card(detector=self.kind, version=self.version, statistic="kl_nats", unit="nats")
        positions = list(_positions(evidence))
        prompts = {position.prompt_id for position in positions}
        if len(prompts) < self.min_prompts:
            return verdict(card, _no_evidence(evidence, len(prompts), self.min_prompts), evidence, at)
        if after_sampler(position.golden for position in positions):
            return verdict(card, says_nothing_of_weights(len(prompts)), evidence, at)
        mean = clustered_mean([p.kl for p in positions], [p.prompt_id for p in positions], rng=rng)
        return verdict(card, self._finding(mean, positions, evidence), evidence, at)

    def _finding(self, mean: ClusteredMean, positions: list[_Position], evidence: Evidence) -> Finding:
        tolerance = self.tolerance_nats(evidence)
        status = self._status(mean, tolerance)
        misread = mostly_misread(list(_compared(evidence)))
        cause = None if status in {"pass", "inconclusive"} else ("template" if misread else "weights")
        return Finding(
            status=status, cause=cause, band=self._band(mean, tolerance, misread),
            reason=_reason(mean, tolerance, evidence, misread),
            effect=mean.value, low=mean.low, high=mean.high, n=mean.n, threshold=tolerance,
            log_e=mean_above(_by_request(positions), null=tolerance).final,
            mde=None if mean.standard_error is None else tolerance + MDE_FACTOR * mean.standard_error,
            details={**_agreement(positions), **_requests(positions, tolerance), "n_prompts": mean.n_clusters,
                     "pass_nats": tolerance, "fail_nats": max(self.fail_nats, tolerance)},
        )  # fmt: skip

    def tolerance_nats(self, evidence: Evidence) -> float:
        """The KL that an endpoint of the declared precision may show: as calibrated, else the defaults."""
        return allowed(evidence, "kl_nats", full=self.full_precision_nats, coarse=self.eight_bit_nats)

    def _status(self, mean: ClusteredMean, tolerance: float) -> Status:
        if mean.low is None or mean.high is None:
            return "inconclusive"
        if mean.low > max(self.fail_nats, tolerance):
            return "fail"
        if mean.low > tolerance:
            return "suspect"
        return "pass" if mean.high <= tolerance else "inconclusive"

    def _band(self, mean: ClusteredMean, tolerance: float, misread: bool) -> str | None:
        if mean.low is None or mean.high is None:
            return None
        if mean.high <= self.indistinguishable_nats:
            return "indistinguishable"
        if mean.high <= tolerance:
            return "within declared precision"
        if mean.low <= tolerance:
            return None
        return "different configuration" if misread else "below declared precision"


def _positions(evidence: Evidence) -> Iterator[_Position]:
    for exchange, view in _compared(evidence):
        prompt_id = prompt_of(exchange)
        for golden in view.positions:
            if golden.endpoint_top:
                kl = tail_bucket_kl(golden.golden_top, golden.endpoint_top)
                yield _Position(exchange.exchange_id, prompt_id, kl, golden)


def _compared(evidence: Evidence) -> Iterator[tuple[Exchange, GoldenView]]:
    for exchange in evidence.exchanges:
        view = evidence.golden.get(exchange.exchange_id)
        if view is not None and any(position.endpoint_top for position in view.positions):
            yield exchange, view


def _by_request(positions: list[_Position]) -> list[float]:
    """Mean divergence of each request, in the order of asking."""
    by_exchange: dict[str, list[float]] = {}
    for position in positions:
        by_exchange.setdefault(position.exchange_id, []).append(position.kl)
    return [float(np.mean(values)) for values in by_exchange.values()]


def _requests(positions: list[_Position], tolerance: float) -> dict[str, Any]:
    """What requests say one by one: evidence that the mean is below the tolerance, and those that are far off.

    ``log_e_below`` is about the mean of divergences cut at `CUT` tolerances: a rare request that is far off does not
    show there. A routed share shows in ``odd_requests`` before it shows in the mean. ``anytime_low`` and
    ``anytime_high`` hold at every look (the interval of the verdict at one): 95%, of the mean in which no request
    counts for more than `CUT` times that mean.
    """
    means = np.asarray(_by_request(positions))
    bounds = capped_mean(means, cap=CUT)
    odd = wilson(int((means > ODD * tolerance).sum()), len(means))
    below = mean_below(np.minimum(means, CUT * tolerance), null=tolerance, upper=CUT * tolerance)
    return {
        "log_e_below": below.final, "odd_requests": odd.k, "n_requests": odd.n, "odd_share_high": odd.high,
        "anytime_low": bounds.low, "anytime_high": bounds.high,
    }  # fmt: skip


def _agreement(positions: list[_Position]) -> dict[str, Any]:
    listed = [
        abs(p.golden.endpoint_at_golden_top1 - p.golden.golden_top1_logprob)
        for p in positions
        if p.golden.endpoint_at_golden_top1 is not None
    ]
    return {
        "top_k": int(np.median([len(p.golden.endpoint_top) for p in positions])),
        "top1_same": sum(bool(p.golden.top1_same) for p in positions),
        "mean_abs_dlp": float(np.mean(listed)) if listed else None,
        "n_dlp": len(listed),
    }


def _reason(mean: ClusteredMean, tolerance: float, evidence: Evidence, misread: bool) -> str:
    declared = evidence.endpoint.precision or "full precision (nothing declared)"
    interval = "no interval" if mean.low is None else f"95% interval {mean.low:.2g} to {mean.high:.2g}"
    text = (
        f"mean KL {mean.value:.2g} nats ({interval}) over {plural(mean.n, 'position')} of "
        f"{plural(mean.n_clusters, 'prompt')}; "
        f"{declared} allows {tolerance:.2g}"
    )
    return text + ("; the prompt itself differs from golden's, so weights are not judged" if misread else "")


def _no_evidence(evidence: Evidence, n_prompts: int, needed: int) -> Finding:
    answered = [exchange for exchange in evidence.exchanges if exchange.answered]
    asked = [exchange for exchange in answered if exchange.request and exchange.request.top_logprobs]
    problems = sorted({view.problem for view in evidence.golden.values() if view.problem})
    if not answered:
        cause, why = "no_answers", "no complete answer"
    elif not asked:
        cause, why = "not_asked", "no probe asked for logprobs"
    elif not any(exchange.choice.logprobs for exchange in asked):
        cause, why = "no_logprobs", "the endpoint returns no logprobs"
    elif not evidence.golden:
        cause, why = "no_reference", "no golden reference for this endpoint"
    else:
        cause, why = "not_comparable", problems[0] if problems else "no position could be compared with golden"
    return Finding(
        status="inconclusive", cause=cause, n=n_prompts,
        reason=f"{plural(n_prompts, 'prompt')} comparable, {needed} needed: {why}",
    )  # fmt: skip


DETECTOR = LogprobFidelity
