"""What real endpoints answered to the benchmark of `identify`, and what golden weights and every variant say there."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any, Self

import numpy as np

from benchmarks.identify_records import OWN_LATTICE, Recorded, recorded
from jobs.alignment import align
from jobs.golden import ensure_golden
from monitor.detectors.identify import Identify
from monitor.ports import Tokenizer
from monitor.stats.hypotheses import FAITHFUL, GOLDEN, UNEXPLAINED
from monitor.stats.matched import Match, match
from reference.engines.local import LocalEngine
from reference.prediction_store import PredictionStore
from reference.predictions import Predictions, is_predictable
from reference.variants.bank import bank, find

SURE = 0.99
FAITHFUL_NATS = float(np.sqrt(2 * Identify().full_precision_nats))
"""What the detector takes where nothing is calibrated."""

Rows = list[np.ndarray[Any, np.dtype[np.float64]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """One endpoint's answers to all prompts: logprobs of the listed tokens by the endpoint, golden and each variant."""

    name: str
    endpoint: Rows
    golden: Rows
    predicted: Mapping[str, Rows]
    prompts: Sequence[str]

    def drawn(self, rng: np.random.Generator, n: int, k: int = 20) -> "Served":
        """The answers to `n` prompts, with `k` logprobs."""
        return self.at(rng.permutation(len(self.prompts))[:n], k)

    def at(self, rows: Sequence[int] | np.ndarray[Any, Any], k: int = 20) -> "Served":
        """Only these prompts, and `k` logprobs of each."""

        def cut(values: Rows) -> Rows:
            return [values[at][:k] for at in rows]

        return replace(
            self, endpoint=cut(self.endpoint), golden=cut(self.golden), prompts=[self.prompts[at] for at in rows],
            predicted={name: cut(values) for name, values in self.predicted.items()},
        )  # fmt: skip

    def named(self, prompts: Sequence[str]) -> "Served":
        """The answers to these prompts, where there are any."""
        return self.at([self.prompts.index(one) for one in prompts if one in self.prompts])

    def without(self, names: Sequence[str]) -> "Served":
        """With these variants out of the bank."""
        return replace(self, predicted={key: value for key, value in self.predicted.items() if key not in names})

    def rounded(self, decimals: int) -> "Served":
        """With logprobs of the endpoint rounded."""
        return replace(self, endpoint=[np.round(row, decimals) for row in self.endpoint])

    def match(self) -> Match:
        """Identify it."""
        return match(
            self.endpoint, self.golden, self.predicted, families(), self.prompts, faithful_nats=FAITHFUL_NATS
        )


@cache
def families() -> dict[str, str]:
    """Families of the bank by name of the variant."""
    return {name: variant.family for name, variant in bank().items()}


def served(one: Recorded, predictor: Predictions, tokenizer: Tokenizer) -> Served:
    """Predict what every variant would have said where `one` answered."""
    aligned = [(exchange, align(exchange, tokenizer)) for exchange in one.record.exchanges]
    kept = [(exchange, item.task, one.views[exchange.exchange_id].positions[0]) for exchange, item in aligned
            if item.task is not None and one.views[exchange.exchange_id].positions]  # fmt: skip
    tasks = [replace(task, completion_ids=task.completion_ids[:1], gather=task.gather[:1]) for _, task, _ in kept]
    names = [name for name, variant in bank().items() if is_predictable(variant)]
    found = predictor.predict(
        tasks, names, conversations=[exchange.request.messages for exchange, _, _ in kept if exchange.request]
    )  # fmt: skip
    return Served(
        name=one.name, endpoint=[np.array(at.endpoint_top) for _, _, at in kept],
        golden=[np.array(at.golden_top) for _, _, at in kept], prompts=[e.exchange_id for e, _, _ in kept],
        predicted={name: [rows[0] for rows in answers] for name, answers in found.items()},
    )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Golden:
    """The golden side of the benchmark: who scores and predicts, and where records are."""

    home: Path
    folder: Path
    scorer: Any
    predictor: Predictions
    load: Callable[[Path], LocalEngine]
    note: Callable[[str], None]

    @classmethod
    def of(cls, home: Path, note: Callable[[str], None]) -> Self:
        """Load it on one thread."""
        from reference.engine import TorchEngine  # noqa: PLC0415  # torch is imported only when it is needed

        folder = ensure_golden(home, note)
        load = partial(TorchEngine.load, device="cpu", threads=1)
        scorer = load(folder)
        store = PredictionStore(home / "predictions" / f"{scorer.fingerprint.digest[:12]}.sqlite")
        predictor = Predictions(golden=folder, load=load, report=note, store=store)
        return cls(home=home, folder=folder, scorer=scorer, predictor=predictor, load=load, note=note)

    @property
    def digest(self) -> str:
        """What records of these golden weights are filed under."""
        return str(self.scorer.fingerprint.digest[:12])

    def endpoints(self, names: Sequence[str]) -> dict[str, Served]:
        """Return the endpoints `names`, recorded and predicted where that is missing."""
        place = self.home / "identify" / self.digest
        records = {name: recorded(name, place, self.home, self.scorer, self.note) for name in names}
        return {name: served(one, self.predictor, self.scorer.tokenizer) for name, one in records.items()}


def mixed(good: Served, bad: Served, goes: np.ndarray[Any, np.dtype[np.bool_]]) -> Served:
    """Some prompts answered by one endpoint, the others by another."""

    def of(one: Rows, other: Rows) -> Rows:
        return [b if gone else a for a, b, gone in zip(one, other, goes, strict=True)]

    return replace(
        good, endpoint=of(good.endpoint, bad.endpoint), golden=of(good.golden, bad.golden),
        predicted={name: of(rows, bad.predicted[name]) for name, rows in good.predicted.items()},
    )  # fmt: skip


def is_named(found: Match, scheme: str) -> bool:
    """Whether the scheme is the first that is named, or predicts the same as that."""
    first = found.schemes[0]
    if scheme == FAITHFUL:
        return first.name in {GOLDEN, "fp16"}
    return scheme in (first.name, *first.twins)


def is_wrong(found: Match, family: str) -> bool:
    """Whether a family is named for sure that it is not, and that is no confession either."""
    first, posterior = next(iter(found.families.items()))
    return posterior >= SURE and first not in {family, UNEXPLAINED}


def family_of(name: str) -> str:
    """The family of an endpoint by its name."""
    return FAITHFUL if name in {OWN_LATTICE, "F16", "BF16"} else find(name).family


def share_of(hits: Any) -> str:
    """Hits of all, in words."""
    values = list(hits)
    return f"{sum(values)} of {len(values)}"
