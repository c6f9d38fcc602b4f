"""MMD: an independent O(n^2) oracle, exact enumeration of permutations, level and power on real completions."""

import itertools
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.stats.mmd import bigram_kernel, hamming_kernel, stratified_mmd
from tests.stats.worlds import completions


def oracle(prompts: list[tuple[list[list[int]], list[list[int]]]]) -> float:
    """The published statistic, pair by pair: means over same-prompt pairs within and across, diagonal left out."""

    def alike(a: list[int], b: list[int]) -> float:
        return sum(s == t for s, t in zip(a, b, strict=True)) / len(a)

    first = [alike(a, b) for xs, _ in prompts for i, a in enumerate(xs) for j, b in enumerate(xs) if i != j]
    second = [alike(a, b) for _, ys in prompts for i, a in enumerate(ys) for j, b in enumerate(ys) if i != j]
    across = [alike(a, b) for xs, ys in prompts for a in xs for b in ys]
    return sum(first) / len(first) + sum(second) / len(second) - 2 * sum(across) / len(across)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(2, 5), st.integers(2, 5)), min_size=1, max_size=4), st.integers(0, 10_000))
def test_statistic_equals_the_oracle(sizes: list[tuple[int, int]], seed: int) -> None:
    """B3: to 1e-9 on equal input, also when prompts have different numbers of completions."""
    rng = np.random.default_rng(seed)
    prompts = [(rng.integers(0, 4, (a, 6)).tolist(), rng.integers(0, 4, (b, 6)).tolist()) for a, b in sizes]
    kernels = [hamming_kernel(xs + ys) for xs, ys in prompts]
    found = stratified_mmd(kernels, [a for a, _ in sizes], alpha=0.05, rng=rng, n_permutations=1)
    assert found.mmd2 == pytest.approx(oracle(prompts), abs=1e-9)


def test_statistic_equals_the_oracle_on_real_completions() -> None:
    tokens = completions()[:3, :24]
    prompts = [(each[:12].tolist(), each[12:].tolist()) for each in tokens]
    found = stratified_mmd(
        [hamming_kernel(each) for each in tokens], [12] * 3, alpha=0.05, rng=np.random.default_rng(0), n_permutations=1
    )
    assert found.mmd2 == pytest.approx(oracle(prompts), abs=1e-9)


def test_p_value_against_all_permutations() -> None:
    """Exact enumeration: two prompts with 3 + 3 completions have 400 splits; Monte Carlo agrees within 4 sigma."""
    rng = np.random.default_rng(1)
    kernels = [hamming_kernel(rng.integers(0, 3, (6, 8))) for _ in range(2)]

    def statistic(splits: tuple[tuple[int, ...], ...]) -> float:
        sums = np.zeros(3)
        for kernel, chosen in zip(kernels, splits, strict=True):
            inside = np.isin(np.arange(6), chosen)
            off = kernel * (1 - np.eye(6))
            parts = (off[np.ix_(a, b)].sum() for a, b in ((inside, inside), (~inside, ~inside), (inside, ~inside)))
            sums += list(parts)
        return float(sums[0] / 12 + sums[1] / 12 - 2 * sums[2] / 18)

    observed = statistic(((0, 1, 2), (0, 1, 2)))
    everything = itertools.product(itertools.combinations(range(6), 3), repeat=2)
    exact = np.mean([statistic(splits) >= observed - 1e-12 for splits in everything])
    found = stratified_mmd(kernels, [3, 3], alpha=0.05, rng=rng, n_permutations=9999)
    assert found.mmd2 == pytest.approx(observed, abs=1e-12)
    assert found.p_value == pytest.approx(exact, abs=4 * 0.5 / 100 + 1e-4)


def resample(
    rng: np.random.Generator, kernels: list[np.ndarray], *, prompts: int, each: int, tilt: float = 0.0
) -> list[np.ndarray]:
    """Kernels of disjoint samples; the second side prefers typical completions by `tilt` standard deviations."""
    found = []
    for index in rng.choice(len(kernels), prompts, replace=False):
        kernel = kernels[index]
        typical = kernel.mean(axis=1)
        weight = np.exp(tilt * (typical - typical.mean()) / typical.std())
        second = rng.choice(len(kernel), each, replace=False, p=weight / weight.sum())
        first = rng.choice(np.setdiff1d(np.arange(len(kernel)), second), each, replace=False)
        rows = np.concatenate([first, second])
        found.append(kernel[np.ix_(rows, rows)])
    return found


@pytest.fixture(scope="module")
def kernels() -> list[np.ndarray]:
    return [hamming_kernel(each) for each in completions()]


