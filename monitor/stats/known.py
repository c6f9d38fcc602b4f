"""How far is a call from the backends that answered before? For one prompt, whose calls list the same tokens."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from monitor.stats.checks import Floats
from monitor.stats.pools import signature_clusters


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Known:
    """The backends that answered a prompt: ``centres`` of shape (backends, tokens).

    ``noise`` is the expected mean absolute difference between two calls of one backend, nats per token: a call
    compared with a backend that was called once. None when no backend was called twice.
    """

    centres: Floats
    noise: float | None


def known_backends(calls: ArrayLike, labels: ArrayLike | None = None) -> Known:
    """Return the backends behind `calls`, shape (calls, tokens), logprobs.

    `labels` name the backend of each call where the endpoint tells; else `signature_clusters` finds them.
    """
    data = np.asarray(calls, dtype=np.float64)
    named = signature_clusters(data) if labels is None else np.unique(np.asarray(labels), return_inverse=True)[1]
    sizes = np.bincount(named)
    centres = np.stack([data[named == index].mean(axis=0) for index in range(len(sizes))])
    return Known(centres=centres, noise=_noise(data, centres, named, sizes))


def _noise(data: Floats, centres: Floats, named: NDArray[np.int64], sizes: NDArray[np.int64]) -> float | None:
    size = sizes[named]
    if size.max() < 2:
        return None
    # A residual is short of the noise by sqrt((n - 1) / n), and the difference of two calls is longer by sqrt(2).
    scale = np.sqrt(2 * size / np.maximum(size - 1, 1))[:, np.newaxis]
    return float((np.abs(data - centres[named]) * scale)[size > 1].mean())


def nearest(known: Known, call: ArrayLike, *, least: float) -> float:
    """Return the mean absolute difference of `call` from the nearest backend, nats per token.

    Parameters
    ----------
    call
        Shape (tokens,); NaN where the call does not list the token.
    least
        The smallest logprob that the call lists: one that it does not list is at most that, and counts as that, where
        the backend's is larger; else as no difference. So the distance is never too large.
    """
    values = np.asarray(call, dtype=np.float64)
    apart = np.where(np.isnan(values), np.maximum(known.centres - least, 0.0), np.abs(known.centres - values))
    return float(apart.mean(axis=1).min())
