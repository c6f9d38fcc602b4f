"""Exact tests of sampled tokens: with golden weights the null of every token is known given its own past.

So scores are martingale differences under H0 whatever the prompts, the lengths and the number of looks, and no
clustering correction is needed: dependence between tokens is already in the condition.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaln

from monitor.stats.checks import vector
from monitor.stats.eprocess import EProcess, mixture_process

STAKES = tuple(0.95 * 2.0**-step for step in range(12))
"""Bets as shares of the largest that cannot ruin: within a factor of two of every best bet down to 1/2000."""

CUT_NATS = 5.0
"""How far beyond ``ln(vocabulary)`` surprisal is cut: costs ``exp(-6)`` nats of bias, accounted for in the null."""

BETA_SHAPES = ((0.6, 1.0), (0.8, 1.0), (1.25, 1.0), (1.0, 0.6), (1.0, 0.8), (1.0, 1.25), (0.7, 0.7), (1.6, 1.6))
"""Alternatives to uniform: crowded low, high, at both ends, in the middle."""


def score_process(scores: ArrayLike, losses: ArrayLike) -> EProcess:
    """Bet that scores are positive on average.

    Parameters
    ----------
    scores
        Shape (t,). Under H0 the expectation of each is at most 0 given the past.
    losses
        Shape (t,) or one number, positive: how far below 0 each score can fall. May depend on the past of the score,
        not on the score.

    Notes
    -----
    Capital ``prod(1 + c s / loss)``, averaged over stakes c: the mixture ("diversified Kelly") bets of I. Waudby-Smith
    and A. Ramdas, JRSS B 86 (2024), 1-27. No upper bound of the scores is needed. Cost O(12 t).
    """
    values = vector("scores", scores)
    worst = np.broadcast_to(np.asarray(losses, dtype=np.float64), values.shape)
    if not (np.isfinite(worst).all() and (worst > 0).all() and (values >= -worst * (1 + 1e-9)).all()):
        raise ValueError("`losses` must be positive and no score may fall below -losses")
    return mixture_process(np.log1p((values / worst)[:, np.newaxis] * np.asarray(STAKES)))


@dataclass(frozen=True, slots=True, kw_only=True)
class SurprisalEvidence:
    """Evidence that the endpoint's tokens are more surprising to golden than they should be, and less.

    ``excess_nats`` is the mean of surprisal minus entropy: positive for a flatter sampler or other weights.
    """

    flatter: EProcess
    sharper: EProcess
    either: EProcess
    excess_nats: float
    n: int


def surprisal_process(
    surprisal: ArrayLike, entropy: ArrayLike, *, vocabulary: int, tolerance: float = 0.0
) -> SurprisalEvidence:
    """Surprisal of sampled tokens against the entropy golden predicts for each.

    Parameters
    ----------
    surprisal
        Shape (t,), nats: ``-log p_golden`` of each returned token, given the endpoint's own earlier tokens.
    entropy
        Shape (t,), nats: golden entropy at the same positions, at the *declared* temperature and truncation.
    vocabulary
        Number of tokens in the golden distribution.
    tolerance
        Excess in nats, either way, that faithful engines are allowed.

    Notes
    -----
    H0: token t is drawn from a distribution with ``|E[surprisal] - entropy| <= tolerance`` given its past. For
    "sharper" surprisal is cut at ``C = ln V + CUT_NATS``; since ``p (-ln p - C) <= exp(-C - 1)``, cutting lowers its
    expectation by at most ``V exp(-C - 1)``, which is granted to the null. A provider can lower the temperature until
    the mean fits other weights: see `pit_process` and flips for that. Cost O(24 t).
    """
    seen, expected = vector("surprisal", surprisal, low=0), vector("entropy", entropy, low=0)
    if seen.shape != expected.shape or vocabulary < 2 or tolerance < 0:
        raise ValueError("`surprisal` and `entropy` must be equally long, `vocabulary` >= 2, `tolerance` >= 0")
    if expected.max() > np.log(vocabulary) * (1 + 1e-6):
        raise ValueError("`entropy` exceeds ln(vocabulary): is it in nats, and is `vocabulary` right?")
    flatter = score_process(seen - expected - tolerance, expected + tolerance + 1e-6)
    cut = np.log(vocabulary) + CUT_NATS
    granted = tolerance + np.exp(-CUT_NATS - 1)
    sharper = score_process(expected - np.minimum(seen, cut) - granted, cut - expected + granted)
    either = EProcess(log_e=np.logaddexp(flatter.log_e, sharper.log_e) - np.log(2))
    return SurprisalEvidence(
        flatter=flatter, sharper=sharper, either=either, excess_nats=float((seen - expected).mean()), n=seen.size
    )


def pit_process(values: ArrayLike) -> EProcess:
    """Evidence that ranks or PIT values, uniform and independent under H0, are not uniform.

    Parameters
    ----------
    values
        Shape (t,), in (0, 1], of `monitor.stats.ranks.randomised_ranks` or `discrete_pit`.

    Notes
    -----
    Bets with the beta densities of `BETA_SHAPES`, whose integral is 1. Cost O(8 t).
    """
    u = vector("values", values, low=0, high=1)
    if u.min() == 0:
        raise ValueError("`values` must be positive: ranks and PIT values of this package are never 0")
    # The last representable value below 1 keeps the density finite; it is drawn with probability 0.
    log_u, log_rest = np.log(u), np.log1p(-np.minimum(u, 1 - 2.0**-53))
    columns = [(a - 1) * log_u + (b - 1) * log_rest - float(betaln(a, b)) for a, b in BETA_SHAPES]
    return mixture_process(np.column_stack(columns))