def p_values(kernels: list[np.ndarray], *, worlds: int, prompts: int, each: int, tilt: float = 0.0) -> np.ndarray:
    rng = np.random.default_rng(17)
    return np.array([
        stratified_mmd(
            resample(rng, kernels, prompts=prompts, each=each, tilt=tilt), [each] * prompts, alpha=0.05, rng=rng,
            n_permutations=199,
        ).p_value
        for _ in range(worlds)
    ])  # fmt: skip


def test_level_on_real_completions(kernels: list[np.ndarray]) -> None:
    """B1 in small: 25 x 10, rejections of 200 null worlds at 5% within the 99.9% bounds 2 to 22."""
    assert 2 <= (p_values(kernels, worlds=200, prompts=25, each=10) <= 0.05).sum() <= 22


def test_power_on_tilted_completions(kernels: list[np.ndarray]) -> None:
    """B2 in small, 80 worlds: tilt .6, 25 x 10, 1%. With .435, the power of 400 worlds, 24 of 80 or more have 99.5%."""
    assert (p_values(kernels, worlds=80, prompts=25, each=10, tilt=0.6) <= 0.01).mean() >= 0.3


def test_spliced_tails_hide_from_hamming_and_nearly_from_bigrams() -> None:
    """B5: tails taken from another completion keep every position's marginal: power at most .15 at 5% (30 worlds)."""
    rng = np.random.default_rng(18)
    hits = {"hamming": 0, "bigram": 0}
    tokens = completions()
    for _ in range(30):
        sides = []
        for each in tokens[rng.choice(len(tokens), 25, replace=False)]:
            rows = rng.choice(160, 60, replace=False)
            spliced = each[rows[10:20]].copy()
            for cut in (10, 20, 30, 40):
                spliced[:, cut : cut + 10] = each[rows[10 + cut : 20 + cut], cut : cut + 10]
            sides.append(np.vstack([each[rows[:10]], spliced]))
        for name, kernel in (("hamming", hamming_kernel), ("bigram", bigram_kernel)):
            matrices = [kernel(side) for side in sides]
            found = stratified_mmd(matrices, [10] * 25, alpha=0.05, rng=rng, n_permutations=199)
            hits[name] += found.p_value <= 0.05
    assert hits["hamming"] <= 0.15 * 30
    assert hits["bigram"] > hits["hamming"]


def test_bigram_kernel_by_hand() -> None:
    # ab bc | ab bb | no pair without a pad: cosine 1/2, and 0 with nothing, also with itself.
    kernel = bigram_kernel([[1, 2, 3], [1, 2, 2], [4, 0, 0]], pad=0)
    assert kernel == pytest.approx(np.array([[1, 0.5, 0], [0.5, 1, 0], [0, 0, 0]]))


def test_full_size_is_quick() -> None:
    """B3: 10 prompts x 50 per side x 50 tokens, 9,999 permutations, within 5 s of CPU time (measured 0.6)."""
    tokens = completions()[:10, :100]
    started = time.process_time()
    found = stratified_mmd(
        [hamming_kernel(each) for each in tokens], [50] * 10, alpha=0.01, rng=np.random.default_rng(3),
        n_permutations=9999,
    )  # fmt: skip
    assert time.process_time() - started < 5
    assert found.p_value > 0.001
    assert found.null_mean == pytest.approx(0, abs=5 * found.null_sd / 100)


def test_p_is_smallest_for_other_text_and_never_zero() -> None:
    kernels = [hamming_kernel(np.vstack([np.zeros((8, 5), int), np.ones((8, 5), int)])) for _ in range(4)]
    found = stratified_mmd(kernels, [8] * 4, alpha=0.01, rng=np.random.default_rng(4))
    assert found.n_permutations >= 2000
    assert found.p_value == 1 / (found.n_permutations + 1)
    assert found.mmd2 == pytest.approx(2.0)


def test_unusable_input() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="completions"):
        hamming_kernel([[1.5, 2.0], [1.0, 2.0]])
    with pytest.raises(ValueError, match="at least 2"):
        hamming_kernel([[1, 2]])
    with pytest.raises(ValueError, match="no pair within a side"):
        stratified_mmd([np.eye(2)], [1], alpha=0.05, rng=rng)
    with pytest.raises(ValueError, match=r"kernels\[0\]"):
        stratified_mmd([np.eye(4)], [4], alpha=0.05, rng=rng)
    with pytest.raises(ValueError, match="equally long"):
        stratified_mmd([np.eye(4)], [], alpha=0.05, rng=rng)
