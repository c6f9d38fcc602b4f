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
    values: Sequence[float], clusters: Sequence[str], *, rng: np.random.Generator, confidence: float = 0.95
) -> ClusteredMean:
    """Mean of `values` with a BCa bootstrap interval over `clusters`.

    Parameters
    ----------
    values
        Shape (n,), finite, at least one.
    clusters
        Shape (n,), the cluster of each value.

    Notes
    -----
    The mean is a ratio of cluster sums, so clusters are resampled as (sum, count) pairs. BCa: B. Efron, JASA 82
    (1987), 171-185, as implemented by scipy.
    """
    if len(values) != len(clusters) or not values:
        raise ValueError(f"`values` and `clusters` must be equally long and not empty: {len(values)}, {len(clusters)}")
    data = np.asarray(values, dtype=np.float64)
    if not np.isfinite(data).all():
        raise ValueError("`values` must be finite")
    _, index = np.unique(np.asarray(clusters), return_inverse=True)
    counts = np.bincount(index).astype(np.float64)
    sums = np.bincount(index, weights=data)
    value, n_clusters = float(data.mean()), len(counts)
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
