"""Where in an answer do the endpoint's probabilities leave golden's?

Needs: top-k logprobs of answers at temperature 0 and their golden view (teacher-forced); no requests of its own.
Statistic: tail-bucket KL(golden || endpoint), the mean of each stretch of ``stretch`` tokens. The effect is the mean of
these, each cut at ``cut`` times the tolerance (at 5 nats once one is above); the mean over tokens, not cut, is in the
details, and so is the slope over the place in the answer, with an interval that goes by answers.
Decides: an e-process over stretches against the tolerance null (in every stretch, the expected divergence given the
past is at most the tolerance), so it may be looked at after every answer. *Fail* at ``1 / alpha``, *suspect* at 20 or
when the interval of the level lies above the tolerance, *pass* when it lies below, else *inconclusive*.
Causes: another prompt (token counts), or a difference that is large at the first tokens and fades, is the template's;
some answers off and the others clean is routing; a difference that grows with the place, or that is another one in each
context, is the KV cache's; one that moves the same tokens at all places is the weights'.
What can mislead it: logprobs after temperature (said, not judged) or after masking; short answers show little growth;
tolerances measured on one model.
Source: `monitor.stats.divergence`, `monitor.stats.confseq`; tolerances as in `logprob_fidelity`, measured on
SmolLM2-135M: 5e-6 nats at 16 bit, 0.33 at 4 bit.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

import numpy as np

from monitor.divergence_profile import profile_of
from monitor.evidence import Card, Finding, says_nothing_of_weights, verdict
from monitor.greedy_answers import (
    GreedyAnswer,
    greedy_answers,
    named,
    nothing_to_judge,
    prompt_fault,
    says_after_temperature,
)
from monitor.results import Evidence, Metric, Verdict
from monitor.standing import allowed, status_of
from monitor.stats.checks import Floats
from monitor.stats.confseq import mean_above, mean_sequence
from monitor.stats.eprocess import Interval

_FAR_NATS = 5.0
_LEAST_NATS = 1e-6  # nothing can be bet against a tolerance of 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LogprobProfile:
    """Divergence from golden by place in the answer."""

    kind: ClassVar[str] = "logprob_profile"
    version: ClassVar[int] = 1
    probes: ClassVar[frozenset[str] | None] = frozenset({"greedy"})
    looks_back: ClassVar[int] = 0
    metrics: ClassVar[tuple[Metric, ...]] = (
        Metric(name="greedy_kl_nats", unit="nats", better="lower", source="monitor.stats.divergence",
               definition="Mean over stretches of greedy answers (8 tokens unless set otherwise) of their mean "
                          "tail-bucket KL(golden || endpoint), each cut at 5 times the tolerance, or at 5 nats once "
                          "one is above."),
        Metric(name="kl_slope", unit="nats per 100 tokens", better="lower", source="DESIGN section 6",
               definition="Least-squares slope of the divergence over the place in the answer."),
    )  # fmt: skip

    full_precision_nats: float = 0.002
    """Tolerance for an endpoint that declares 16 or 32 bit, or nothing; where the reference is not calibrated."""
    eight_bit_nats: float = 0.01
    """Tolerance for an endpoint that declares 8 bit or less; where the reference is not calibrated for it."""
    stretch: int = 8
    """Tokens whose mean divergence is one look."""
    cut: float = 5.0
    """While no divergence is above so many times the tolerance, the interval of their mean relies on that."""
    alpha: float = 0.001
    """Probability of a false failure, over all looks together."""
    min_answers: int = 2
    """Fewest answers with logprobs for a verdict."""

    def __post_init__(self) -> None:
        if not 0 < self.full_precision_nats <= self.eight_bit_nats:
            raise ValueError("0 < `full_precision_nats` <= `eight_bit_nats` must hold")
        if self.stretch < 1 or self.cut <= 1 or not 0 < self.alpha < 0.05:
            raise ValueError("`stretch` must be at least 1, `cut` above 1, and `alpha` between 0 and 0.05")
        if self.min_answers < 2:
            raise ValueError("`min_answers` must be at least 2, or there is no interval")

    def run(self, evidence: Evidence, *, at: datetime, rng: np.random.Generator) -> Verdict:
        """Judge all greedy answers that have both an endpoint's and a golden distribution."""
        del rng
        card = Card(detector=self.kind, version=self.version, statistic="greedy_kl_nats", unit="nats")
        found, left_out = greedy_answers(evidence, self.probes or ())
        answers = [answer for answer in found if answer.listed]
        finding = self._too_little(evidence, answers, found, left_out) or self._finding(answers, evidence)
        return verdict(card, finding, evidence, at)

    def _too_little(
        self, evidence: Evidence, answers: Sequence[GreedyAnswer], found: Sequence[GreedyAnswer], left_out: int
    ) -> Finding | None:
        if len(answers) >= self.min_answers:
            return says_nothing_of_weights(len(answers)) if says_after_temperature(answers) else None
        if len(found) > len(answers):
            asked = any(one.exchange.request and one.exchange.request.top_logprobs for one in found)
            cause, why = ("no_logprobs", "the endpoint returns no logprobs") if asked else (
                "not_asked", "no probe asked for logprobs")  # fmt: skip
        else:
            cause, why = nothing_to_judge(evidence, self.probes or (), left_out)
        reason = f"{len(answers)} greedy answers with logprobs, {self.min_answers} needed: {why}"
        return Finding(status="inconclusive", cause=cause, reason=reason, n=len(answers))

    def _finding(self, answers: Sequence[GreedyAnswer], evidence: Evidence) -> Finding:
        tolerated = self._tolerated(evidence)
        stretches = np.array([kl for answer in answers for kl in answer.stretches(self.stretch)])
        process = mean_above(stretches, null=tolerated)
        most = self._most(stretches, tolerated)
        level = mean_sequence(np.minimum(stretches, most), low=0.0, high=most, confidence=0.975)
        profile = profile_of(answers, tolerated)
        mean, low, high = (float(bound[-1]) for bound in (level.mean, level.low, level.high))
        interval = Interval(estimate=mean, low=low, high=high, confidence=0.95)
        status = status_of(process.final, interval, tolerated=tolerated, fail_nats=-math.log(self.alpha))
        cause, why = named(status, profile.cause(prompt_fault(answers)))
        return Finding(
            status=status, cause=cause, reason=_reason(interval, stretches.size, most, tolerated, why),
            effect=mean, low=low, high=high, n=profile.n_positions, threshold=tolerated,
            p_value=process.p_value, log_e=process.final, mde=self._mde(stretches.size, tolerated),
            details={**profile.numbers(), "cause_unsure": profile.unsure and cause in {"weights", "kv_cache"},
                     "n_answers": len(answers), "prompt_fault": prompt_fault(answers) or "none", "cut_nats": most},
        )  # fmt: skip

    def _tolerated(self, evidence: Evidence) -> float:
        """The KL that an endpoint of the declared precision may show: as calibrated, else the defaults."""
        return max(_LEAST_NATS, allowed(evidence, "kl_nats", full=self.full_precision_nats, coarse=self.eight_bit_nats))

    def _most(self, stretches: Floats, tolerated: float) -> float:
        """Where divergences are cut: near the tolerance if none is beyond, else far off, so that the level is seen.

        Which of the two intervals is shown follows from the data, so each holds with half the error.
        """
        near = self.cut * tolerated
        return near if stretches.max() <= near else max(near, _FAR_NATS)

    def _mde(self, looks: int, tolerated: float) -> float:
        """Smallest constant divergence that reaches ``1 / alpha`` in `looks` looks, betting half of what there is."""
        needed = (-math.log(self.alpha) + math.log(12)) / looks
        return tolerated * (1 + 2 * math.expm1(needed))


def _reason(found: Interval, n: int, cut_nats: float, tolerated: float, why: str) -> str:
    text = (
        f"mean KL {found.estimate:.2g} nats of {n} stretches of greedy answers, each cut at {cut_nats:.2g} "
        f"({found.low:.2g} to {found.high:.2g} at every look); {tolerated:g} is tolerated"
    )
    return f"{text}; {why}" if why else text


DETECTOR = LogprobProfile
