"""Do two sets of completions of the same prompts come from one distribution? Text only, no tokenizer assumed.

Maximum mean discrepancy with labels permuted *within* each prompt. Permuting across prompts, as published, makes a
balanced design conservative three- to fourfold and halves the power (docs/statistics.md, B2).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from monitor.stats.checks import Floats, inside
from monitor.stats.montecarlo import draws_for, monte_carlo_p

CHUNK = 2000
"""Permutations drawn at a time: bounds memory to CHUNK x completions per prompt."""


def hamming_kernel(completions: ArrayLike) -> Floats:
    """Share of positions at which two completions of one prompt hold the same token. Shape (n, n).

    Parameters
    ----------
    completions
        Shape (n, length), integers, right-padded with one value. Two pads count as equal, as published (I. Gao,
        P. Liang, C. Guestrin, Model Equality Testing, arXiv 2410.20247, section 3).

    Notes
    -----
    Sees only the distribution at each position: tails spliced between completions of one prompt leave it unchanged
    (ibid., appendix A.1), and `bigram_kernel` sees such joins only faintly (power .1 to .2 at 25 x 10 and 5%). Seeing
    them takes golden weights. Cost O(n^2 length).
    """
    data = _tokens(completions)
    matches = np.zeros((len(data), len(data)))
    for column in data.T:
        matches += column[:, np.newaxis] == column
    return np.asarray(matches / data.shape[1])


def bigram_kernel(completions: ArrayLike, *, pad: int | None = None) -> Floats:
    """Cosine of the counts of neighbouring token pairs; pairs that touch `pad` do not count. Shape (n, n).

    The spectrum kernel with k = 2: C. Leslie, E. Eskin, W. S. Noble, Pac. Symp. Biocomput. 7 (2002), 564-575.
    """
    data = _tokens(completions).astype(np.int64)
    if data.shape[1] < 2:
        raise ValueError("`completions` need at least two positions for pairs of tokens")
    _, ids = np.unique(data, return_inverse=True)
    ids = ids.reshape(data.shape)
    pairs = ids[:, :-1] * (ids.max() + 1) + ids[:, 1:]
    kept = np.ones(pairs.shape, dtype=bool) if pad is None else (data[:, :-1] != pad) & (data[:, 1:] != pad)
    _, column = np.unique(pairs, return_inverse=True)
    column = column.reshape(pairs.shape)
    table = np.zeros((len(data), int(column.max()) + 1))
    np.add.at(table, (np.nonzero(kept)[0], column[kept]), 1.0)
    length = np.linalg.norm(table, axis=1, keepdims=True)
    unit = np.divide(table, length, out=np.zeros_like(table), where=length > 0)
    return np.asarray(unit @ unit.T)


def _tokens(completions: ArrayLike) -> NDArray[np.integer]:
    data = np.asarray(completions)
    if data.ndim != 2 or data.shape[0] < 2 or data.shape[1] == 0 or not np.issubdtype(data.dtype, np.integer):
        raise ValueError(
            f"`completions` must be whole numbers of shape (at least 2, length), not {data.dtype} {data.shape}"
        )
    return data


@dataclass(frozen=True, slots=True, kw_only=True)
class MmdTest:
    """``mmd2``: squared discrepancy, unbiased, so it may be negative. ``null_mean`` and ``null_sd`` of permutations."""

    mmd2: float
    p_value: float
    null_mean: float
    null_sd: float
    n_permutations: int
    n_prompts: int
    n_first: int
    n_second: int


def stratified_mmd(
    kernels: Sequence[Floats], n_first: Sequence[int], *, alpha: float, rng: np.random.Generator,
    n_permutations: int | None = None,
) -> MmdTest:  # fmt: skip
    """Permutation test over prompts.

    Parameters
    ----------
    kernels
        One symmetric matrix per prompt, over the completions of both sides: the first side's rows first. Computed
        once by the caller; permutations only choose indices.
    n_first
        How many rows of each matrix belong to the first side; at least one prompt needs two of each side.
    alpha
        Level at which the result will be judged, after all corrections; sets the number of permutations.

    Notes
    -----
    H0: within each prompt all completions are exchangeable. Exact for every sample size. Statistic: mean kernel over
    same-prompt pairs of the first side, plus that of the second, minus twice that across (unbiased MMD^2: A. Gretton
    et al., JMLR 13 (2012), 723-773, eq. 3, with pairs counted over all prompts as in arXiv 2410.20247).
    Cost O(prompts n^2 + permutations x prompts x n^2), as matrix products.
    """
    sizes = _sides(kernels, n_first)
    inside("alpha", alpha)
    draws = draws_for(alpha) if n_permutations is None else n_permutations
    pairs = np.array([
        sum(a * (a - 1) for a, _ in sizes), sum(b * (b - 1) for _, b in sizes), sum(a * b for a, b in sizes),
    ])  # fmt: skip
    if pairs.min() == 0:
        raise ValueError("`kernels` hold no pair within a side: ask at least two completions of one prompt per side")
    observed = float(_statistics(kernels, [_first(a, a + b) for a, b in sizes], pairs)[0])
    null = np.concatenate([
        _statistics(kernels, [_permuted(a, a + b, size, rng) for a, b in sizes], pairs) for size in _chunks(draws)
    ])
    # Equal splits in another order of addition differ in the last bits and must count as ties.
    n_extreme = int((null >= observed - 1e-12).sum())
    return MmdTest(
        mmd2=observed, p_value=monte_carlo_p(n_extreme, draws), null_mean=float(null.mean()),
        null_sd=float(null.std()), n_permutations=draws, n_prompts=len(sizes), n_first=sum(a for a, _ in sizes),
        n_second=sum(b for _, b in sizes),
    )  # fmt: skip


def _sides(kernels: Sequence[Floats], n_first: Sequence[int]) -> list[tuple[int, int]]:
    if len(kernels) != len(n_first) or not kernels:
        raise ValueError(f"`kernels` and `n_first` must be equally long, not {len(kernels)} and {len(n_first)}")
    for index, (kernel, first) in enumerate(zip(kernels, n_first, strict=True)):
        square = kernel.ndim == 2 and kernel.shape[0] == kernel.shape[1]
        if not square or not 0 < first < len(kernel) or not np.isfinite(kernel).all():
            raise ValueError(
                f"`kernels[{index}]` must be square and finite with completions of both sides, not {kernel.shape}"
            )
    return [(first, len(kernel) - first) for kernel, first in zip(kernels, n_first, strict=True)]


def _chunks(draws: int) -> list[int]:
    if draws < 1:
        raise ValueError(f"`n_permutations` must be at least 1, not {draws}")
    return [CHUNK] * (draws // CHUNK) + ([draws % CHUNK] if draws % CHUNK else [])


def _first(n_first: int, n: int) -> Floats:
    return np.asarray((np.arange(n) < n_first).astype(np.float64))[np.newaxis]


def _permuted(n_first: int, n: int, size: int, rng: np.random.Generator) -> Floats:
    """`size` random choices of `n_first` rows, as 0/1 indicators of shape (size, n)."""
    chosen = np.zeros((size, n))
    order = np.argpartition(rng.random((size, n)), n_first - 1, axis=1)[:, :n_first]
    np.put_along_axis(chosen, order, 1.0, axis=1)
    return chosen


def _statistics(kernels: Sequence[Floats], chosen: Sequence[Floats], pairs: Floats) -> Floats:
    """Statistic of each row of indicators; sums over the sides follow from one product per prompt."""
    sums = np.zeros((3, len(chosen[0])))
    for kernel, first in zip(kernels, chosen, strict=True):
        off = kernel - np.diag(np.diag(kernel))
        within = np.einsum("bi,bi->b", first @ off, first)
        touching = first @ off.sum(axis=1)
        sums += [within, off.sum() - 2 * touching + within, touching - within]
    mean = sums / pairs[:, np.newaxis]
    return np.asarray(mean[0] + mean[1] - 2 * mean[2])
