"""Hypotheses that predict the same, so that no number of requests tells them apart."""

from collections.abc import Sequence

import numpy as np

from monitor.stats.checks import Floats


def twins(
    names: Sequence[str], gram: Floats, *, cosine: float = 0.95, size: float = 1.25
) -> dict[str, tuple[str, ...]]:
    """Return hypotheses that predict the same by the first of them: by cosine and size of their deviations.

    `gram` (h, h) holds the inner products of the deviations that `names` predict.
    """
    lengths = np.sqrt(np.diag(gram))
    found: dict[str, tuple[str, ...]] = {}
    for at, name in enumerate(names):
        for first, others in found.items():
            other = names.index(first)
            ratio = lengths[at] / lengths[other] if lengths[other] > 0 else 0.0
            if gram[at, other] > cosine * lengths[at] * lengths[other] and 1 / size < ratio < size:
                found[first] = (*others, name)
                break
        else:
            found[name] = ()
    return found
