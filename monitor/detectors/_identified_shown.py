"""What of an identification is drawn: dots, strips and counts, as short lists of numbers."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from monitor.detectors._identified import Row
from monitor.detectors._identified_draws import DrawnAnswer
from monitor.stats.hypotheses import GOLDEN
from monitor.stats.matched_space import centred

_DOTS = 200
_STRIPS = 12
_VARIANTS = 6


def dots(rows: Sequence[Row], variant: str) -> list[list[float]]:
    """Predicted and observed deviation of listed tokens, nats, each less the mean of its position."""
    pairs = [pair for row in rows for pair in _pairs(row, variant)]
    return pairs[:: max(1, -(-len(pairs) // _DOTS))]


def strips(rows: Sequence[Row], variant: str) -> list[dict[str, Any]]:
    """The positions at which `variant` predicts most, whatever was observed there, in the order of `rows`.

    Of each the prompt, and predicted and observed deviation of its listed tokens as in `dots`, by what is predicted.
    """
    sizes = [float(np.sum(centred(row.predicted[variant] - row.golden) ** 2)) for row in rows]
    best = sorted(np.argsort([-size for size in sizes], kind="stable")[:_STRIPS].tolist())
    return [{"prompt": rows[at].prompt, "tokens": sorted(_pairs(rows[at], variant))} for at in best]


def fewest_missed(missed: Mapping[str, int]) -> dict[str, int]:
    """Choices that are not the first: of golden weights, and of those variants that miss fewest."""
    known = sorted((name for name in missed if name != GOLDEN), key=missed.__getitem__)
    return {name: missed[name] for name in ([GOLDEN, *known[:_VARIANTS]] if missed else [])}


def gains(answers: Sequence[DrawnAnswer]) -> dict[str, float]:
    """How much likelier each variant makes the drawn tokens than golden does, nats per token; the best of them."""
    if not answers:
        return {}
    own = np.array([place.golden_logprob for one in answers for place in one.view.positions], dtype=np.float64)
    found = {
        name: float(np.mean(np.concatenate([one.predicted[name] for one in answers]) - own))
        for name in answers[0].predicted
    }
    return dict(sorted(found.items(), key=lambda item: -item[1])[:_VARIANTS])


def _pairs(row: Row, variant: str) -> list[list[float]]:
    predicted, observed = centred(row.predicted[variant] - row.golden), centred(row.endpoint - row.golden)
    return [[round(a, 4), round(b, 4)] for a, b in zip(predicted.tolist(), observed.tolist(), strict=True)]
