"""P-values from draws under the null: never 0, and with enough draws for the level."""

from math import ceil

from monitor.stats.checks import inside

DRAWS_PER_LEVEL = 21
"""Draws expected beyond the threshold. 20 are needed for a stable decision; (B + 1) alpha is then whole."""


def monte_carlo_p(n_extreme: int, n_draws: int) -> float:
    """``(1 + n_extreme) / (1 + n_draws)``: the observed value is one of the draws under the null.

    Notes
    -----
    B. Phipson and G. K. Smyth, Stat. Appl. Genet. Mol. Biol. 9 (2010), article 39. The smallest value is
    ``1 / (1 + n_draws)``.
    """
    if not 0 <= n_extreme <= n_draws or n_draws < 1:
        raise ValueError(f"`n_extreme` must lie between 0 and `n_draws` >= 1, not {n_extreme} of {n_draws}")
    return (1 + n_extreme) / (1 + n_draws)


def draws_for(alpha: float) -> int:
    """How many draws a test at level `alpha` needs; `alpha` after all corrections for several tests."""
    return ceil(DRAWS_PER_LEVEL / inside("alpha", alpha)) - 1
