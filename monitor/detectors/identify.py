"""Which known way to change the golden weights explains what the endpoint says?

Needs: top-k logprobs at temperature 0, golden's view of them, and predictions of variants (`weighmaster identify`
computes them). Statistic: the posterior share of families that are coarser than declared, out of the matched filter of
`monitor.stats.matched`: observed deviations against predicted ones, sizes included, prompts as clusters.
Decides: *fail* when variants outside the declared precision have a posterior of `sure`; *suspect* at `likely`; *pass*
when those within it have `likely`. What no variant predicts is *inconclusive* with the cause ``unexplained``, and so is
what is not decided yet. The cause names layer and scheme, such as ``weights: Q8_0``.
What can mislead it: logprobs after the sampler (said, not judged); a scheme that is not in the bank (then the nearest
is a hint, no finding); schemes that predict the same; roundings of activations and of the KV cache, which cannot be
predicted exactly; a bank of another checkpoint.
Source: docs/identify.md, measured on llama.cpp.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar

import numpy as np

from monitor.detectors._calls import LEAST_NATS
from monitor.evidence import (
    Card,
    Finding,
    after_sampler,
    asked_by,
    mostly_misread,
    prompt_of,
    says_nothing_of_weights,
    verdict,
)
from monitor.results import Evidence, Metric, Status, Verdict
from monitor.stats.matched import FAITHFUL, GOLDEN, UNEXPLAINED, Candidate, Match, match
from monitor.stats.matched_space import Floats
from monitor.tolerances import FULL, precision_class

_FULL_BITS = 16
_SHOWN = 6
_WHOLE = 0.95


@dataclass(frozen=True, slots=True)
class _Row:
    """One position: logprobs of the same tokens by the endpoint, golden and every variant."""

    prompt: str
    endpoint: Floats
    golden: Floats
    predicted: Mapping[str, Floats]


@dataclass(frozen=True, slots=True, kw_only=True)
class Identify:
    """Posterior over variants of the golden weights."""

    kind: ClassVar[str] = "identify"
    version: ClassVar[int] = 1
    probes: ClassVar[frozenset[str] | None] = frozenset({"identify"})
    looks_back: ClassVar[int] = 0
    metrics: ClassVar[tuple[Metric, ...]] = (
        Metric(name="coarser_posterior", unit="share", better="lower", source="monitor.stats.matched",
               definition="Posterior of the variants that are coarser than declared, or no matter of precision."),
    )  # fmt: skip

    sure: float = 0.99
    """Posterior at which a variant outside the declared precision fails."""
    likely: float = 0.95
    """Posterior at which it is suspect, and one within the declared precision passes."""
    full_precision_nats: float = 0.002
    """KL that faithful engines of full precision may show; where the reference is not calibrated."""
    min_prompts: int = 4
    """Fewest prompts with logprobs for a verdict."""

    def __post_init__(self) -> None:
        if not 0.5 < self.likely <= self.sure < 1:
            raise ValueError("0.5 < `likely` <= `sure` < 1 must hold")
        if self.full_precision_nats <= 0 or self.min_prompts < 1:
            raise ValueError("`full_precision_nats` must be above 0 and `min_prompts` at least 1")

    def run(self, evidence: Evidence, *, at: datetime, rng: np.random.Generator) -> Verdict:
        """Identify what answered, out of all positions with logprobs and predictions."""
        del rng  # nothing is drawn
        card = Card(detector=self.kind, version=self.version, statistic="coarser_posterior", unit="share")
        rows = list(_rows(evidence))
        n_prompts = len({row.prompt for row in rows})
        if n_prompts < self.min_prompts:
            return verdict(card, self._nothing(evidence, n_prompts), evidence, at)
        if after_sampler(place for _, view in asked_by(evidence, self.probes or ()) for place in view.positions):
            return verdict(card, says_nothing_of_weights(n_prompts), evidence, at)
        found = matched(evidence, self.faithful_nats(evidence))
        assert found is not None  # noqa: S101  # there are rows
        return verdict(card, self._finding(found, evidence), evidence, at)

    def faithful_nats(self, evidence: Evidence) -> float:
        """Root mean square deviation that faithful engines may show: the tolerated KL is half its square.

        Of full precision, whatever is declared: a coarser declaration is a hypothesis of its own.
        """
        calibrated = evidence.tolerances.allowed("kl_nats", FULL) if evidence.tolerances else None
        return float(np.sqrt(2 * (self.full_precision_nats if calibrated is None else calibrated)))

    def _finding(self, found: Match, evidence: Evidence) -> Finding:
        causes = {one.variant: one.cause for one in evidence.predictions}
        declared = _bits(evidence.endpoint.precision)
        within = [one for one in found.schemes if _is_within(one, causes, declared)]
        beyond = [one for one in found.schemes if one not in within and one.name != UNEXPLAINED]
        inside, outside = (float(sum(one.posterior for one in some)) for some in (within, beyond))
        status = self._status(inside, outside)
        first = (beyond or within)[0] if status in {"fail", "suspect"} else found.schemes[0]
        misread = mostly_misread(list(asked_by(evidence, self.probes or ())))
        if misread and status in {"fail", "suspect"} and causes.get(first.name) != "template":
            cause: str | None = "template"
        else:
            cause = _cause(first, status, causes, found)
        return Finding(
            status=status, cause=cause, reason=_sentence(found, first, status, evidence),
            effect=min(1.0, outside), low=min(1.0, outside), high=min(1.0, 1 - inside), n=found.n, threshold=self.sure,
            details=_details(found),
        )  # fmt: skip

    def _status(self, inside: float, outside: float) -> Status:
        if outside >= self.likely:
            return "fail" if outside >= self.sure else "suspect"
        return "pass" if inside >= self.likely else "inconclusive"

    def _nothing(self, evidence: Evidence, n_prompts: int) -> Finding:
        asked = list(asked_by(evidence, self.probes or ()))
        if not asked:
            cause, why = "no_answers", "no answer that golden has looked at"
        elif not any(place.endpoint_top for _, view in asked for place in view.positions):
            cause, why = "no_logprobs", "the endpoint returns no logprobs"
        elif not evidence.predictions:
            cause, why = "no_predictions", "nothing was predicted; `weighmaster identify` does that"
        else:
            cause, why = "not_comparable", "too few positions that predictions know"
        return Finding(
            status="inconclusive", cause=cause, n=n_prompts,
            reason=f"{n_prompts} prompts comparable, {self.min_prompts} needed: {why}",
        )  # fmt: skip


def matched(evidence: Evidence, faithful_nats: float) -> Match | None:
    """Match what `evidence` holds of identification; None when it holds nothing that can be compared."""
    rows = list(_rows(evidence))
    if not rows:
        return None
    return match(
        [row.endpoint for row in rows], [row.golden for row in rows],
        {one.variant: [row.predicted[one.variant] for row in rows] for one in evidence.predictions},
        {one.variant: one.family for one in evidence.predictions}, [row.prompt for row in rows],
        faithful_nats=faithful_nats,
    )  # fmt: skip


def deviations(evidence: Evidence, variant: str) -> tuple[Sequence[Floats], Sequence[Floats]]:
    """Observed deviations and those that `variant` predicts, position by position: for a picture."""
    rows = list(_rows(evidence))
    return [row.endpoint - row.golden for row in rows], [row.predicted[variant] - row.golden for row in rows]


def _rows(evidence: Evidence) -> Iterator[_Row]:
    for exchange, view in asked_by(evidence, Identify.probes or ()):
        known = {one.variant: one.logprobs.get(exchange.exchange_id, ()) for one in evidence.predictions}
        for at, place in enumerate(view.positions):
            rows = {name: np.asarray(values[at]) for name, values in known.items() if at < len(values)}
            if len(rows) < len(known) or not known or not place.endpoint_top:
                continue
            table = np.stack([np.asarray(place.endpoint_top), np.asarray(place.golden_top), *rows.values()])
            kept = table[:, np.isfinite(table).all(axis=0) & (table[0] > LEAST_NATS)]
            if kept.shape[1]:
                names = dict(zip(rows, kept[2:], strict=True))
                yield _Row(prompt_of(exchange), kept[0], kept[1], names)


def _bits(precision: str | None) -> int:
    """Bits per weight that a precision or scheme name speaks of; 16 where it speaks of full precision."""
    name = precision_class(precision)
    found = re.search(r"\d+", name)
    return _FULL_BITS if name == FULL or found is None else int(found.group())


def _is_within(one: Candidate, causes: Mapping[str, str], declared: int) -> bool:
    """Whether serving this is what was declared, or better."""
    if one.name == GOLDEN or one.family == FAITHFUL:
        return True
    return causes.get(one.name) == "weights" and _bits(one.name) >= declared


def _cause(first: Candidate, status: Status, causes: Mapping[str, str], found: Match) -> str | None:
    if status == "pass":
        return None
    if status == "inconclusive":
        return UNEXPLAINED if first.name == UNEXPLAINED else "undecided"
    routed = found.share_high is not None and found.share_high < _WHOLE
    return f"{'routing' if routed else causes[first.name]}: {first.name}"


def _sentence(found: Match, first: Candidate, status: Status, evidence: Evidence) -> str:
    declared = evidence.endpoint.precision or "full precision (nothing declared)"
    text = f"after {found.n_clusters} prompts "
    if first.name == UNEXPLAINED:
        near = f"; nearest is {found.nearest.name}" if found.nearest else ""
        return text + f"the deviation of {found.rms_nats:.2g} nats is not what any variant of the bank predicts{near}"
    also = f" (or {', '.join(first.twins)}, which predicts the same)" if first.twins else ""
    family = "golden weights in 16 bit or more" if first.family == FAITHFUL else f"{first.name}{also}"
    share = ""
    if found.share is not None and found.share_high is not None and found.share_high < _WHOLE:
        share = f" for {found.share:.0%} of the requests ({found.share_low:.0%} to {found.share_high:.0%})"
    verb = "may be" if status == "inconclusive" else "is"
    posterior = sum(one.posterior for one in found.schemes if one.family == FAITHFUL) if (
        first.family == FAITHFUL
    ) else first.posterior  # fmt: skip
    return text + f"what is served {verb} {family}{share}, posterior {posterior:.3g}; declared is {declared}"


def _details(found: Match) -> dict[str, Any]:
    shown = found.schemes[:_SHOWN]
    return {
        "schemes": [
            {"name": one.name, "family": one.family, "posterior": one.posterior, "twins": list(one.twins)}
            for one in shown
        ],
        "families": dict(list(found.families.items())[:_SHOWN]),
        "nearest": found.nearest.name if found.nearest else None,
        "share": found.share, "share_low": found.share_low, "share_high": found.share_high, "slope": found.slope,
        "slope_low": found.slope_low, "slope_high": found.slope_high, "rms_nats": found.rms_nats,
        "residual_nats": found.residual_nats, "log_bayes": found.log_bayes, "rounded_to": found.step or None,
        "design_effect": found.design_effect, "n_positions": found.n, "n_prompts": found.n_clusters,
    }  # fmt: skip


DETECTOR = Identify
