"""Which prompts tell hypotheses apart soonest.

Where two hypotheses differ by d nats at the listed tokens, and engines have noise of size s, the expected log Bayes
factor of one answer is the sum of d^2 over 2 s^2. The most alike pair of families needs the most of it.
Source: greedy experimental design; measured in docs/identify.md.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from monitor.stats.checks import Floats
from monitor.stats.hypotheses import FAITHFUL
from monitor.stats.matched_space import centred

_NOISE_NATS = 0.11


def design(
    deviations: Mapping[str, Sequence[Floats]], families: Mapping[str, str], *, noise_nats: float = _NOISE_NATS
) -> list[int]:
    """Return prompts in the order in which they should be asked, by index.

    Parameters
    ----------
    deviations
        By hypothesis, what it predicts less golden's logprobs, prompt by prompt, in nats.
    families
        The family of each hypothesis. Golden weights, which deviate by nothing, are compared too.
    noise_nats
        Noise of engines.

    Notes
    -----
    Each next prompt lowers the sum over pairs of families of exp(-expected log Bayes factor so far) most:
    what is decided already does not count any more. A pair of families is its most alike pair of hypotheses.
    """
    gains = _gains(deviations, families, noise_nats)
    left, so_far, order = list(range(len(gains))), np.zeros(gains.shape[1]), list[int]()
    while left:
        # From the least of them: otherwise nothing is left of any once all are far above it.
        risk = np.exp(so_far.min(initial=0.0) - so_far - gains[left]).sum(axis=1)
        best = left.pop(int(np.argmin(risk)))
        so_far = so_far + gains[best]
        order.append(best)
    return order


def _gains(deviations: Mapping[str, Sequence[Floats]], families: Mapping[str, str], noise_nats: float) -> Floats:
    """Expected log Bayes factors (prompts, pairs of families)."""
    tables = {name: [centred(row) for row in rows] for name, rows in deviations.items()}
    n = len(next(iter(tables.values())))
    golden = [np.zeros_like(row) for row in next(iter(tables.values()))]
    members: dict[str, list[Sequence[Floats]]] = {FAITHFUL: [golden]}
    for name, rows in tables.items():
        members.setdefault(families[name], []).append(rows)
    found = []
    for one, other in combinations(members.values(), 2):
        pairs = [_apart(a, b) / (2 * noise_nats**2) for a in one for b in other]
        found.append(min(pairs, key=np.sum))
    return np.stack(found, axis=1) if found else np.zeros((n, 0))


def _apart(one: Sequence[Floats], other: Sequence[Floats]) -> Floats:
    return np.array([np.sum((a - b) ** 2) for a, b in zip(one, other, strict=True)])
