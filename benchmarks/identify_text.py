"""Greedy answers of real endpoints as text, and what golden weights and every variant say at each of their tokens.

The answers are those that the fidelity benchmark records (`benchmarks/fidelity_records.py`), without their logprobs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.fidelity_records import recorded, without_logprobs
from benchmarks.identify_served import FAITHFUL_NATS, Golden, Rows, families
from jobs.predicting import predictions_of
from monitor.alternatives import alternatives
from monitor.stats.matched import Match
from monitor.stats.matched_text import match_text
from reference.predictions import is_predictable
from reference.variants.bank import bank

ANSWERS = 20
"""Answers of 12 tokens of each endpoint."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """Answers of one endpoint: at each token golden's logprobs of the alternatives, and which one was taken."""

    name: str
    golden: Sequence[Rows]
    chosen: Sequence[Sequence[int]]
    predicted: Mapping[str, Sequence[Rows]]

    def drawn(self, rng: np.random.Generator, n: int) -> "Told":
        """Some `n` of the answers."""
        at = rng.permutation(len(self.golden))[:n]
        return replace(
            self, golden=[self.golden[i] for i in at], chosen=[self.chosen[i] for i in at],
            predicted={name: [rows[i] for i in at] for name, rows in self.predicted.items()},
        )  # fmt: skip

    def without(self, names: Sequence[str]) -> "Told":
        """With these variants out of the bank."""
        return replace(self, predicted={key: value for key, value in self.predicted.items() if key not in names})

    def match(self) -> Match:
        """Identify it."""
        clusters = [str(at) for at, rows in enumerate(self.golden) for _ in rows]
        return match_text(
            _flat(self.golden), {name: _flat(rows) for name, rows in self.predicted.items()},
            [one for row in self.chosen for one in row], families(), clusters, faithful_nats=FAITHFUL_NATS,
        )  # fmt: skip


def told(golden: Golden, name: str) -> Told:
    """Return the first answers of the endpoint `name`, recorded and predicted where that is missing."""
    found = recorded(name, golden.home / "fidelity" / golden.digest, golden.home, golden.scorer, golden.note)
    text = without_logprobs(found.record)
    greedy = [
        one for one in text.exchanges
        if one.answered and one.exchange_id.startswith("greedy-") and found.text_views[one.exchange_id].positions
    ][:ANSWERS]  # fmt: skip
    views = {one.exchange_id: found.text_views[one.exchange_id] for one in greedy}
    names = [key for key, variant in bank().items() if is_predictable(variant) and variant.changes != "sampler"]
    predictions = predictions_of(
        [replace(text, exchanges=tuple(greedy))], views, golden.scorer, golden.predictor, names
    )
    places = [[(alternatives(place), place.token_id) for place in view.positions] for view in views.values()]
    return Told(
        name=name, golden=[[np.array([*known.values()]) for known, _ in row] for row in places],
        chosen=[[list(known).index(token) for known, token in row] for row in places],
        predicted={
            one.variant: [[np.array(row) for row in one.logprobs[key]] for key in views] for one in predictions
        },
    )  # fmt: skip


def _flat(rows: Sequence[Rows]) -> Rows:
    return [row for answer in rows for row in answer]
