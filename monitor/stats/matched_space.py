"""The space in which observed deviations are compared with predicted ones.

Logprobs of the tokens listed at one position move together: all of them depend on the same hidden state. How they move
together is seen in the predictions themselves. So each position is whitened with the covariance of all predictions
there; what is left of a deviation that has nothing to do with a prediction then behaves like independent noise.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_KEPT, _PER_DECOY = 0.1, 2.0
_MOST_DECIMALS = 6
_GRIDS, _GRID_ERROR = tuple(2.0**-power for power in range(1, 9)), 1e-4
"""Steps of logits in 16 bit, and how far logprobs may be off them: many APIs give four decimals or five."""

_MEDIAN_OF_NORMAL = 0.6745
_FEWEST = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """Inner products of whitened deviations, per position (n) and hypothesis (h).

    ``observed`` (n,) is |x|^2, ``cross`` (n, h) <x, x_h>, ``predicted`` (n, h) |x_h|^2, ``gram`` (h, h) the sum over
    positions of <x_h, x_h'>. ``dims`` (n,) are the free directions of each position, ``rounding`` (n,) the variance per
    direction that rounded logprobs add. All are in nats^2: a typical deviation keeps its size.
    """

    observed: Floats
    cross: Floats
    predicted: Floats
    gram: Floats
    dims: Floats
    rounding: Floats

    def design_effect(self, families: Sequence[str]) -> float:
        """How many times less the positions say than independent ones would, at least 1.

        The mean of two estimates, both out of cosines that would be zero but for chance: between predictions of
        different families, and between all predictions and what the best of them leaves of the observation.
        """
        size = np.sqrt(np.diag(self.gram))
        known = np.flatnonzero(size > 0)
        if len(known) < _FEWEST:
            return 1.0
        cosines = self.gram[np.ix_(known, known)] / np.outer(size[known], size[known])
        labels = np.asarray(families)[known]
        apart = np.triu(labels[:, None] != labels[None, :], 1)
        products = self.cross.sum(axis=0)
        best = known[np.argmax(np.abs(products[known]) / size[known])]
        slope = products[best] / self.gram[best, best]
        rest = (products - slope * self.gram[best])[known] / size[known]
        left = self.observed.sum() - slope * products[best]
        others = known != best
        spreads = [_spread(cosines[apart])] if apart.any() else []
        spreads += [_spread(rest[others] / np.sqrt(left))] if left > 0 else []
        return max(1.0, float(np.mean(spreads) * self.dims.sum())) if spreads else 1.0

    def distance(self, column: int, gain: float = 1.0) -> Floats:
        """|x - gain x_h|^2 per position."""
        found = self.observed - 2 * gain * self.cross[:, column] + gain**2 * self.predicted[:, column]
        return np.maximum(found, 0.0)


def space_of(
    observed: Sequence[Floats], predicted: Sequence[Sequence[Floats]], *, rounding: Floats | float = 0.0
) -> Space:
    """Whiten deviations position by position.

    Parameters
    ----------
    observed
        Of each position the deviations from golden of the listed tokens, in nats.
    predicted
        Of each hypothesis the same, aligned with `observed`.
    rounding
        Step to which the observed logprobs are rounded, one for all positions or one of each; 0 for none.

    Notes
    -----
    Deviations of a position are centred (a common shift is the normaliser's); a single listed token is taken as it is.
    The covariance of a position is that of the hypotheses' deviations, each scaled to the same size over all positions,
    shrunk towards a multiple of the identity with weight max(0.1, 2 / number of hypotheses).
    """
    tables = [_centred(np.stack([row, *(one[at] for one in predicted)])) for at, row in enumerate(observed)]
    size = np.sqrt(sum(np.sum(x[1:] ** 2, axis=1) for x in tables) / sum(map(len, observed)))
    decoys = [at for at, value in enumerate(size) if value > 0]
    shrink = min(1.0, max(_KEPT, _PER_DECOY / max(1, len(decoys))))
    rows = []
    for x in tables:
        unit = np.stack([x[1 + one] / size[one] for one in decoys]) if decoys else np.ones((1, x.shape[1]))
        rows.append(_whitened(x, _root(unit, shrink)))
    products = np.stack([one[0] for one in rows])
    dims = np.array([max(1, len(row) - 1) for row in observed], dtype=np.float64)
    return Space(
        observed=products[:, 0, 0], cross=products[:, 0, 1:], gram=products[:, 1:, 1:].sum(axis=0), dims=dims,
        predicted=np.diagonal(products, axis1=1, axis2=2)[:, 1:],
        rounding=np.array([one[1] for one in rows]) * rounding**2 / 12,
    )  # fmt: skip


def centred(row: Floats) -> Floats:
    """`row` less its mean; a single value as it is."""
    return row - row.mean() if len(row) > 1 else np.asarray(row, dtype=np.float64)


def _centred(rows: Floats) -> Floats:
    """`centred` of every row."""
    return rows - rows.mean(axis=1, keepdims=True) if rows.shape[1] > 1 else rows


def step_of(logprobs: Sequence[Floats]) -> float:
    """Return the step to which `logprobs` are rounded, 0 when they are not."""
    values = np.concatenate(list(logprobs)) if len(logprobs) else np.zeros(0)
    for step in (1.0, 0.5, 0.25, *(10.0**-decimals for decimals in range(1, _MOST_DECIMALS + 1))):
        if len(values) and np.allclose(values, np.round(values / step) * step, rtol=0, atol=1e-9):
            return step
    return 0.0


def grid_of(logprobs: Sequence[Floats]) -> Floats:
    """Return the steps (n,) to which the logits behind `logprobs` are rounded, 0 where they are not.

    Engines that compute logits in 16 bit leave them on a grid: in bfloat16 those from 16 to 32 are multiples of 1/8.
    Logprobs less each other are logits less each other, so they show it. One position off every grid, and there is
    none; a single listed token shows nothing.
    """
    steps = np.array([_grid(row) for row in logprobs])
    several = np.array([len(row) > 1 for row in logprobs], dtype=np.bool_)
    return steps if several.any() and (steps[several] > 0).all() else np.zeros(len(steps))


def _grid(row: Floats) -> float:
    gaps = row[1:] - row[0]
    for step in _GRIDS if len(gaps) else ():
        if np.allclose(gaps, np.round(gaps / step) * step, rtol=0, atol=_GRID_ERROR):
            return step
    return 0.0


def _spread(cosines: Floats) -> float:
    """Variance of cosines around zero, of which some may be no chance."""
    return float(np.median(np.abs(cosines)) / _MEDIAN_OF_NORMAL) ** 2


def _root(unit: Floats, shrink: float) -> Floats:
    """The inverse square root of the shrunk covariance of `unit` (h, k)."""
    covariance = unit.T @ unit / len(unit)
    mean = max(float(np.trace(covariance)) / len(covariance), 1e-12)
    covariance = (1 - shrink) * covariance + shrink * mean * np.eye(len(covariance))
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray((vectors * values**-0.5) @ vectors.T, dtype=np.float64)


def _whitened(x: Floats, root: Floats) -> tuple[Floats, float]:
    """Inner products (1 + h, 1 + h) of the whitened rows, and what a unit variance of every token becomes."""
    turned = _centred(x @ root)
    return turned @ turned.T, float(np.sum(root**2)) / len(root)
