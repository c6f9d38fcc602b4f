"""Does the endpoint draw its tokens as it was told: at temperature 1, from the whole distribution, without penalties?

Needs: answers of the `sample` probe and golden weights that know the whole distribution (a server or pack does not).
Text is enough. No extra requests.
Statistic: the exact likelihood ratio of every token under 28 other samplers (temperature, top-p, top-k, min-p) and
under penalties on what was said, against plain sampling from golden; beside them two catch-alls on the randomised PIT.
Four e-values, averaged, less an allowance per token for engine noise. Against plain sampling from golden itself this is
an exact e-value; against "within the tolerance" the allowance makes it an approximation (`monitor.stats.samplers`): an
endpoint whose KL is all of the tolerance, by its temperature alone, failed at alpha 0.001 in 0.1% to 0.7% of the
streams of 1,200 tokens and in 1% to 3% of those of 5,000. The effect is the temperature that explains the tokens best,
with an anytime-valid interval.
Decides: *fail* when the e-value reaches 1 / ``alpha``; *suspect* when it reaches 20 or the interval leaves the
tolerated band; *pass* when the interval lies in the band, and every truncation, and every penalty of half a nat or
more, is 20 times less likely than plain sampling (smaller penalties are not excluded); else *inconclusive*. The sampler
is blamed when one of its rules explains the tokens better than the catch-alls do, weights or engine otherwise; the
template where the prompt's token count is already wrong.
What can mislead it: defaults that the endpoint applies to requests that do not speak of them (a finding, but one to
cure in the request); other weights look like a higher temperature, so that is blamed on the sampler only where it beats
the catch-alls clearly, or where greedy answers in the same evidence show golden's weights; 8-bit weights are not seen.
Text that the endpoint drew in other pieces than golden makes of it is left out where the counts tell (6% to 18% of the
answers of a small model), which favours likely tokens by about 0.4%.
Source: formulas and nulls in `monitor.stats.samplers` and `monitor.stats.ranks`; issue 5.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar

import numpy as np

from monitor.evidence import Card, Finding, asked_by, mostly_misread, not_answered, verdict
from monitor.greedy_answers import greedy_answers
from monitor.results import Evidence, GoldenView, Metric, Status, Verdict
from monitor.sampled import SamplerEvidence, is_own_split, is_plain, sampled, weigh
from monitor.standing import SUSPECT_NATS, allowed, is_full
from monitor.stats.rates import Rate, wilson
from monitor.stats.samplers import RULES
from monitor.types import Exchange

GREEDY = frozenset({"greedy", "logprobs"})
"""Probes whose answers at temperature 0 show the weights without the sampler.

Those of `border` do not: there, golden's own choice is nearly a tie.
"""

CLEAR_NATS, CLEAR_SHARE = 4.0, 0.1
"""By how much a higher temperature must beat the catch-alls, in nats and as a share of its evidence.

