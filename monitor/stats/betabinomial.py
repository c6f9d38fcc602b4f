"""Rates of flips, when the tokens of one request are not independent.

k of n tokens of a request differ from golden's greedy choice. Given the request's own rate, flips are binomial; the
rate varies between requests, so counts are beta-binomial with mean p and intra-class correlation rho. Ignoring rho
raises false alarms from 1% to 18% at rho = 0.01 and 200 tokens (docs/statistics.md, B6).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaln, expit
from scipy.stats import binom, chi2

from monitor.stats.checks import Floats, counts, inside, vector
from monitor.stats.eprocess import EProcess, Interval, likelihood_interval, mixture_process

RATIOS = (1.25, 1.5, 2.0, 3.0, 5.0)
"""Alternatives as multiples of the tolerated rate: from just above it to a different model."""


def log_likelihood(k: ArrayLike, n: ArrayLike, p: ArrayLike, rho: float) -> Floats:
    """Log-likelihood of each pair (k, n) at each rate, without the binomial coefficient.

    Parameters
    ----------
    k, n
        Shape (t,).
    p
        Shape (j,) or (t, j), strictly between 0 and 1.
    rho
        Intra-class correlation ``1 / (a + b + 1)`` of the beta distribution; 0 is the binomial.

    Returns
    -------
    Shape (t, j), nats.
    """
    hits, trials = (column[:, np.newaxis] for column in counts(k, n))
    rate = np.atleast_2d(np.asarray(p, dtype=np.float64))
    if not ((rate > 0) & (rate < 1)).all() or not 0 <= rho < 1:
        raise ValueError(f"`p` must lie between 0 and 1 and `rho` in [0, 1), not rho={rho}")
    if rho == 0:
        return np.asarray(hits * np.log(rate) + (trials - hits) * np.log1p(-rate))
    size = 1 / rho - 1
    a, b = rate * size, (1 - rate) * size
    return np.asarray(betaln(hits + a, trials - hits + b) - betaln(a, b))


def alternatives(p0: ArrayLike, ratios: ArrayLike = RATIOS) -> Floats:
    """Rates `ratios` times `p0`, mirrored near 1 so that they stay between p0 and 1. Shape (len(p0) or 1, j)."""
    null, factor = np.atleast_1d(np.asarray(p0, dtype=np.float64))[:, np.newaxis], vector("ratios", ratios, low=1)
    return np.asarray(np.minimum(null * factor, 1 - (1 - null) / factor))


def flip_log_ratios(
    k: ArrayLike, n: ArrayLike, *, p0: ArrayLike, rho: float, ratios: ArrayLike = RATIOS
) -> Floats:
    """Log e-values of each request: rate ``ratios * p0`` against at most `p0`, shape (t, j).

    Parameters
    ----------
    p0
        One tolerated rate, or one per request.
    rho
        Upper bound of the correlation.

    Notes
    -----
    The likelihood ratio grows with k (Gamma(k + a1) / Gamma(k + a0) does for a1 > a0) and counts grow stochastically
    with p, so its expectation is largest at p0. Over true correlations from 0 to `rho` it is largest at an end: 1 at
    `rho`, and at 0, for the alternatives nearest to p0, up to 1.2. Undivided, that means 6% false alarms at 1% when
    requests are independent and rho = .01 is assumed (enumerated in the tests); so ratios are divided by it.
    """
    null = np.atleast_1d(np.asarray(p0, dtype=np.float64))
    rates = alternatives(null, ratios)
    raw = log_likelihood(k, n, rates, rho) - log_likelihood(k, n, null[:, np.newaxis], rho)
    return raw if rho == 0 else raw - _excess(np.asarray(n), null, ratios, rho)


def _excess(n: Floats, null: Floats, ratios: ArrayLike, rho: float) -> Floats:
    """Log of the expected ratio if flips are independent, where above 0, shape (t, j); by enumeration over k."""
    pairs, index = np.unique(np.column_stack(np.broadcast_arrays(n, null)), axis=0, return_inverse=True)
    table = []
    for size, rate in pairs:
        k, trials = np.arange(size + 1), np.full(int(size) + 1, size)
        grown = log_likelihood(k, trials, alternatives(rate, ratios), rho) - log_likelihood(k, trials, [rate], rho)
        table.append(binom.pmf(k, size, rate) @ np.exp(grown))
    return np.asarray(np.log(np.maximum(np.stack(table), 1.0))[index.ravel()])


def flip_process(
    k: ArrayLike, n: ArrayLike, *, p0: ArrayLike, rho: float, ratios: ArrayLike = RATIOS,
    weights: ArrayLike | None = None,
) -> EProcess:  # fmt: skip
    """Evidence that flips are more frequent than tolerated.

    Parameters
    ----------
    k, n
        Shape (t,): flips and tokens of each request, in the order of asking.
    p0
        Tolerated rate: upper bound over the faithful ensemble; one, or one per request (prompts differ).
    rho
        Upper bound of the intra-class correlation over the faithful ensemble (`fit`).

    Notes
    -----
    H0: in every request the rate is at most p0 and counts are beta-binomial with a correlation of at most rho. Mixture
    over alternatives of the running product of `flip_log_ratios`. Cost O(t j), and O(n j) per distinct (n, p0).
    """
    return mixture_process(flip_log_ratios(k, n, p0=p0, rho=rho, ratios=ratios), weights=weights)


def rate_interval(k: ArrayLike, n: ArrayLike, *, rho: float, confidence: float = 0.95) -> Interval:
    """Anytime-valid interval for a beta-binomial rate (known `rho`), with the Jeffreys prior as mixture."""
    grid = expit(np.linspace(-12, 12, 961))
    # The Jeffreys density in logit coordinates; it only decides where the interval is shortest, not whether it holds.
    prior = np.sqrt(grid * (1 - grid))
    inner = likelihood_interval(
        log_likelihood(k, n, grid, rho), grid, confidence=confidence, weights=prior / prior.sum()
    )
    return Interval(
        estimate=float(np.sum(k) / np.sum(n)),
        low=0.0 if inner.low == grid[0] else inner.low,
        high=1.0 if inner.high == grid[-1] else inner.high,
        confidence=confidence,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class BetaBinomialFit:
    """Most likely rate and correlation, and upper bounds of both: what a tolerance is made of."""

    p: float
    rho: float
    p_high: float
    rho_high: float
    n: int


def fit(k: ArrayLike, n: ArrayLike, *, confidence: float = 0.99) -> BetaBinomialFit:
    """Fit counts of a faithful ensemble; `confidence` is one-sided, per parameter.

    Notes
    -----
    Maximum likelihood on a grid, bounds from the profile likelihood ratio (S. S. Wilks, Ann. Math. Statist. 9 (1938),
    60-62; asymptotic in the number of requests). With no flip at all the correlation cannot be known: ``rho`` is 0 and
    ``rho_high`` the end of the grid.
    """
    hits, trials = counts(k, n)
    inside("confidence", confidence, 0.5)
    centre = (hits.sum() + 0.5) / (trials.sum() + 1)
    rates = expit(np.log(centre / (1 - centre)) + np.linspace(-3, 3, 241))
    rhos = np.concatenate([[0.0], np.geomspace(1e-4, 0.5, 60)])
    pairs, times = np.unique(np.column_stack([hits, trials]), axis=0, return_counts=True)
    surface = np.stack([times @ log_likelihood(pairs[:, 0], pairs[:, 1], rates, float(rho)) for rho in rhos])
    best = np.unravel_index(surface.argmax(), surface.shape)
    near = surface >= surface.max() - chi2.ppf(2 * confidence - 1, df=1) / 2
    p, rho = (float(rates[best[1]]), float(rhos[best[0]])) if hits.any() else (0.0, 0.0)
    return BetaBinomialFit(
        p=p, rho=rho, p_high=float(rates[near.any(axis=0)].max()),
        rho_high=float(rhos[near.any(axis=1)].max()), n=hits.size,
    )  # fmt: skip
