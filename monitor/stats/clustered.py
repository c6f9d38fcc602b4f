"""Means of values that come in clusters: positions of one prompt are not independent, prompts are."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import bootstrap

MIN_CLUSTERS = 2
RESAMPLES = 4999


@dataclass(frozen=True, slots=True)
class ClusteredMean:
    """A mean over all values, with an interval that resamples clusters.

    ``low``, ``high`` and ``standard_error`` are None with fewer than two clusters.
    """

    value: float
    low: float | None
    high: float | None
    standard_error: float | None
    n: int
    n_clusters: int


def clustered_mean(
    values: Sequence[float], clusters: Sequence[str], *, rng: np.random.Generator, confidence: float = 0.95,
    weights: Sequence[float] | None = None,
) -> ClusteredMean:  # fmt: skip
    """Mean of `values` with a BCa bootstrap interval over `clusters`.

    Parameters
    ----------
    values
        Shape (n,), finite, at least one.
    clusters
        Shape (n,), the cluster of each value.
    weights
        Shape (n,), above zero, what each value counts; None: all the same.

    Notes
    -----
    The mean is a ratio of cluster sums, so clusters are resampled as (sum, weight) pairs. BCa: B. Efron, JASA 82
    (1987), 171-185, as implemented by scipy.
    """
    if len(values) != len(clusters) or not values:
        raise ValueError(f"`values` and `clusters` must be equally long and not empty: {len(values)}, {len(clusters)}")
    data = np.asarray(values, dtype=np.float64)
    if not np.isfinite(data).all():
        raise ValueError("`values` must be finite")
    _, index = np.unique(np.asarray(clusters), return_inverse=True)
    each = np.ones_like(data) if weights is None else np.asarray(weights, dtype=np.float64)
    if each.shape != data.shape or not (np.isfinite(each) & (each > 0)).all():
        raise ValueError("`weights` must be as many as `values`, finite and above zero")
    counts = np.bincount(index, weights=each)
    sums = np.bincount(index, weights=data * each)
    value, n_clusters = float(sums.sum() / counts.sum()), len(counts)
    if n_clusters < MIN_CLUSTERS:
        return ClusteredMean(value, None, None, None, len(data), n_clusters)
    if np.ptp(sums / counts) == 0:
        # Every cluster says the same: the bootstrap distribution is one point.
        return ClusteredMean(value, value, value, 0.0, len(data), n_clusters)
    result = bootstrap(
        (sums, counts), _ratio, paired=True, vectorized=True, n_resamples=RESAMPLES, method="BCa",
        confidence_level=confidence, rng=rng,
    )  # fmt: skip
    low, high = result.confidence_interval
    return ClusteredMean(value, float(low), float(high), float(result.standard_error), len(data), n_clusters)


def _ratio(sums: NDArray[Any], counts: NDArray[Any], axis: int = -1) -> Any:
    return sums.sum(axis=axis) / counts.sum(axis=axis)
