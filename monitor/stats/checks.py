"""What every statistic asks of its input before it computes."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def vector(name: str, values: ArrayLike, *, low: float = -np.inf, high: float = np.inf) -> Floats:
    """`values` as a vector of finite numbers in ``[low, high]``, at least one; ValueError names what is wrong."""
    data = np.asarray(values, dtype=np.float64)
    if data.ndim != 1 or data.size == 0:
        raise ValueError(f"`{name}` must be a vector with at least one number, not of shape {data.shape}")
    if not np.isfinite(data).all():
        raise ValueError(f"`{name}` must be finite: leave out what was not measured")
    if data.min() < low or data.max() > high:
        raise ValueError(f"`{name}` must lie in [{low:g}, {high:g}], not in [{data.min():g}, {data.max():g}]")
    return data


def counts(k: ArrayLike, n: ArrayLike) -> tuple[Floats, Floats]:
    """Successes and trials as equally long vectors with ``0 <= k <= n`` and ``n >= 1``."""
    hits, trials = vector("k", k, low=0), vector("n", n, low=1)
    if hits.shape != trials.shape or (hits > trials).any():
        raise ValueError("`k` and `n` must be equally long with k <= n in every pair")
    if (hits != np.round(hits)).any() or (trials != np.round(trials)).any():
        raise ValueError("`k` and `n` must be whole numbers")
    return hits, trials


def matrix(name: str, values: ArrayLike) -> Floats:
    """Log ratios, one row per look and one column per alternative; ``-inf`` (ratio 0) is allowed."""
    data = np.asarray(values, dtype=np.float64)
    if data.ndim != 2 or data.size == 0:
        raise ValueError(f"`{name}` must have one row per look and one column per alternative, not {data.shape}")
    if np.isnan(data).any() or (data == np.inf).any():
        raise ValueError(f"`{name}` must be finite or -inf")
    return data


def log_weights(weights: ArrayLike | None, size: int) -> Floats:
    """Logs of positive weights that sum to 1; equal weights when None."""
    if weights is None:
        return np.full(size, -np.log(size))
    given = vector("weights", weights, low=0)
    if given.shape != (size,) or given.min() == 0 or abs(given.sum() - 1) > 1e-9:
        raise ValueError(f"`weights` must be {size} positive numbers that sum to 1")
    return np.log(given)


def inside(name: str, value: float, low: float = 0.0, high: float = 1.0) -> float:
    """`value`, strictly between `low` and `high`."""
    if not low < value < high:
        raise ValueError(f"`{name}` must lie between {low:g} and {high:g}, not {value}")
    return value
