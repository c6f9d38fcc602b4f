"""Does the endpoint read long prompts whole, as exactly as short ones, and alike from a cold and a warm cache?

Needs: answers of the `context` probe and their golden view; logprobs if the endpoint has them, else flips of tokens.
Logprobs after temperature 0 say nothing of the weights, so such an endpoint is judged by flips as well.
Short answers to compare with: of the `greedy` and `logprobs` runs in the evidence, and to the shortest prompts.
Statistic: tail-bucket KL(golden || endpoint) over the tokens of answers to long prompts; without logprobs, the share of
their tokens that golden would not have taken.
Decides: *fail* when the endpoint counts clearly fewer tokens of long prompts than there are (they were cut), or when
the e-process against the tolerance null reaches ``1 / alpha``; *suspect* at 20 or when the interval lies above the
tolerance, *pass* when it lies below, else *inconclusive*.
Causes: cut prompts, or a difference between the cold and the warm half, are the engine's; long answers off and short
ones clean, or much less off, is the KV cache's, and so are both when short ones are off in another way in each context;
else both off is the weights'; another prompt throughout is the template's.
What can mislead it: a model that misses codes by itself (misses that golden would share are counted apart); prompts too
long for golden; a 4-bit cache, whose damage need not grow with the prompt (SmolLM2-135M: 0.030 nats at 140 tokens,
0.010 at 1,500; a faithful F16 server: 5e-6 and 6e-5).
Source: `monitor.stats.confseq`, `monitor.stats.betabinomial`, DESIGN section 6.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

import numpy as np

from monitor.context_clues import ContextClues, context_clues, split_by_length
from monitor.evidence import Card, Finding, verdict
from monitor.greedy_answers import (
    GreedyAnswer,
    by_text,
    greedy_answers,
    named,
    nothing_to_judge,
    says_after_temperature,
)
from monitor.plurals import plural
from monitor.results import Evidence, Metric, Status, Verdict
from monitor.standing import allowed, is_full, status_of
from monitor.stats.betabinomial import flip_process, rate_interval
from monitor.stats.confseq import mean_above, mean_sequence
from monitor.stats.eprocess import EProcess, Interval

_CONTEXT = frozenset({"context"})
_SHORT = frozenset({"greedy", "logprobs"})
_FAR_NATS = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LongContext:
    """Codes, divergence and prefix cache of long prompts."""

    kind: ClassVar[str] = "long_context"
    version: ClassVar[int] = 1
    probes: ClassVar[frozenset[str] | None] = _CONTEXT
    looks_back: ClassVar[int] = 0
    metrics: ClassVar[tuple[Metric, ...]] = (
        Metric(name="long_kl_nats", unit="nats", better="lower", source="monitor.stats.divergence",
               definition="Mean tail-bucket KL(golden || endpoint) over answers to long prompts."),
        Metric(name="long_flip_rate", unit="share", better="lower", source="monitor.stats.betabinomial",
               definition="Tokens of answers to long prompts that golden likes less than its first choice by more than "
                          "a margin / tokens; used without logprobs."),
        Metric(name="codes_missed", unit="share", better="lower", source="DESIGN section 6",
               definition="Long prompts whose code is not in the answer, and whose answer golden would not have given "
                          "/ long prompts, k of n."),
    )  # fmt: skip

    long_tokens: int = 256
    """Prompts of the `context` probe with at least so many golden tokens are long."""
    full_precision_nats: float = 0.005
    """Tolerance for an endpoint that declares 16 or 32 bit, or nothing."""
    eight_bit_nats: float = 0.02
    """Tolerance for an endpoint that declares 8 bit or less."""
    tolerated_rate: float = 0.02
    """Tolerated flip rate, where there are no logprobs."""
    noise_nats: float = 0.1
    """Margin up to which a token is no flip, nats; five times as much for an endpoint that declares 8 bit or less."""
    cut_share: float = 0.03
    """Share of a long prompt that must be missing from the endpoint's count to call it cut."""
    cut: float = 5.0
    """While no divergence is above so many times the tolerance, the interval of their mean relies on that."""
    rho: float = 0.02
    """Upper bound of the correlation of flips within one answer."""
    alpha: float = 0.001
    """Probability of a false failure, over all looks together."""
    min_long: int = 4
    """Fewest answers to long prompts for a verdict."""

    def __post_init__(self) -> None:
        if not 0 < self.full_precision_nats <= self.eight_bit_nats or self.noise_nats < 0:
            raise ValueError("0 < `full_precision_nats` <= `eight_bit_nats` and 0 <= `noise_nats` must hold")
        if not (0 < self.tolerated_rate < 0.3 and 0 < self.cut_share < 1 and self.cut > 1 and 0 <= self.rho < 1):
            raise ValueError("`tolerated_rate` must be in (0, 0.3), `cut_share` in (0, 1), `cut` > 1, `rho` in [0, 1)")
        if not 0 < self.alpha < 0.05 or min(self.min_long, self.long_tokens) < 1:
            raise ValueError("`alpha` must lie between 0 and 0.05; `min_long` and `long_tokens` must be at least 1")

    def run(self, evidence: Evidence, *, at: datetime, rng: np.random.Generator) -> Verdict:
        """Judge the answers to long prompts."""
        del rng
        found, left_out = greedy_answers(evidence, _CONTEXT)
        short, _ = greedy_answers(evidence, _SHORT)
        if says_after_temperature([*found, *short]):
            found, short = by_text(found), by_text(short)
        long, brief = split_by_length(found, self.long_tokens)
        listed = bool(long) and all(answer.listed for answer in long)
        card = Card(
            detector=self.kind, version=self.version, statistic="long_kl_nats" if listed else "long_flip_rate",
            unit="nats" if listed else "share",
        )  # fmt: skip
        if len(long) < self.min_long:
            return verdict(card, self._too_few(evidence, len(long), left_out), evidence, at)
        clues = context_clues(long, [*short, *brief], noise=self._noise(evidence), cut_share=self.cut_share)
        return verdict(card, self._finding(clues, long, listed, evidence), evidence, at)

    def _too_few(self, evidence: Evidence, n: int, left_out: int) -> Finding:
        cause, why = nothing_to_judge(evidence, _CONTEXT, left_out)
        reason = f"{plural(n, 'answer')} to long prompts comparable, {self.min_long} needed: {why}"
        return Finding(status="inconclusive", cause=cause, reason=reason, n=n)

    def _finding(self, clues: ContextClues, long: Sequence[GreedyAnswer], listed: bool, evidence: Evidence) -> Finding:
        tolerated = self._tolerated_nats(evidence) if listed else self.tolerated_rate
        process, interval = self._by_logprobs(long, tolerated) if listed else self._by_flips(long, clues.noise)
        judged = status_of(process.final, interval, tolerated=tolerated, fail_nats=-math.log(self.alpha))
        status: Status = "fail" if clues.n_cut else judged
        fault = clues.cause(tolerated_nats=self._tolerated_nats(evidence), tolerated_rate=self.tolerated_rate)
        cause, why = named(status, fault)
        n = sum(len(answer.listed) if listed else len(answer.places) for answer in long)
        return Finding(
            status=status, cause=cause, reason=_reason(clues, interval, tolerated, listed, why),
            effect=interval.estimate, low=interval.low, high=interval.high, n=n, threshold=tolerated,
            p_value=process.p_value, log_e=process.final, mde=self._mde(n, tolerated), details=clues.numbers(),
        )  # fmt: skip

    def _by_logprobs(self, long: Sequence[GreedyAnswer], tolerated: float) -> tuple[EProcess, Interval]:
        """Every token is a look: there are few."""
        kls = np.array([kl for answer in long for _, kl in answer.listed])
        near = self.cut * tolerated
        most = near if kls.max() <= near else max(near, _FAR_NATS)
        level = mean_sequence(np.minimum(kls, most), low=0.0, high=most, confidence=0.975)
        interval = Interval(
            estimate=float(level.mean[-1]), low=float(level.low[-1]), high=float(level.high[-1]), confidence=0.95
        )
        return mean_above(kls, null=tolerated), interval

    def _by_flips(self, long: Sequence[GreedyAnswer], noise: float) -> tuple[EProcess, Interval]:
        k = [sum(margin > noise for margin in answer.margins) for answer in long]
        n = [len(answer.margins) for answer in long]
        return flip_process(k, n, p0=self.tolerated_rate, rho=self.rho), rate_interval(k, n, rho=self.rho)

    def _noise(self, evidence: Evidence) -> float:
        return self.noise_nats * (1 if is_full(evidence) else 5)

    def _tolerated_nats(self, evidence: Evidence) -> float:
        """The KL that an endpoint of the declared precision may show: as calibrated, but not below the default.

        Calibration is on short prompts, and rounding adds up over long ones.
        """
        default = self.full_precision_nats if is_full(evidence) else self.eight_bit_nats
        return max(default, allowed(evidence, "kl_nats", full=default, coarse=default))

    def _mde(self, n: int, tolerated: float) -> float:
        """About the smallest effect that reaches ``1 / alpha`` in `n` looks."""
        return tolerated * (1 + 2 * math.expm1((-math.log(self.alpha) + math.log(12)) / n))


def _reason(clues: ContextClues, interval: Interval, tolerated: float, listed: bool, why: str) -> str:
    what = "mean KL {:.2g} nats" if listed else "{:.2g} of the tokens flip"
    text = (
        f"long prompts: {what.format(interval.estimate)} ({interval.low:.2g} to {interval.high:.2g}; {tolerated:g} is "
        f"tolerated), {clues.n_found} of {clues.n_long} codes found"
    )
    return f"{text}; {why}" if why else text


DETECTOR = LongContext
