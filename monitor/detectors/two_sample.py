"""Do the endpoint's answers and golden's, to the same prompts, come from one distribution?

Needs: two or more answers of the `sample` probe to each of two or more prompts (``per_prompt``; 25 prompts x 10 answers
are worth asking), and as many golden ones. Text is enough. No extra requests.
Statistic: maximum mean discrepancy with labels permuted within each prompt, under two kernels (same token at the same
place; same pairs of neighbours), and an energy distance of the lengths; three tests, corrected by Bonferroni. Ends of
shorter answers match nothing, so lengths do not enter the kernels. The effect is the first, as a share of the likeness
within both sides, which it is divided by as if that were known.
Decides: *fail* when the p-value is at most ``alpha``; *suspect* at most ``suspect_alpha``; *pass* when the interval of
the effect lies below ``tolerance``; else *inconclusive*. One look: the p-value holds for one set of answers, not for
looking again and again, so there is no e-value.
What can mislead it: it names no layer (weights, sampler and prompt all show here) and tells sampler from weights only
by which side's answers are more alike. Blind to: tails spliced between answers to one prompt (garbled joins, 25 x 10 at
5%: power .06 by position, .19 with all three tests; golden answers of SmolLM2-135M), 8-bit weights (arXiv 2410.20247),
one request in five from other weights (arXiv 2504.04715).
Source: `monitor.stats.mmd` (stratified permutation, docs/statistics.md B1 and B2); arXiv 2410.20247 for the kernel.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from monitor.evidence import Card, Finding, asked_by, mostly_misread, not_answered, prompt_of, verdict
from monitor.plurals import plural
from monitor.ports import Floats
from monitor.results import Evidence, GoldenView, Metric, Status, Verdict
from monitor.sampled import is_own_split, is_plain
from monitor.stats.clustered import ClusteredMean, clustered_mean
from monitor.stats.mmd import MmdTest, bigram_kernel, hamming_kernel, stratified_mmd
from monitor.types import Exchange

Answer = tuple[int, ...]
Ids = NDArray[np.int64]

KERNELS = ("position", "bigram", "length")
POWER_QUANTILE = 0.84  # of the normal: power 80%
MIN_ANSWERS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sides:
    """Answers to the prompts that both sides answered twice or more."""

    endpoint: Mapping[str, Sequence[Answer]]
    golden: Mapping[str, Sequence[Answer]]

    @property
    def n_endpoint(self) -> int:
        return sum(map(len, self.endpoint.values()))

    @property
    def n_golden(self) -> int:
        return sum(map(len, self.golden.values()))


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoSample:
    """Stratified MMD against golden answers."""

    kind: ClassVar[str] = "two_sample"
    version: ClassVar[int] = 1
    probes: ClassVar[frozenset[str] | None] = frozenset({"sample"})
    looks_back: ClassVar[int] = 0
    metrics: ClassVar[tuple[Metric, ...]] = (
        Metric(name="mmd_share", unit="share", better="lower", source="monitor.stats.mmd",
               definition="Unbiased squared MMD between endpoint and golden answers (share of positions with the same "
               "token) over the likeness within both sides: around 0 for equal distributions, 1 for none in common."),
    )  # fmt: skip

    alpha: float = 0.001
    """Chance of a false *fail* of one look, after correction for the three tests."""
    suspect_alpha: float = 0.01
    """P-value from which answers are suspect."""
    tolerance: float = 0.1
    """Largest effect for a pass."""
    draws: int = 10
    """Golden answers to draw for each prompt."""
    min_prompts: int = 2
    """Fewest prompts with two or more answers on both sides."""

    def __post_init__(self) -> None:
        if not 0 < self.alpha <= self.suspect_alpha < 1 or self.tolerance <= 0:
            raise ValueError("0 < `alpha` <= `suspect_alpha` < 1 must hold, and `tolerance` must be positive")
        if min(self.draws, self.min_prompts) < MIN_ANSWERS:
            raise ValueError("`draws` and `min_prompts` must be at least 2: there is no pair within one answer")

    def run(self, evidence: Evidence, *, at: datetime, rng: np.random.Generator) -> Verdict:
        """Compare all answers that have golden answers to the same prompt beside them."""
        card = Card(detector=self.kind, version=self.version, statistic="mmd_share", unit="share")
        pairs = [pair for pair in asked_by(evidence, self.probes or ()) if is_plain(pair[0]) and _is_usable(*pair)]
        sides = _sides(_answers(pairs), evidence.samples)
        if len(sides.endpoint) < self.min_prompts:
            return verdict(card, self._too_little(evidence, pairs, sides), evidence, at)
        return verdict(card, self._finding(sides, rng, misread=mostly_misread(pairs)), evidence, at)

    def _finding(self, sides: _Sides, rng: np.random.Generator, *, misread: bool) -> Finding:
        kernels = _kernels(sides)
        counts = [len(answers) for answers in sides.endpoint.values()]
        level = self.alpha / len(KERNELS)
        tests = {name: stratified_mmd(kernels[name], counts, alpha=level, rng=rng) for name in KERNELS}
        p_value = min(1.0, len(KERNELS) * min(test.p_value for test in tests.values()))
        alike = np.array([_alike(kernel, n) for kernel, n in zip(kernels["position"], counts, strict=True)])
        within = float((alike[:, 0] + alike[:, 1]).mean())
        if within <= 0:
            return _nothing_alike(sides)
        effect = clustered_mean(list(alike @ [1.0, 1.0, -2.0] / within), list(sides.endpoint), rng=rng)
        status = self._status(effect, p_value)
        cause, why = (None, "") if status == "pass" else ("undecided", "")
        if status in {"fail", "suspect"}:
            cause, why = _blame(alike.mean(axis=0), misread=misread)
        return Finding(
            status=status, cause=cause, reason=_reason(effect, tests, p_value) + why, p_value=p_value,
            effect=effect.value, low=effect.low, high=effect.high, n=sides.n_endpoint, threshold=self.tolerance,
            mde=_mde(tests["position"], level) / within,
            details={**{f"p_{name}": test.p_value for name, test in tests.items()}, "n_prompts": len(counts),
                     "n_golden": sides.n_golden, **_means(sides, alike)},
        )  # fmt: skip

    def _too_little(
        self, evidence: Evidence, pairs: Sequence[tuple[Exchange, GoldenView]], sides: _Sides
    ) -> Finding:  # fmt: skip
        found = not_answered(evidence, self.probes or ())
        if found is None and not evidence.samples:
            found = "no_samples", "the golden side has drawn no answers"
        if found is None and not pairs:
            found = "not_comparable", "no answer could be expressed in golden tokens"
        few = "too_few", "set `per_prompt` of the probe to 2 or more, 10 for a test that sees 4-bit weights"
        cause, why = found or few
        return Finding(
            status="inconclusive", cause=cause, n=sides.n_endpoint,
            reason=f"{plural(len(sides.endpoint), 'prompt')} with two answers on both sides, "
            f"{self.min_prompts} needed: {why}",
        )  # fmt: skip

    def _status(self, effect: ClusteredMean, p_value: float) -> Status:
        if p_value <= self.alpha:
            return "fail"
        if p_value <= self.suspect_alpha:
            return "suspect"
        return "pass" if effect.high is not None and effect.high <= self.tolerance else "inconclusive"


def _is_usable(exchange: Exchange, view: GoldenView) -> bool:
    return bool(view.positions) and is_own_split(exchange, view)


def _answers(pairs: Sequence[tuple[Exchange, GoldenView]]) -> dict[str, list[Answer]]:
    """Tokens of each answer by prompt, without the end token."""
    spoken = [tuple(position.token_id for position in view.positions) for _, view in pairs]
    end = _end_token(pairs, spoken)
    by_prompt: dict[str, list[Answer]] = defaultdict(list)
    for (exchange, _), ids in zip(pairs, spoken, strict=True):
        by_prompt[prompt_of(exchange)].append(ids[:-1] if ids[-1] == end else ids)
    return by_prompt


def _end_token(pairs: Sequence[tuple[Exchange, GoldenView]], spoken: Sequence[Answer]) -> int | None:
    """The token that ends most of the answers that ended by themselves, and stands nowhere else."""
    lasts = Counter(ids[-1] for (one, _), ids in zip(pairs, spoken, strict=True) if one.choice.finish == "stop")
    if not lasts:
        return None
    end = lasts.most_common(1)[0][0]
    return None if any(end in ids[:-1] for ids in spoken) else end


def _sides(endpoint: Mapping[str, Sequence[Answer]], golden: Mapping[str, Sequence[Answer]]) -> _Sides:
    kept = [
        name for name, answers in endpoint.items()
        if len(answers) >= MIN_ANSWERS and len(golden.get(name, ())) >= MIN_ANSWERS
    ]  # fmt: skip
    return _Sides(endpoint={name: endpoint[name] for name in kept}, golden={name: golden[name] for name in kept})


def _kernels(sides: _Sides) -> dict[str, list[Floats]]:
    pooled = [[*answers, *sides.golden[name]] for name, answers in sides.endpoint.items()]
    width = max(2, *(len(answer) for answers in pooled for answer in answers))
    return {
        "position": [hamming_kernel(_table(answers, width, own_pads=True)) for answers in pooled],
        "bigram": [bigram_kernel(_table(answers, width, own_pads=False), pad=-1) for answers in pooled],
        "length": [_length_kernel(answers) for answers in pooled],
    }


def _table(answers: Sequence[Answer], width: int, *, own_pads: bool) -> Ids:
    """Answers under one another. With pads of their own for each answer, ends match nothing."""
    table = np.full((len(answers), width), -1, dtype=np.int64)
    for row, answer in enumerate(answers):
        table[row] = -1 - row if own_pads else -1
        table[row, : len(answer)] = answer
    return table


def _length_kernel(answers: Sequence[Answer]) -> Floats:
    """Minus the distance of lengths: MMD with it is the energy distance (G. Szekely, M. Rizzo, JSPI 143, 2013)."""
    lengths = np.array([len(answer) for answer in answers], dtype=np.float64)
    return np.asarray(-np.abs(lengths[:, np.newaxis] - lengths))


def _alike(kernel: Floats, n_first: int) -> tuple[float, float, float]:
    """Mean kernel within the first side, within the second, and across."""
    first, second = kernel[:n_first, :n_first], kernel[n_first:, n_first:]
    return _off_diagonal(first), _off_diagonal(second), float(kernel[:n_first, n_first:].mean())


def _off_diagonal(kernel: Floats) -> float:
    n = len(kernel)
    return float((kernel.sum() - np.trace(kernel)) / (n * (n - 1)))


def _blame(alike: Floats, *, misread: bool) -> tuple[str, str]:
    """Another sampler makes answers more alike, or less; other weights make them unlike golden's."""
    endpoint, golden, across = alike
    if misread:
        return "template", "; the prompt itself differs from golden's"
    if across >= min(endpoint, golden) - abs(endpoint - golden) / 2:
        more = "more" if endpoint > golden else "less"
        return "sampler", f"; its answers are {more} alike than golden's ({endpoint:.3f} against {golden:.3f})"
    return "weights", f"; its answers are as alike as golden's, but unlike them ({across:.3f} across)"


