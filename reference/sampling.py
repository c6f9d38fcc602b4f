"""Draws a token from golden logprobs, in the plain order of the OpenAI API: temperature, then top-p."""

import numpy as np

from monitor.ports import Floats


def draw(logprobs: Floats, *, temperature: float, top_p: float, rng: np.random.Generator) -> int:
    """Return the id of one token.

    Parameters
    ----------
    logprobs : Floats
        Log-probabilities of the whole vocabulary, shape (V,), natural log.
    temperature : float
        0 takes the most likely token (the lowest id among equals) and leaves `rng` alone.
    top_p : float
        Only the smallest set of most likely tokens that holds this mass is drawn from [1]_.
    rng : Generator
        Source of the one uniform number that is used.

    References
    ----------
    .. [1] Holtzman et al., "The Curious Case of Neural Text Degeneration", ICLR 2020, section 3.1.
    """
    if temperature == 0:
        return int(np.argmax(logprobs))
    scaled = logprobs / temperature
    mass = np.exp(scaled - scaled.max())
    if top_p >= 1:  # no sorting: a vocabulary is long
        cumulative = np.cumsum(mass)
        place = np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right")
        return int(min(place, len(mass) - 1))
    order = np.argsort(-mass, kind="stable")
    cumulative = np.cumsum(mass[order] / mass.sum())
    n_kept = min(int(np.searchsorted(cumulative, top_p)) + 1, len(order))
    point = rng.random() * cumulative[n_kept - 1]
    return int(order[min(int(np.searchsorted(cumulative, point, side="right")), n_kept - 1)])
