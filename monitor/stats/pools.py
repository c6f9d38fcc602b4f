"""Has a pool of backends changed, when calls stick to a backend?

One endpoint name is often several backends whose logprobs differ a little, and a caller stays on one for a while.
Calls are then not exchangeable: the published permutation test of logprob histories gives 54% false alarms at 1%
(docs/statistics.md, B11). Here calls are put into backends by their signature first, and each backend of the current
window is compared with the nearest known one against a tolerance.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import pdist, squareform

from monitor.stats.checks import Floats
from monitor.stats.montecarlo import draws_for, monte_carlo_p

GAP = 2.5
"""Backends are apart when their nearest calls differ by this many typical nearest-neighbour distances."""

MIN_FREEDOM = 5
"""Fewest repeated calls from which call-to-call noise is estimated."""

EXACT_NATS = 1e-9
"""Differences of logprobs below this are rounding of the transport."""


def signature_clusters(vectors: ArrayLike) -> NDArray[np.int64]:
    """Backend of each call by its logprobs alone, numbered 0, 1, ... in order of appearance. Shape (n,).

    Parameters
    ----------
    vectors
        Shape (n, d): logprobs of the same d tokens in each call.

    Notes
    -----
    Single linkage on the mean absolute difference, cut at `GAP` times the median distance to the nearest other call.
    Finds backends whose offsets exceed the noise of a call several times; others count as one, which is harmless:
    means over them stay within the tolerance. Cost O(n^2 d).
    """
    data = _calls("vectors", vectors)
    if len(data) == 1:
        return np.zeros(1, dtype=np.int64)
    distances = pdist(data, "cityblock") / data.shape[1]
    nearest = (squareform(distances) + np.diag(np.full(len(data), np.inf))).min(axis=1)
    cut = max(GAP * float(np.median(nearest)), EXACT_NATS)
    return _renumber(fcluster(linkage(distances, "single"), cut, criterion="distance"))


def _renumber(labels: ArrayLike) -> NDArray[np.int64]:
    _, first, index = np.unique(np.asarray(labels), return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[index], dtype=np.int64)


def _calls(name: str, vectors: ArrayLike) -> Floats:
    data = np.asarray(vectors, dtype=np.float64)
    if data.ndim != 2 or data.size == 0 or not np.isfinite(data).all():
        raise ValueError(f"`{name}` must be finite, of shape (calls, tokens), not {data.shape}")
    return data


@dataclass(frozen=True, slots=True, kw_only=True)
class Backend:
    """One backend: calls in each window, and (if it answered now) its distance to the nearest backend of the baseline.

    ``distance`` is the mean absolute difference in nats per token, ``p_value`` is adjusted for the number of backends.
    """

    n_baseline: int
    n_current: int
    share: float
    distance: float | None
    p_value: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolShift:
    """Result over all backends. ``p_value`` is None when calls repeat too rarely to know their noise.

    ``noise`` is the mean absolute deviation of a call from its backend, ``distance`` that of the worst backend, nats.
    """

    p_value: float | None
    distance: float
    tolerance: float
    noise: float
    backends: tuple[Backend, ...]


def pool_shift(
    baseline: ArrayLike, current: ArrayLike, *, tolerance: float, alpha: float, rng: np.random.Generator,
    labels: ArrayLike | None = None,
) -> PoolShift:  # fmt: skip
    """Test whether every backend that answers now is within `tolerance` of one that answered before.

    Parameters
    ----------
    baseline, current
        Shapes (n, d) and (m, d): logprobs of the same d tokens in each call.
    tolerance
        Largest mean absolute difference in nats per token between two faithful backends: from the faithful ensemble.
        A pool may route to a faithful backend that the baseline never met, which no history can tell from a fault.
    alpha
        Level of the decision; sets the number of draws.
    labels
        Shape (n + m,): backends by system_fingerprint or upstream, where known; else by `signature_clusters`.

    Notes
    -----
    H0: backends differ by at most `tolerance`, calls of one backend by independent noise; routing is arbitrary.
    By the triangle inequality the worst distance is then at most `tolerance` plus that of two means of noise, whose
    distribution is drawn from residuals (adjusted per backend by the maximum: P. Westfall and S. Young, 1993).
    Conservative when backends are closer than the tolerance. Cost O(draws (n + m) d backends).
    """
    before, now = _calls("baseline", baseline), _calls("current", current)
    if before.shape[1] != now.shape[1]:
        raise ValueError(f"`baseline` and `current` must list the same tokens: {before.shape[1]}, {now.shape[1]}")
    if not 0 <= tolerance < np.inf:
        raise ValueError(f"`tolerance` must be a finite number of nats, at least 0, not {tolerance}")
    calls, is_now = np.vstack([before, now]), np.arange(len(before) + len(now)) >= len(before)
    label = signature_clusters(calls) if labels is None else _renumber(labels)
    if label.shape != is_now.shape:
        raise ValueError(f"`labels` must name the backend of each of {is_now.size} calls, not {label.shape}")
    residuals, freedom = _residuals(calls, label)
    matched = _distances(calls, is_now, label)
    worst = max(distance for distance, _, _ in matched.values())
    null = tolerance + _noise(residuals, [(a, b) for _, a, b in matched.values()], draws_for(alpha), rng)
    known = freedom >= MIN_FREEDOM

    def p_of(distance: float) -> float | None:
        return monte_carlo_p(int((null >= distance).sum()), null.size) if known else None

    backends = tuple(
        Backend(
            n_baseline=int((members := label == index)[~is_now].sum()), n_current=int(members[is_now].sum()),
            share=float(members[is_now].mean()), distance=matched[index][0] if index in matched else None,
            p_value=p_of(matched[index][0]) if index in matched else None,
        )
        for index in range(int(label.max()) + 1)
    )  # fmt: skip
    noise = float(np.abs(residuals).mean())
    return PoolShift(p_value=p_of(worst), distance=worst, tolerance=tolerance, noise=noise, backends=backends)


def _residuals(calls: Floats, label: NDArray[np.int64]) -> tuple[Floats, int]:
    """Deviations from the backend's mean, scaled for its estimation, without those of backends with one call."""
    sizes = np.bincount(label)
    means = np.stack([np.bincount(label, weights=column) for column in calls.T], axis=1) / sizes[:, np.newaxis]
    repeated = sizes[label] > 1
    scale = np.sqrt(sizes / np.maximum(sizes - 1, 1))[label, np.newaxis]
    rows = ((calls - means[label]) * scale)[repeated]
    return (rows if len(rows) else np.zeros((1, calls.shape[1]))), int(repeated.sum() - (sizes > 1).sum())