SmolLM2-135M in Q4_0 looks like temperature 1.15, but never beat them by more than 3.3 nats; temperature 1.3 did by 5.9
or more from 190 tokens on, and by 16% of its evidence.
"""

NEARLY = 0.75
"""Tokens from elsewhere are capped in what they count, the PIT is not: this much of its evidence is as good."""

CLEARING = 100
"""Fewest greedy tokens that can clear the weights."""

CLEAR_RATES = 2
"""The interval of their flip rate must end below so many times `flip_rate`: 1 flip of 100 tokens does, 2 do not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampler:
    """Exact likelihood ratios of other samplers."""

    kind: ClassVar[str] = "sampler"
    version: ClassVar[int] = 1
    probes: ClassVar[frozenset[str] | None] = frozenset({"sample"})
    looks_back: ClassVar[int] = 0
    metrics: ClassVar[tuple[Metric, ...]] = (
        Metric(name="served_temperature", unit="temperature", better="neither", source="monitor.stats.samplers",
               definition="Temperature under which golden explains the sampled tokens best; 1 was asked for."),
    )  # fmt: skip

    alpha: float = 0.001
    """Chance of a false *fail*, over all looks at one stream of tokens, for plain sampling from golden.

    At the edge of the tolerance it is larger, and grows with the tokens: up to 0.7% at 1,200, up to 3% at 5,000.
    """
    band: float = 0.1
    """How far from 1 the served temperature may be for a pass."""
    full_precision_nats: float = 0.002
    """Allowance per token for an endpoint that declares 16 or 32 bit, or nothing; where `kl_nats` is not calibrated."""
    low_precision_nats: float = 0.01
    """Allowance per token for an endpoint that declares 8 bit or less; where `kl_nats` is not calibrated for it."""
    min_tokens: int = 192
    """Fewest sampled tokens for a verdict: fewer suffice for an alarm, but not for its cause."""
    flip_rate: float = 0.03
    """Share of greedy tokens that golden would not take, beyond which the weights are not golden's."""
    noise_nats: float = 0.1
    """Margin up to which a greedy token is no flip, nats; five times as much where less than 16 bit is declared."""

    def __post_init__(self) -> None:
        if not (0 < self.alpha < 1 and 0 < self.band < 1 and 0 < self.flip_rate < 1 and self.min_tokens >= 1):
            raise ValueError("`alpha`, `band`, `flip_rate` must lie between 0 and 1, `min_tokens` must be at least 1")
        if not 0 <= self.full_precision_nats <= self.low_precision_nats or self.noise_nats < 0:
            raise ValueError("0 <= `full_precision_nats` <= `low_precision_nats` and 0 <= `noise_nats` must hold")

    def run(self, evidence: Evidence, *, at: datetime, rng: np.random.Generator) -> Verdict:
        """Judge all sampled tokens of the evidence, in the order in which they came.

        `rng` is not needed: what is random follows from the exchanges, or a second look would not continue the first.
        """
        card = Card(detector=self.kind, version=self.version, statistic="served_temperature", unit="temperature")
        pairs = [pair for pair in asked_by(evidence, self.probes or ()) if is_plain(pair[0])]
        kept = [(exchange, view) for exchange, view in pairs if is_own_split(exchange, view)]
        tokens = sampled([view for _, view in kept])
        n = 0 if tokens is None else len(tokens.entropy)
        if tokens is None or n < self.min_tokens:
            return verdict(card, self._too_little(evidence, pairs, n), evidence, at)
        counts = {"n_answers": tokens.n_answers, "n_noncanonical": len(pairs) - len(kept)}
        return verdict(card, self._finding(weigh(tokens), pairs, counts, evidence), evidence, at)

    def _finding(
        self, seen: SamplerEvidence, pairs: Sequence[tuple[Exchange, GoldenView]], counts: Mapping[str, int],
        evidence: Evidence,
    ) -> Finding:
        allowance = self.allowance_nats(evidence)
        log_e = seen.log_e(allowance)
        status = self._status(seen, log_e)
        flips = self._greedy_flips(evidence)
        cause, why = None, ""
        if status in {"fail", "suspect"}:
            cause, why = self._blame(seen, flips, misread=mostly_misread(pairs))
        elif status == "inconclusive":
            cause, why = "undecided", _open(seen)
        return Finding(
            status=status, cause=cause, reason=_reason(seen, log_e) + why, log_e=log_e, n=seen.n,
            effect=seen.temperature.estimate, low=seen.temperature.low, high=seen.temperature.high,
            threshold=1 + self.band if seen.temperature.estimate >= 1 else 1 - self.band,
            mde=self._mde(seen, allowance), band=None if cause != "sampler" else f"{seen.direction} sampler",
            details={**counts, **_numbers(seen), "allowance_nats": allowance, "greedy_flips": flips.k,
                     "n_greedy": flips.n},
        )  # fmt: skip

    def allowance_nats(self, evidence: Evidence) -> float:
        """What the log e-value gives up per token: the tolerated KL of the declared precision."""
        found = allowed(evidence, "kl_nats", full=self.full_precision_nats, coarse=self.low_precision_nats)
        return max(found, 0.0)

    def _status(self, seen: SamplerEvidence, log_e: float) -> Status:
        low, high = seen.temperature.low, seen.temperature.high
        if log_e >= -math.log(self.alpha):
            return "fail"
        if log_e >= SUSPECT_NATS or low > 1 + self.band or high < 1 - self.band:
            return "suspect"
        inside = low >= 1 - self.band and high <= 1 + self.band
        return "pass" if inside and not seen.undecided else "inconclusive"

    def _blame(self, seen: SamplerEvidence, flips: Rate, *, misread: bool) -> tuple[str, str]:
        """The cause, and the sentence that excludes its neighbours."""
        if misread:
            return "template", "; the prompt itself differs from golden's, so the sampler is not judged"
        kind, value = seen.best
        # A penalty changes greedy answers too, so they say nothing about the weights then.
        by_penalty = kind == "penalty" and seen.sampler_nats >= seen.other_nats
        if not by_penalty and flips.low is not None and flips.low > self.flip_rate:
            return "weights", f"; {flips.k} of {flips.n} greedy tokens differ from golden's, so weights come first"
        if seen.stray_nats > max(seen.sampler_nats, NEARLY * seen.pit_nats):
            return "engine", "; single tokens that golden holds impossible among plainly sampled ones: garbled joins"
        if not by_penalty and self._clears(flips):
            return "sampler", f"; most like {_named(kind, value)}; {flips.n} greedy tokens show golden's weights"
        if not _fits_better(seen):
            return "weights", f"; other weights explain the tokens as well as {_named(kind, value)} does"
        return "sampler", f"; {_named(kind, value)} explains the tokens better than other weights do"

    def _clears(self, flips: Rate) -> bool:
        """Whether greedy answers show that the weights are golden's: enough tokens, of which few enough flip."""
        if flips.n < CLEARING or flips.value is None or flips.high is None:
            return False
        return flips.value <= self.flip_rate and flips.high < CLEAR_RATES * self.flip_rate

    def _greedy_flips(self, evidence: Evidence) -> Rate:
        """Tokens of greedy answers that golden would not take: what the weights do without a sampler."""
        noise = self.noise_nats * (1 if is_full(evidence) else 5)
        answers, _ = greedy_answers(evidence, GREEDY)
        cold = [one for one in answers if one.exchange.request is not None and one.exchange.request.temperature == 0]
        margins = [margin for answer in cold for margin in answer.margins]
        return wilson(sum(margin > noise for margin in margins), len(margins))

    def _too_little(self, evidence: Evidence, pairs: Sequence[tuple[Exchange, GoldenView]], n: int) -> Finding:
        problems = sorted({view.problem for _, view in pairs if view.problem})
        found = not_answered(evidence, self.probes or ())
        if found is None and n == 0:
            found = "not_comparable", problems[0] if problems else "golden knows no whole distribution here"
        cause, why = found or ("too_few", "ask more prompts or longer answers")
        reason = f"{n} sampled tokens, {self.min_tokens} needed: {why}"
        return Finding(status="inconclusive", cause=cause, n=n, reason=reason)

    def _mde(self, seen: SamplerEvidence, allowance: float) -> float | None:
        """Smallest served temperature above 1 whose tokens would on average have reached 1 / alpha."""
        needed = -math.log(self.alpha) + math.log(4 * len(RULES))
        step = math.sqrt(2 * (needed / seen.n + allowance) / seen.variance) if seen.variance > 0 else math.inf
        return 1 / (1 - step) if step < 1 else None