def _mde(test: MmdTest, level: float) -> float:
    """By the normal approximation to the permutations: what is seen with power 80%."""
    return test.null_mean + (float(norm.isf(level)) + POWER_QUANTILE) * test.null_sd


def _means(sides: _Sides, alike: Floats) -> dict[str, Any]:
    endpoint, golden, across = (float(value) for value in alike.mean(axis=0))

    def length(side: Mapping[str, Sequence[Answer]]) -> float:
        return float(np.mean([len(answer) for answers in side.values() for answer in answers]))

    return {
        "alike_endpoint": endpoint, "alike_golden": golden, "alike_across": across,
        "mean_tokens_endpoint": length(sides.endpoint), "mean_tokens_golden": length(sides.golden),
    }  # fmt: skip


def _reason(effect: ClusteredMean, tests: Mapping[str, MmdTest], p_value: float) -> str:
    strongest = min(tests, key=lambda name: tests[name].p_value)
    interval = "no interval" if effect.low is None else f"95% interval {effect.low:.2g} to {effect.high:.2g}"
    return (
        f"MMD² is {effect.value:.2g} of the likeness within the sides ({interval}) over {effect.n_clusters} prompts; "
        f"p = {p_value:.2g} in one look, by {strongest}"
    )


def _nothing_alike(sides: _Sides) -> Finding:
    return Finding(
        status="inconclusive", cause="not_comparable", n=sides.n_endpoint,
        reason="no two answers of one side hold the same token at the same place: ask more or longer answers",
    )  # fmt: skip


DETECTOR = TwoSample
