"""Which known way to change the golden weights explains what the endpoint says?

Needs: top-k logprobs at temperature 0, or else greedy text, golden's view of it, and predictions of variants
(`weighmaster identify` and the judge compute them). Statistic: the posterior share of families that are coarser than
declared, out of the matched filter of `monitor.stats.matched`: observed deviations against predicted ones, sizes
included, prompts as clusters; of text alone out of `monitor.stats.matched_text`: whose first choices the tokens are.
Decides: *fail* when variants outside the declared precision have a posterior of `sure`; *suspect* at `likely`; *pass*
when those within it have `likely`. What no variant predicts is *inconclusive* with the cause ``unexplained``, and so is
what is not decided yet. The cause names layer and scheme, such as ``weights: Q8_0``.
What can mislead it: a scheme that is not in the bank (then the nearest is a hint, no finding); schemes that predict the
same; roundings of activations and of the KV cache, which cannot be predicted exactly; a bank of another checkpoint.
Logprobs after the sampler are not used; what was chosen is. Text shows 8-bit weights late.
Source: docs/identify.md, measured on llama.cpp and vLLM.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any, ClassVar

import numpy as np

from monitor.detectors._identified import Comparable, by_backend, comparable
from monitor.detectors._identified_shown import dots, fewest_missed, gains, strips
from monitor.evidence import Card, Finding, asked_by, mostly_misread, says_nothing_of_weights, verdict
from monitor.identified_parts import WHOLE, found_parts, routed_text
from monitor.results import Evidence, Metric, Status, Verdict
from monitor.stats.checks import Floats
from monitor.stats.hypotheses import FAITHFUL, GOLDEN, UNEXPLAINED, Candidate
from monitor.stats.matched import Match
from monitor.stats.posterior import posterior_text
from monitor.tolerances import FULL, precision_class

_FULL_BITS = 16
_SHOWN = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Identify:
    """Posterior over variants of the golden weights."""

    kind: ClassVar[str] = "identify"
    version: ClassVar[int] = 4
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
    """Fewest comparable prompts for a verdict."""
    variants: tuple[str, ...] = ()
    """Variants to compare with, by name; empty for all that can be predicted."""

    def __post_init__(self) -> None:
        if not 0.5 < self.likely <= self.sure < 1:
            raise ValueError("0.5 < `likely` <= `sure` < 1 must hold")
        if self.full_precision_nats <= 0 or self.min_prompts < 1:
            raise ValueError("`full_precision_nats` must be above 0 and `min_prompts` at least 1")

    def run(self, evidence: Evidence, *, at: datetime, rng: np.random.Generator) -> Verdict:
        """Identify what answered, out of all positions with predictions: by logprobs, or else by choices."""
        del rng  # nothing is drawn
        card = Card(detector=self.kind, version=self.version, statistic="coarser_posterior", unit="share")
        seen = comparable(evidence, self.probes or (), fewest=self.min_prompts)
        if seen.n_prompts < self.min_prompts:
            return verdict(card, self._nothing(evidence, seen), evidence, at)
        found = seen.match(families_of(evidence), self.faithful_nats(evidence))
        assert found is not None  # noqa: S101  # there are prompts
        finding = self._finding(found, evidence)
        told = {**(finding.details or {}), **_drawn(seen, found.nearest), "backends": self._backends(evidence)}
        return verdict(card, replace(finding, details=told), evidence, at)

    def _backends(self, evidence: Evidence) -> list[dict[str, Any]]:
        """What each backend serves, where the endpoint says which one answered: by upstream and fingerprint."""
        found = []
        groups = by_backend(evidence, self.probes or ())
        for name, part in groups.items() if len(groups) > 1 else ():
            seen = comparable(part, self.probes or (), fewest=self.min_prompts)
            if seen.n_prompts < self.min_prompts:
                continue
            one = seen.match(families_of(part), self.faithful_nats(part))
            assert one is not None  # noqa: S101  # there are prompts
            first = one.schemes[0]
            found.append({"backend": name, "prompts": seen.n_prompts, "name": first.name, "posterior": first.posterior})
        return found

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

    def _nothing(self, evidence: Evidence, seen: Comparable) -> Finding:
        asked = list(asked_by(evidence, self.probes or ()))
        if seen.is_sampled and evidence.predictions:
            return says_nothing_of_weights(len(asked))
        if seen.sampler:
            return _drawn_otherwise(seen.sampler, len(asked))
        if not asked:
            ends = Counter(one.outcome for one in evidence.exchanges).most_common()
            told = ", ".join(f"{count} {outcome}" for outcome, count in ends)
            cause, why = "no_answers", f"no answer that golden has looked at ({told or 'nothing was asked'})"
        elif not evidence.predictions:
            cause, why = "no_predictions", "nothing was predicted; `weighmaster identify` does that"
        elif not any(place.endpoint_top or place.rivals for _, view in asked for place in view.positions):
            cause, why = "no_logprobs", "the endpoint returns no logprobs, and the golden side knows no alternatives"
        else:
            cause, why = "not_comparable", "too few positions that predictions know"
        return Finding(
            status="inconclusive", cause=cause, n=seen.n_prompts,
            reason=f"{seen.n_prompts} prompts comparable, {self.min_prompts} needed: {why}",
        )  # fmt: skip


def _drawn_otherwise(sampler: str, n: int) -> Finding:
    return Finding(
        status="inconclusive", cause=UNEXPLAINED, n=n, details={"sampler": sampler},
        reason=f"golden weights behind {sampler} explain the tokens of {n} answers better than any variant does at "
        "temperature 1: another sampler than was asked for, or weights that no variant predicts; ask for logprobs, or "
        "at temperature 0",
    )  # fmt: skip


def families_of(evidence: Evidence) -> dict[str, str]:
    """Families of the variants that were predicted, by name."""
    return {one.variant: one.family for one in evidence.predictions}


def deviations(evidence: Evidence, variant: str) -> tuple[Sequence[Floats], Sequence[Floats]]:
    """Observed deviations and those that `variant` predicts, position by position: for a picture. Empty for text."""
    rows = comparable(evidence, Identify.probes or ()).rows
    return [row.endpoint - row.golden for row in rows], [row.predicted[variant] - row.golden for row in rows]


def _bits(precision: str | None) -> int:
    """Bits per weight that a precision or scheme name speaks of; 16 where it speaks of full precision."""
    name = precision_class(precision)
    found = re.search(r"\d+", name)
    return _FULL_BITS if name == FULL or found is None else int(found.group())


def _is_within(one: Candidate, causes: Mapping[str, str], declared: int) -> bool:
    """Whether serving this is what was declared, or better."""
    if one.name == GOLDEN or one.family == FAITHFUL:
        return True
    return all(causes.get(name) == "weights" and _bits(name) >= declared for name in one.pair or (one.name,))


def _cause(first: Candidate, status: Status, causes: Mapping[str, str], found: Match) -> str | None:
    if status == "pass":
        return None
    if status == "inconclusive":
        return UNEXPLAINED if first.name == UNEXPLAINED else "undecided"
    if first.pair:
        return f"routing: {' and '.join(first.pair)}"
    routed = found.share_high is not None and found.share_high < WHOLE
    return f"{'routing' if routed else causes[first.name]}: {first.name}"


def _sentence(found: Match, first: Candidate, status: Status, evidence: Evidence) -> str:
    declared = evidence.endpoint.precision or "full precision (nothing declared)"
    text = f"after {found.n_clusters} prompts{_by_text(found)} "
    if first.name == UNEXPLAINED:
        near = f"; nearest is {found.nearest.name}" if found.nearest else ""
        what = "the choice of tokens" if found.by_text else f"the deviation of {found.rms_nats:.2g} nats"
        return text + f"{what} is not what any variant of the bank predicts{near}"
    also = f" (or {', '.join(first.twins)}, which predicts the same)" if first.twins else ""
    parts = found_parts(found) if first is found.schemes[0] else ()
    if len(parts) > 1:
        said = routed_text(parts, also, sure=status != "inconclusive")
    else:
        family = "golden weights in 16 bit or more" if first.family == FAITHFUL else f"{first.name}{also}"
        said = f"what is served {'may be' if status == 'inconclusive' else 'is'} {family}"
    posterior = found.families[FAITHFUL] if first.family == FAITHFUL else first.posterior
    return text + f"{said}, posterior {posterior_text(posterior)}; declared is {declared}"


def _by_text(found: Match) -> str:
    if not found.by_text:
        return ""
    drawn = f", {found.n_drawn} of them drawn at temperature 1" if found.n_drawn else ""
    return f" ({found.n} tokens of text{drawn}, no logprobs)"


def _details(found: Match) -> dict[str, Any]:
    shown = found.schemes[:_SHOWN]
    return {
        "schemes": [
            {"name": one.name, "family": one.family, "posterior": one.posterior, "twins": list(one.twins)}
            for one in shown
        ],
        "families": dict(list(found.families.items())[:_SHOWN]), "parts": [asdict(one) for one in found_parts(found)],
        "nearest": found.nearest.name if found.nearest else None,
        "share": found.share, "share_low": found.share_low, "share_high": found.share_high, "slope": found.slope,
        "slope_low": found.slope_low, "slope_high": found.slope_high, "rms_nats": found.rms_nats,
        "residual_nats": found.residual_nats, "log_bayes": found.log_bayes, "rounded_to": found.step or None,
        "logits_rounded_to": found.grid or None,
        "design_effect": found.design_effect, "n_positions": found.n, "n_prompts": found.n_clusters,
        "by": "text" if found.by_text else "logprobs", "missed": fewest_missed(found.missed),
        "n_drawn": found.n_drawn,
    }  # fmt: skip


def _drawn(seen: Comparable, nearest: Candidate | None) -> dict[str, Any]:
    """What pictures show."""
    rows = seen.rows if nearest else ()
    name = nearest.name if nearest else GOLDEN
    return {"dots": dots(rows, name), "strips": strips(rows, name), "gains_nats": gains(seen.drawn),
            "sampler": seen.sampler}  # fmt: skip


DETECTOR = Identify