def _fits_better(seen: SamplerEvidence) -> bool:
    """Whether a sampler explains the tokens better than other weights, which make them more surprising as well."""
    kind, value = seen.best
    lead = seen.sampler_nats - seen.other_nats
    needed = max(CLEAR_NATS, CLEAR_SHARE * seen.sampler_nats) if kind == "temperature" and value > 1 else 0.0
    return lead >= needed


def _named(kind: str, value: float) -> str:
    words = {"temperature": "temperature {:.2f}", "top_p": "top-p of about {:g}", "top_k": "top-k of about {:g}",
             "min_p": "min-p of about {:g}", "penalty": "a penalty of about {:g} nats on what was said"}  # fmt: skip
    return words[kind].format(value)


def _reason(seen: SamplerEvidence, log_e: float) -> str:
    found = seen.temperature
    return (
        f"{seen.n} sampled tokens look like temperature {found.estimate:.2f} (95% interval {found.low:.2f} to "
        f"{found.high:.2f}, valid at every look); evidence against plain sampling {log_e:.1f} nats"
    )


def _open(seen: SamplerEvidence) -> str:
    left = seen.undecided
    return f"; not excluded: {', '.join(left[:3])}" if left else "; the interval is wider than the tolerated band"


def _numbers(seen: SamplerEvidence) -> dict[str, Any]:
    kind, value = seen.best
    return {
        "parameter": kind, "value": value, "direction": seen.direction, "excess_nats": seen.excess_nats,
        "rule_nats": seen.rule_nats, "penalty_nats": seen.penalty_nats, "pit_nats": seen.pit_nats,
        "stray_nats": seen.stray_nats,
    }  # fmt: skip


DETECTOR = Sampler
