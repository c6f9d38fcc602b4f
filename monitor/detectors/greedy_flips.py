"""Does the endpoint take the token that golden would take, given the endpoint's own words before it?

Needs: the golden view of answers at temperature 0 (teacher-forced); text is enough, logprobs help to name the cause.
Statistic: share of tokens that golden likes less than its own first choice by more than ``noise_nats``: flips. Nearer
ties flip between faithful engines too, and say nothing.
Decides: an e-process over requests against the tolerance null (a flip rate of at most the tolerance, correlated within
requests), mixed over rates and over shares of requests that something else answers; so it may be looked at after every
request. *Fail* at ``1 / alpha``, *suspect* at 20 or when the interval of the rate lies above the tolerance, *pass* when
it lies below, else *inconclusive*.
Causes: another prompt (token counts) is template or tokenizer; tokens that the endpoint itself likes less are a
sampler's; margins of ``different_nats`` on average are a different model's; answers that are golden's up to a fall off
a cliff are the engine's (joins); flips in some requests only are routing; flips that come with length are the KV
cache's, and so are all where the endpoint is off in another way in each context, by logprobs or, without, by the
choices themselves; the others are the weights'.
What can mislead it: a text whose tokens cannot be known (left out and counted); few flips, whose choices say little of
their cause (``cause_unsure``); tolerances measured on one model.
Source: `monitor.stats.betabinomial`, `monitor.stats.routing`, `monitor.stats.choices`; margins and rates measured on
SmolLM2-135M.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

import numpy as np

from monitor.evidence import Card, Finding, verdict
from monitor.flip_clues import clues_of
from monitor.greedy_answers import (
    GreedyAnswer,
    by_text,
    greedy_answers,
    named,
    nothing_to_judge,
    says_after_temperature,
)
from monitor.results import Evidence, Metric, Verdict
from monitor.standing import calibrated, is_full, status_of
from monitor.stats.betabinomial import flip_log_ratios, flip_process, rate_interval
from monitor.stats.checks import Floats
from monitor.stats.eprocess import EProcess, Interval
from monitor.stats.routing import routing_process, routing_share

RATIOS = (3.0, 10.0, 30.0)
"""Alternatives as multiples of the tolerated rate."""
SHARES = (0.1, 0.3, 1.0)
"""Shares of requests that are answered by something else."""
_CLIFFS, _CLIFF_RATIOS = 0.001, (5.0, 30.0)
_LEAST_TOLERATED, _MOST_TOLERATED = 0.001, 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class _Counts:
    """Flips by answer: which tokens, how many, of how many; ``near_ties`` are too close to be called one."""

    answers: Sequence[GreedyAnswer]
    flips: Sequence[tuple[bool, ...]]
    k: Floats
    n: Floats
    near_ties: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GreedyFlips:
    """Tokens at temperature 0 that golden would not have taken."""

    kind: ClassVar[str] = "greedy_flips"
    version: ClassVar[int] = 1
    probes: ClassVar[frozenset[str] | None] = frozenset({"greedy"})
    looks_back: ClassVar[int] = 0
    metrics: ClassVar[tuple[Metric, ...]] = (
        Metric(name="flip_rate", unit="share", better="lower", source="monitor.stats.betabinomial",
               definition="Greedy tokens that golden likes less than its first choice by more than a margin / tokens."),
        Metric(name="routed_share", unit="share", better="lower", source="monitor.stats.routing",
               definition="Share of the requests that something else answers, where flips gather in some of them."),
    )  # fmt: skip

    noise_nats: float = 0.1
    """Margin up to which faithful engines of 16 bit and above may differ, nats."""
    coarse_noise_nats: float = 0.5
    """The same for an endpoint that declares less than 16 bit."""
    tolerated_rate: float = 0.015
    """Tolerated flip rate, where the reference is not calibrated."""
    rho: float = 0.01
    """Upper bound of the correlation of flips within one answer."""
    alpha: float = 0.001
    """Probability of a false failure, over all looks together."""
    cliff_nats: float = 6.0
    """Margin of a token that no other weights of the same model would choose."""
    different_nats: float = 4.0
    """Mean margin over all tokens above which the endpoint does not serve this model greedily at all."""
    min_answers: int = 4
    """Fewest answers for a verdict."""

    def __post_init__(self) -> None:
        if not 0 <= self.noise_nats <= self.coarse_noise_nats < self.cliff_nats:
            raise ValueError("0 <= `noise_nats` <= `coarse_noise_nats` < `cliff_nats` must hold")
        if not 0 < self.tolerated_rate <= _MOST_TOLERATED or self.different_nats <= 0:
            raise ValueError(f"`tolerated_rate` must lie in (0, {_MOST_TOLERATED}] and `different_nats` above 0")
        if not 0 <= self.rho < 1 or not 0 < self.alpha < 0.05:
            raise ValueError("`rho` must lie in [0, 1) and `alpha` between 0 and 0.05")
        if self.min_answers < 1:
            raise ValueError("`min_answers` must be at least 1")

    def run(self, evidence: Evidence, *, at: datetime, rng: np.random.Generator) -> Verdict:
        """Judge the flips of all scored greedy answers."""
        card = Card(detector=self.kind, version=self.version, statistic="flip_rate", unit="share")
        answers, left_out = greedy_answers(evidence, self.probes or ())
        if len(answers) < self.min_answers:
            cause, why = nothing_to_judge(evidence, self.probes or (), left_out)
            reason = f"{len(answers)} greedy answers comparable, {self.min_answers} needed: {why}"
            finding = Finding(status="inconclusive", cause=cause, reason=reason, n=len(answers),
                              details={"n_noncanonical": left_out})  # fmt: skip
            return verdict(card, finding, evidence, at)
        answers = by_text(answers) if says_after_temperature(answers) else answers
        return verdict(card, self._finding(self._counted(answers, evidence), left_out, evidence, rng), evidence, at)

    def _counted(self, answers: Sequence[GreedyAnswer], evidence: Evidence) -> _Counts:
        noise = self.noise_nats if is_full(evidence) else self.coarse_noise_nats
        flips = [tuple(margin > noise for margin in answer.margins) for answer in answers]
        return _Counts(
            answers=answers, flips=flips,
            k=np.array([sum(row) for row in flips], dtype=np.float64),
            n=np.array([len(row) for row in flips], dtype=np.float64),
            near_ties=sum(0 < margin <= noise for answer in answers for margin in answer.margins),
        )  # fmt: skip

    def _finding(self, counts: _Counts, left_out: int, evidence: Evidence, rng: np.random.Generator) -> Finding:
        tolerated = self._tolerated(evidence)
        ratios = flip_log_ratios(counts.k, counts.n, p0=tolerated, rho=self.rho, ratios=RATIOS)
        process = self._evidence(ratios, counts)
        interval = rate_interval(counts.k, counts.n, rho=self.rho)
        status = status_of(process.final, interval, tolerated=tolerated, fail_nats=-math.log(self.alpha))
        clues = clues_of(
            counts.answers, counts.flips, routing_share(ratios), cliff_nats=self.cliff_nats,
            rng=rng if status in {"fail", "suspect"} else None,
        )  # fmt: skip
        cause, why = named(status, clues.cause(tolerated=tolerated, different_nats=self.different_nats))
        return Finding(
            status=status, cause=cause, reason=_reason(counts, interval, tolerated, why),
            effect=interval.estimate, low=interval.low, high=interval.high, n=int(counts.n.sum()),
            threshold=tolerated, p_value=process.p_value, log_e=process.final,
            mde=self._mde(float(counts.n.sum()), tolerated),
            details={**clues.numbers(), "k": int(counts.k.sum()), "n_answers": len(counts.answers),
                     "n_flipped_answers": int((counts.k > 0).sum()), "near_ties": counts.near_ties,
                     "n_noncanonical": left_out},
        )  # fmt: skip

    def _evidence(self, ratios: Floats, counts: _Counts) -> EProcess:
        """Average of the evidence of flips and of that of falls off a cliff, of which one answer may hold but one."""
        flips = routing_process(ratios, shares=SHARES)
        falls = [sum(margin > self.cliff_nats for margin in answer.margins) for answer in counts.answers]
        cliffs = flip_process(falls, counts.n, p0=_CLIFFS, rho=self.rho, ratios=_CLIFF_RATIOS)
        return EProcess(log_e=np.logaddexp(flips.log_e, cliffs.log_e) - math.log(2))

    def _tolerated(self, evidence: Evidence) -> float:
        """The tolerated flip rate: as calibrated, else the default."""
        found = calibrated(evidence, "flip_rate")
        return self.tolerated_rate if found is None else min(max(found, _LEAST_TOLERATED), _MOST_TOLERATED)

    def _mde(self, n: float, tolerated: float) -> float | None:
        """Smallest rate whose expected evidence reaches ``1 / alpha`` in `n` independent tokens."""
        rates = np.linspace(tolerated, 1 - 1e-9, 2000)[1:]
        gain = rates * np.log(rates / tolerated) + (1 - rates) * np.log((1 - rates) / (1 - tolerated))
        # Two: this evidence is averaged with that of the cliffs.
        needed = -math.log(self.alpha) + math.log(2 * len(RATIOS) * len(SHARES))
        enough = np.flatnonzero(n * gain >= needed)
        return float(rates[enough[0]]) if enough.size else None


def _reason(counts: _Counts, interval: Interval, tolerated: float, why: str) -> str:
    text = (
        f"{int(counts.k.sum())} of {int(counts.n.sum())} greedy tokens of {len(counts.answers)} answers are not "
        f"golden's ({interval.low:.2g} to {interval.high:.2g} at every look); {tolerated:g} is tolerated"
    )
    return f"{text}; {why}" if why else text


DETECTOR = GreedyFlips
