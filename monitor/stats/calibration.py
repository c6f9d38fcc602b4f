"""What faithful engines differ by, and how far degraded ones stand from it: per prompt and for the whole set."""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import t

MIN_FAITHFUL = 3
"""Fewest faithful members whose spread says anything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptFit:
    """How much one prompt tells. All numbers are losses: larger is worse.

    ``separation`` is (mean of the degraded - mean of the faithful) / SD of the faithful. ``dropped`` says why the
    prompt is left out: ``noisy``, ``uninformative`` or ``not measured``; None when it is kept.
    """

    tolerance: float | None
    faithful_mean: float | None
    faithful_sd: float | None
    separation: float | None
    dropped: Literal["noisy", "uninformative", "not measured"] | None


def upper_bound(values: ArrayLike, *, confidence: float = 0.99) -> float:
    """Return what one more faithful member stays below, with probability `confidence`; at least the largest seen.

    Parameters
    ----------
    values
        Shape (n,), finite, n >= `MIN_FAITHFUL`.

    Notes
    -----
    One-sided normal prediction bound for one future observation, mean + t(confidence; n - 1) s sqrt(1 + 1/n):
    G. Hahn and W. Meeker, "Statistical Intervals", 1991, section 4.8. Losses of engines are skewed to the right, where
    the normal bound is too low; the largest value seen is therefore always inside.
    """
    data = np.asarray(values, dtype=np.float64)
    if data.ndim != 1 or len(data) < MIN_FAITHFUL or not np.isfinite(data).all():
        raise ValueError(f"`values` must be at least {MIN_FAITHFUL} finite numbers, not {data}")
    n = len(data)
    margin = float(t.ppf(confidence, n - 1)) * float(data.std(ddof=1)) * float(np.sqrt(1 + 1 / n))
    return max(float(data.mean()) + margin, float(data.max()))


def fit_prompts(
    faithful: ArrayLike, degraded: ArrayLike, *, keep: float = 0.75, noisy: float = 5.0, resolution: float = 1e-6
) -> tuple[PromptFit, ...]:
    """Judge every prompt by how well it tells degraded from faithful members.

    Parameters
    ----------
    faithful, degraded
        Losses, shape (members, prompts); NaN where a member could not be measured on a prompt.
    keep
        Share of the prompts to keep, the most informative ones.
    noisy
        A prompt is noisy when the SD of its faithful losses exceeds this many times the median SD of all prompts.
    resolution
        SD below which a prompt is as good as noiseless: the separation is taken over at least this.
    """
    good, bad = np.asarray(faithful, dtype=np.float64), np.asarray(degraded, dtype=np.float64)
    if good.ndim != 2 or bad.ndim != 2 or good.shape[1] != bad.shape[1]:
        raise ValueError(f"`faithful` and `degraded` must be (members, prompts), not {good.shape} and {bad.shape}")
    fits = [_fit(_known(g), _known(b), resolution) for g, b in zip(good.T, bad.T, strict=True)]
    spreads = [fit.faithful_sd for fit in fits if fit.faithful_sd is not None]
    limit = noisy * max(float(np.median(spreads)), resolution) if spreads else 0.0
    fits = [replace(fit, dropped="noisy") if (fit.faithful_sd or 0.0) > limit else fit for fit in fits]
    usable = [at for at, fit in enumerate(fits) if fit.dropped is None]
    kept = sorted(usable, key=lambda at: -(fits[at].separation or 0.0))[: max(1, round(keep * len(fits)))]
    return tuple(
        replace(fit, dropped="uninformative") if fit.dropped is None and at not in kept else fit
        for at, fit in enumerate(fits)
    )


def _known(column: NDArray[np.float64]) -> NDArray[np.float64]:
    return column[np.isfinite(column)]


def _fit(good: NDArray[np.float64], bad: NDArray[np.float64], resolution: float) -> PromptFit:
    if len(good) < MIN_FAITHFUL or not len(bad):
        return PromptFit(
            tolerance=None, faithful_mean=None, faithful_sd=None, separation=None, dropped="not measured"
        )  # fmt: skip
    mean, deviation = float(good.mean()), float(good.std(ddof=1))
    return PromptFit(
        tolerance=upper_bound(good), faithful_mean=mean, faithful_sd=deviation,
        separation=(float(bad.mean()) - mean) / max(deviation, resolution), dropped=None,
    )  # fmt: skip
