"""Does the endpoint begin its answers as golden weights do, where those are nearly undecided?

Needs: answers of the `border` probe as text, and the golden view of their first token. No logprobs of the endpoint.
Statistic: flips, prompts whose first token is not golden's most likely one, k of n. A faithful engine flips up to `p0`
of border prompts; degraded weights flip `degraded` of them or more. Evidence is a mixture of likelihood ratios of
higher rates against `p0`. An endpoint repeats itself, so the answers to one prompt count as one cluster (`rho`).
Decides: *fail* at evidence of 1 / `alpha`; *suspect* at evidence of 20, or when the interval lies above `p0`; *pass*
when it lies below `degraded`; else *inconclusive*. When the prompt counts differ from golden's, the template is to
blame, and the weights are not judged.
What can mislead it: prompts that were not mined for these weights (then `degraded` must be lower and `n` larger);
caches of answers; text that the golden tokenizer splits otherwise (left out and counted); a mixture of backends shows
as a lower rate of flips. It cannot judge an endpoint that declares 4 bit: the prompts are chosen to catch just that.
Source: border inputs of B3IT (arXiv 2602.11083), mined from golden logits instead; e-process in Notes of
`monitor.stats.betabinomial.flip_process`.
"""

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar

import numpy as np

from monitor.evidence import (
    Card,
    Finding,
    asked_by,
    mostly_misread,
    not_answered,
    prompt_of,
    split_is_known,
    verdict,
)
from monitor.plurals import plural
from monitor.results import Evidence, GoldenPosition, GoldenView, Metric, Status, Verdict
from monitor.standing import calibrated, status_of
from monitor.stats.betabinomial import flip_process, rate_interval
from monitor.stats.eprocess import Interval
from monitor.tolerances import FULL, precision_class
from monitor.types import Exchange

RATIOS = (2.0, 4.0, 8.0, 16.0, 30.0)
"""Alternatives as multiples of `p0`: from a share of the requests to nearly all prompts flipped."""

_BITS_8 = frozenset({FULL, "int8", "fp8", "q8_0"})

Pair = tuple[Exchange, GoldenView]


