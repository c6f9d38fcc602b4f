"""Intervals for rates."""

from dataclasses import dataclass

from scipy.stats import norm


@dataclass(frozen=True, slots=True)
class Rate:
    """A rate ``k / n`` with its interval. ``value``, ``low`` and ``high`` are None when n is 0."""

    k: int
    n: int
    value: float | None
    low: float | None
    high: float | None


def wilson(k: int, n: int, *, confidence: float = 0.95, design: float = 1.0) -> Rate:
    """Wilson score interval of a binomial rate.

    Parameters
    ----------
    k, n
        Successes and trials, ``0 <= k <= n``. With ``n = 0`` nothing is known and the interval is None.
    confidence
        Two-sided coverage.
    design
        So many trials say as much as one that is independent of all others, at least 1: the size of a cluster whose
        trials all come out alike is safe whatever they do.

    Notes
    -----
    E. B. Wilson, JASA 22 (1927), 209-212; recommended for small n in Brown, Cai, DasGupta, Statist. Sci. 16 (2001).
    """
    if not 0 <= k <= n:
        raise ValueError(f"`k` must lie between 0 and `n`, not k={k}, n={n}")
    if design < 1:
        raise ValueError(f"`design` must be at least 1, not {design}")
    if not 0 < confidence < 1:
        raise ValueError(f"`confidence` must lie between 0 and 1, not {confidence}")
    if n == 0:
        return Rate(0, 0, None, None, None)
    low, high = score_interval(k / n, n / design, confidence=confidence)
    # The bounds are exact at the ends; rounding must not push them inside.
    return Rate(k, n, k / n, 0.0 if k == 0 else low, 1.0 if k == n else high)


def score_interval(share: float, size: float, *, confidence: float = 0.95) -> tuple[float, float]:
    """Wilson's interval of a `share` that is worth so many trials, which need not be a whole number."""
    z = float(norm.ppf(0.5 + confidence / 2))
    shrink = 1 + z * z / size
    centre = (share + z * z / (2 * size)) / shrink
    half = z / shrink * (share * (1 - share) / size + z * z / (4 * size * size)) ** 0.5
    return max(0.0, centre - half), min(1.0, centre + half)


def difference(
    one: tuple[float, float], other: tuple[float, float], *, confidence: float = 0.95
) -> tuple[float, float, float]:  # fmt: skip
    """Return the difference of two shares, each given with its size, and its interval.

    Notes
    -----
    R. G. Newcombe, Statist. Med. 17 (1998), 873-890, method 10.
    """
    (p, low_p, high_p), (q, low_q, high_q) = (
        (share, *score_interval(share, size, confidence=confidence)) for share, size in (one, other)
    )
    below, above = ((p - low_p) ** 2 + (high_q - q) ** 2) ** 0.5, ((high_p - p) ** 2 + (q - low_q) ** 2) ** 0.5
    return p - q, max(-1.0, p - q - below), min(1.0, p - q + above)
