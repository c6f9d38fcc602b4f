"""Simulated endpoints and real completions that several tests of statistics share."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

COMPLETIONS = Path(__file__).parent / "data" / "completions.npz"


def completions() -> NDArray[np.int32]:
    """Real completions, shape (40 prompts, 160 completions, 50 tokens)."""
    with np.load(COMPLETIONS) as data:
        return np.asarray(data["tokens"])


def flips(rng: np.random.Generator, *, p: float, rho: float, size: int, n: int = 200) -> NDArray[np.int64]:
    """Flip counts of `size` requests of `n` tokens with rate `p` and intra-class correlation `rho`."""
    if rho == 0:
        return rng.binomial(n, p, size)
    total = 1 / rho - 1
    return rng.binomial(n, rng.beta(p * total, (1 - p) * total, size))


def sticky_route(rng: np.random.Generator, *, n: int, stickiness: float, backends: int = 3) -> NDArray[np.int64]:
    """Backend of each of `n` calls: the previous one with probability `stickiness`, else any."""
    route = rng.integers(backends, size=n)
    for index in range(1, n):
        if rng.random() < stickiness:
            route[index] = route[index - 1]
    return route


def logits(rng: np.random.Generator, rows: int, size: int) -> NDArray[np.float64]:
    """Log-probabilities of `rows` next-token distributions, from nearly certain to nearly open."""
    raw = rng.gumbel(0, 1, (rows, size)) * rng.uniform(1.0, 3.0, (rows, 1))
    return np.asarray(raw - np.logaddexp.reduce(raw, axis=1, keepdims=True))


def draw(rng: np.random.Generator, logprobs: NDArray[np.float64]) -> NDArray[np.int64]:
    """One token per row (Gumbel-max, E. J. Gumbel 1954)."""
    return np.asarray(np.argmax(logprobs + rng.gumbel(size=logprobs.shape), axis=1))
