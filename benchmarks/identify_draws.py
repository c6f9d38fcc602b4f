"""Answers of real endpoints drawn at temperature 1, and what golden weights and every variant say of their tokens.

The answers are those that the fidelity benchmark records (`benchmarks/fidelity_records.py`).
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.fidelity_records import recorded, without_logprobs
from benchmarks.identify_served import FAITHFUL_NATS, Golden, families, family_of, is_wrong, share_of
from benchmarks.report import Report
from jobs.predicting import predictions_of
from monitor.detectors._identified import Comparable
from monitor.detectors._identified_draws import DrawnAnswer, drawn_answers, other_sampler
from monitor.results import Evidence
from monitor.sampled import is_own_split
from monitor.stats.hypotheses import FAITHFUL
from monitor.stats.matched import Match
from monitor.types import Endpoint
from reference.predictions import is_predictable
from reference.variants.bank import bank

ANSWERS = 80
"""Answers of 24 tokens of each endpoint."""

ENDPOINTS = ("F16", "Q4_0", "Q5_0", "T 0.7")
TOKENS = (200, 500, 1500)
WEAK = ("BF16", "Q8_0", "top-p 0.9", "T 0.9")
"""Endpoints that hardly differ from golden weights by drawn text, held against a few variants with fewer answers."""

WEAK_VARIANTS = ("bf16", "Q8_0", "Q5_0", "Q4_0")
WEAK_ANSWERS, WEAK_TOKENS = 24, (200, 400)
_COLUMNS = ("endpoint", "tokens", "another sampler", "family right", "claimed", "wrong family at 0.99", "named")
_PROBES = frozenset({"identify"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Draws:
    """Drawn answers of one endpoint, with predictions."""

    name: str
    answers: Sequence[DrawnAnswer]

    def some(self, rng: np.random.Generator, n: int) -> Sequence[DrawnAnswer]:
        """As many of the answers, in any order, as have at least `n` tokens."""
        order = rng.permutation(len(self.answers))
        sizes = np.cumsum([len(self.answers[at].view.positions) for at in order])
        return [self.answers[at] for at in order[: 1 + int(np.searchsorted(sizes, n))]]

    def without(self, names: Sequence[str]) -> "Draws":
        """With these variants out of the bank."""
        return replace(self, answers=[
            replace(one, predicted={key: row for key, row in one.predicted.items() if key not in names})
            for one in self.answers
        ])  # fmt: skip


def drawn(golden: Golden, name: str, *, variants: Sequence[str] = (), answers: int = ANSWERS) -> Draws:
    """Return drawn answers of the endpoint `name`, recorded and predicted where that is missing (some hours).

    They are held against `variants`, the whole bank without.
    """
    found = recorded(name, golden.home / "fidelity" / golden.digest, golden.home, golden.scorer, golden.note)
    text = without_logprobs(found.record)
    kept = [
        one for one in text.exchanges
        if one.answered and one.exchange_id.startswith("sample-") and found.text_views[one.exchange_id].positions
        and is_own_split(one, found.text_views[one.exchange_id])
    ][:answers]  # fmt: skip
    views = {one.exchange_id: found.text_views[one.exchange_id] for one in kept}
    whole = [key for key, variant in bank().items() if is_predictable(variant) and variant.changes != "sampler"]
    record = replace(text, exchanges=tuple(kept), run=replace(text.run, probe="identify"))
    made = Evidence(
        endpoint=Endpoint(name=name, provider="bench", base_url="http://127.0.0.1:1/v1", model="m"),
        runs=(record.run,), exchanges=record.exchanges, golden=views,
        predictions=predictions_of([record], views, golden.scorer, golden.predictor, variants or whole),
    )  # fmt: skip
    return Draws(name=name, answers=drawn_answers(made, _PROBES))


def report_draws(golden: Golden, report: Report, draws: int) -> None:
    """Who is who by drawn tokens, with the whole bank and with the endpoint's own family left out of it."""
    endpoints = [drawn(golden, name) for name in ENDPOINTS]
    report.table(
        f"Text drawn at temperature 1, {draws} draws of answers", _COLUMNS,
        [_row(one, n, draws) for one in endpoints for n in TOKENS],
    )  # fmt: skip
    weak = [drawn(golden, name, variants=WEAK_VARIANTS, answers=WEAK_ANSWERS) for name in WEAK]
    report.table(
        f"Text drawn at temperature 1, held against {', '.join(WEAK_VARIANTS)}, {draws} draws of answers", _COLUMNS,
        [_row(one, n, draws) for one in weak for n in WEAK_TOKENS],
    )  # fmt: skip
    known = families()
    report.table(
        f"The same, its own family left out of the bank, {draws} draws of {TOKENS[-1]} tokens",
        ("endpoint", "another sampler", "another family at 0.99", "named"),
        [_left_out(one.without([key for key in known if known[key] == family_of(one.name)]), draws)
         for one in endpoints if one.name in bank()],
    )  # fmt: skip


def _matches(one: Draws, n: int, draws: int) -> list[Match | None]:
    """None where the tokens are those of another sampler."""
    found: list[Match | None] = []
    for seed in range(draws):
        some = tuple(one.some(np.random.default_rng(seed), n))
        found.append(None if other_sampler(some) else Comparable(drawn=some).match(families(), FAITHFUL_NATS))
    return found


def _row(one: Draws, n: int, draws: int) -> list[object]:
    found = _matches(one, n, draws)
    seen = [each for each in found if each is not None]
    family = family_of(one.name) if one.name in bank() else FAITHFUL
    return [
        one.name, n, share_of(each is None for each in found),
        share_of(next(iter(each.families)) == family for each in seen),
        float(np.mean([each.families.get(family, 0.0) for each in seen])) if seen else None,
        share_of(is_wrong(each, family) for each in seen), _named(seen),
    ]  # fmt: skip


def _left_out(one: Draws, draws: int) -> list[object]:
    found = _matches(one, TOKENS[-1], draws)
    seen = [each for each in found if each is not None]
    wrong = [is_wrong(each, family_of(one.name)) for each in seen]
    return [one.name, share_of(each is None for each in found), f"{sum(wrong)} of {len(found)}", _named(seen)]


def _named(found: Sequence[Match]) -> str:
    counts = Counter(each.schemes[0].name for each in found)
    return ", ".join(f"{count} {name}" for name, count in counts.most_common(3))