@dataclass(frozen=True, slots=True, kw_only=True)
class Border:
    """Flips of first tokens on border prompts."""

    kind: ClassVar[str] = "border"
    version: ClassVar[int] = 1
    probes: ClassVar[frozenset[str] | None] = frozenset({"border"})
    looks_back: ClassVar[int] = 0
    metrics: ClassVar[tuple[Metric, ...]] = (
        Metric(name="border_flips", unit="share", better="lower", source="arXiv 2602.11083",
               definition="Answers to border prompts that do not begin with golden's most likely token, k of n."),
    )  # fmt: skip

    p0: float = 0.03
    """Share of border prompts that a faithful engine may flip; `weighmaster reference border` writes it."""
    degraded: float = 0.15
    """Share that the mildest degraded weights flip; `weighmaster reference border` writes it."""
    rho: float = 0.9
    """Correlation of the answers to one prompt: near 1, since an endpoint repeats itself at temperature 0."""
    alpha: float = 0.001
    """Probability of a false fail, however often one looks."""
    min_n: int = 8
    """Fewest prompts for a verdict."""

    def __post_init__(self) -> None:
        if not 0 < self.p0 < self.degraded < 1:
            raise ValueError("0 < `p0` < `degraded` < 1 must hold")
        if not 0 < self.alpha < 1 or not 0 <= self.rho < 1 or self.min_n < 1:
            raise ValueError("`alpha` must lie between 0 and 1, `rho` in [0, 1), `min_n` must be at least 1")

    def run(self, evidence: Evidence, *, at: datetime, rng: np.random.Generator) -> Verdict:
        """Judge the first tokens of all answers."""
        card = Card(detector=self.kind, version=self.version, statistic="border_flips", unit="share")
        pairs = list(asked_by(evidence, self.probes or ()))
        firsts = [(pair, first) for pair in pairs if (first := _first(*pair)) is not None]
        by_prompt: dict[str, list[bool]] = defaultdict(list)
        for (exchange, _), flipped in firsts:
            by_prompt[prompt_of(exchange)].append(flipped)
        counted = {"n_noncanonical": sum(not split_is_known(view) for _, view in pairs), "n_prompts": len(by_prompt)}
        if len(by_prompt) < self.min_n:
            return verdict(card, self._no_evidence(evidence, pairs, counted), evidence, at)
        if precision_class(evidence.endpoint.precision) not in _BITS_8 and self._calibrated(evidence) is None:
            return verdict(card, self._not_for(evidence, counted), evidence, at)
        misread = mostly_misread([pair for pair, _ in firsts])
        return verdict(card, self._finding(by_prompt, counted, evidence, misread=misread), evidence, at)

    def _finding(
        self, by_prompt: dict[str, list[bool]], counted: dict[str, int], evidence: Evidence, *, misread: bool
    ) -> Finding:
        k, n = (np.array([count(flips) for flips in by_prompt.values()]) for count in (sum, len))
        p0 = self._calibrated(evidence) or self.p0
        process = flip_process(k, n, p0=p0, rho=self.rho, ratios=RATIOS)
        rate = rate_interval(k, n, rho=self.rho)
        status = status_of(
            process.final, rate, tolerated=p0, fail_nats=-np.log(self.alpha), pass_below=max(self.degraded, p0)
        )  # fmt: skip
        cause = {"pass": None, "inconclusive": "undecided"}.get(status, "template" if misread else "weights")
        return Finding(
            status=status, cause=cause, reason=self._reason(k, n, rate, p0, status, misread=misread),
            effect=rate.estimate, low=rate.low, high=rate.high, n=int(n.sum()), threshold=p0, log_e=process.final,
            mde=_mde(len(k), p0, self.alpha),
            details={**counted, "k": int(k.sum()), "flipped_prompts": int((k > 0).sum()), "log_e": process.final,
                     # With several answers to a prompt, its look is complete only with the last of them.
                     "prompts_to_alpha": process.looks_to(self.alpha) if (n == 1).all() else None,
                     "degraded": self.degraded},
        )  # fmt: skip

    def _calibrated(self, evidence: Evidence) -> float | None:
        found = calibrated(evidence, "border_flips")
        return None if found is None else min(max(found, self.p0), 0.9)

    def _reason(
        self, k: Any, n: Any, rate: Interval, p0: float, status: Status, *, misread: bool
    ) -> str:
        text = (
            f"{int((k > 0).sum())} of {len(k)} border prompts begin otherwise than golden "
            f"(95% interval {rate.low:.2g} to {rate.high:.2g}); faithful engines flip up to {p0:.2g}"
        )
        if int(n.sum()) > len(n):
            text += f"; {int(k.sum())} flips in {int(n.sum())} answers"
        if misread:
            return text + "; the prompt itself differs from golden's, so weights are not judged"
        return text + ("; ask more prompts to decide" if status == "inconclusive" else "")

    def _not_for(self, evidence: Evidence, counted: dict[str, int]) -> Finding:
        declared = evidence.endpoint.precision
        return Finding(
            status="inconclusive", cause="not_applicable", n=counted["n_prompts"], details=counted,
            reason=f"border prompts are chosen to catch weights below 8 bit, and {declared} is declared",
        )  # fmt: skip

    def _no_evidence(self, evidence: Evidence, pairs: list[Pair], counted: dict[str, int]) -> Finding:
        problems = sorted({view.problem for _, view in pairs if view.problem})
        unread = problems[0] if problems else "no first token could be compared with golden"
        cause, why = not_answered(evidence, self.probes or ()) or ("not_comparable", unread)
        return Finding(
            status="inconclusive", cause=cause, n=counted["n_prompts"], details=counted,
            reason=f"{plural(counted['n_prompts'], 'prompt')} comparable, {self.min_n} needed: {why}",
        )  # fmt: skip


def _first(exchange: Exchange, view: GoldenView) -> bool | None:
    """Whether the answer begins otherwise than golden's would; None where that cannot be told."""
    first = next((one for one in view.positions if one.position == 0), None)
    if first is None or not split_is_known(view) or not exchange.choice.content:
        return None
    return _flipped(first)


def _flipped(first: GoldenPosition) -> bool | None:
    if first.golden_rank is not None:
        return first.golden_rank > 0
    if first.golden_logprob is not None:
        return first.golden_logprob < first.golden_top1_logprob
    return None


def _mde(n: int, p0: float, alpha: float) -> float | None:
    """The rate of flips in `n` prompts that just reaches `alpha`; None where none does."""
    for k in range(n + 1):
        flips = np.concatenate([np.ones(k), np.zeros(n - k)])
        if flip_process(flips, np.ones(n), p0=p0, rho=0.0, ratios=RATIOS).final >= -np.log(alpha):
            return k / n
    return None


DETECTOR = Border