def _distances(
    calls: Floats, is_now: NDArray[np.bool_], label: NDArray[np.int64]
) -> dict[int, tuple[float, int, int]]:
    """Per backend that answers now: distance to the nearest baseline backend, and calls in the two means."""
    known = np.unique(label[~is_now])
    centres = [calls[(label == index) & ~is_now].mean(axis=0) for index in known]
    found = {}
    for index in np.unique(label[is_now]):
        members = (label == index) & is_now
        apart = [float(np.abs(calls[members].mean(axis=0) - centre).mean()) for centre in centres]
        nearest = int(np.argmin(apart))
        found[int(index)] = apart[nearest], int(members.sum()), int(((label == known[nearest]) & ~is_now).sum())
    return found


def _noise(residuals: Floats, sizes: list[tuple[int, int]], draws: int, rng: np.random.Generator) -> Floats:
    """Largest mean absolute difference between two means of resampled residuals, shape (draws,)."""
    largest, rows = np.zeros(draws), len(residuals)
    offsets = rows * np.arange(draws)[:, np.newaxis]

    def weights(size: int) -> Floats:
        chosen = (rng.integers(0, rows, (draws, size)) + offsets).ravel()
        return np.asarray(np.bincount(chosen, minlength=draws * rows).reshape(draws, rows) / size)

    for first, second in sizes:
        largest = np.maximum(largest, np.abs((weights(first) - weights(second)) @ residuals).mean(axis=1))
    return largest
