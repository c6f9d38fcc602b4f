"""Rates of trials that come in runs: how much less a trial says when those of one run come out alike."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Sums:
    """Sums over runs of n_i, k_i, n_i^2, k_i^2 and n_i k_i, with the number of runs."""

    runs: int
    n: int
    k: int
    nn: int
    kk: int
    nk: int


def design_effect(sums: Sums) -> float:
    """Return by how many times the variance of k / n exceeds that of independent trials; at least 1.

    Notes
    -----
    Variance of a ratio over clusters: W. G. Cochran, *Sampling Techniques*, 3rd ed., 2.11 and 9A.4. With fewer than two
    runs, or where all trials came out alike, nothing can be told, and 1 is returned.
    """
    if sums.runs < 2 or sums.k in {0, sums.n}:
        return 1.0
    rate = sums.k / sums.n
    squares = sums.kk - 2 * rate * sums.nk + rate * rate * sums.nn
    clustered = sums.runs / (sums.runs - 1) * squares / sums.n**2
    return max(1.0, clustered / (rate * (1 - rate) / sums.n))
