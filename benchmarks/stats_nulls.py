"""False alarms of `monitor.stats` on true nulls, full size: bars B1, B6, B9, B11, B12, B13, B15, B16 of issue 5.

Every row has its own seed. "Required" is the 95% binomial range of the count, or its upper end for tests that may be
conservative.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom, norm

from benchmarks.report import Report
from monitor.stats.betabinomial import flip_log_ratios, flip_process
from monitor.stats.change import e_detector, fleet_threshold
from monitor.stats.confseq import mean_sequence
from monitor.stats.evalues import p_to_e
from monitor.stats.martingale import pit_process, surprisal_process
from monitor.stats.mmd import hamming_kernel, stratified_mmd
from monitor.stats.montecarlo import draws_for, monte_carlo_p
from monitor.stats.pools import pool_shift
from monitor.stats.ranks import randomised_ranks, uniformity
from monitor.stats.routing import routing_process
from monitor.stats.spending import spend
from tests.stats.worlds import completions, draw, flips, logits, sticky_route

NAME = "stats-nulls"
COLUMNS = ("bar", "what", "level", "worlds", "required", "false alarms", "met", "seed")

Row = tuple[str, str, float, int, str, int, str, int]
World = Callable[[np.random.Generator], bool]


def counted(bar: str, what: str, world: World, *, level: float, worlds: int, seed: int, exact: bool = False) -> Row:
    """Run `world` many times; True is a false alarm."""
    rng = np.random.default_rng(seed)
    return judged(bar, what, sum(world(rng) for _ in range(worlds)), level=level, worlds=worlds, seed=seed, exact=exact)


def judged(
    bar: str, what: str, alarms: int, *, level: float, worlds: int, seed: int, exact: bool = False
) -> Row:
    """One row of the table."""
    low, high = (int(edge) for edge in binom.interval(0.95, worlds, level))
    met = alarms <= high and (alarms >= low or not exact)
    required = f"{low} to {high}" if exact else f"at most {high}"
    return bar, what, level, worlds, required, int(alarms), "yes" if met else "no", seed


def mmd_rows() -> list[Row]:
    """B1: disjoint samples of one endpoint's completions; one p-value per world, judged at two levels."""
    kernels = [hamming_kernel(each) for each in completions()]
    rows = []
    for prompts, each, seed in ((10, 50, 101), (25, 10, 102)):
        rng = np.random.default_rng(seed)
        p = np.array([mmd_p(rng, kernels, prompts, each) for _ in range(1000)])
        rows += [
            judged("B1", f"stratified MMD, {prompts} x {each} x 50 tokens, real text", int((p <= level).sum()),
                   level=level, worlds=1000, seed=seed, exact=True)
            for level in (0.01, 0.05)
        ]  # fmt: skip
    return rows


def mmd_p(rng: np.random.Generator, kernels: list[NDArray[np.float64]], prompts: int, each: int) -> float:
    """P-value of one null world."""
    chosen = []
    for index in rng.choice(len(kernels), prompts, replace=False):
        rows = rng.choice(len(kernels[index]), 2 * each, replace=False)
        chosen.append(kernels[index][np.ix_(rows, rows)])
    return stratified_mmd(chosen, [each] * prompts, alpha=0.01, rng=rng, n_permutations=999).p_value


def flips_alarm(rng: np.random.Generator, *, p: float, rho: float, assumed: float) -> bool:
    """B6: 400 looks of one request of 200 tokens."""
    k = flips(rng, p=p, rho=rho, size=400)
    return flip_process(k, np.full(400, 200), p0=0.025, rho=assumed).looks_to(0.01) is not None


def routing_alarm(rng: np.random.Generator) -> bool:
    """B9 without routing: 400 requests."""
    k = flips(rng, p=0.02, rho=0.01, size=400)
    ratios = flip_log_ratios(k, np.full(400, 200), p0=0.02, rho=0.01, ratios=(2, 3, 5))
    return routing_process(ratios).looks_to(0.001) is not None


def flip_rows() -> list[Row]:
    """B6 and B9."""
    cases = (
        ("p = p0, rho = .01", 0.025, 0.01, 0.01), ("p = p0, independent, rho = .01 assumed", 0.025, 0.0, 0.01),
        ("p = .8 p0, rho = .01", 0.02, 0.01, 0.01), ("p = p0, independent", 0.025, 0.0, 0.0),
    )  # fmt: skip
    rows = [
        counted("B6", f"flip e-process, 400 looks, {name}", partial(flips_alarm, p=p, rho=rho, assumed=assumed),
                level=0.01, worlds=2000, seed=600 + index)
        for index, (name, p, rho, assumed) in enumerate(cases)
    ]  # fmt: skip
    ignored = partial(flips_alarm, p=0.025, rho=0.01, assumed=0.0)
    rows.append(counted("B6 (control)", "the same, rho = .01 ignored", ignored, level=0.01, worlds=500, seed=610))
    rows.append(counted("B9", "routing e-process, q = 0, 400 requests", routing_alarm, level=0.001, worlds=10_000,
                        seed=900))  # fmt: skip
    return rows


def pool_tolerance() -> float:
    """What a calibration stores: the 99.9% quantile of the distance between two faithful backends."""
    rng = np.random.default_rng(1100)
    return float(np.quantile(np.abs(rng.normal(0, 0.02 * 2**0.5, (5000, 20))).mean(axis=1), 0.999))


def pool_rows() -> list[Row]:
    """B11: three faithful backends, offsets N(0, .02) per token, call noise .005, 20 tokens."""
    rows, tolerance = [], pool_tolerance()
    for n in (10, 24):
        for index, stickiness in enumerate((0.0, 0.5, 0.8, 0.95)):
            seed = 1100 + n + index
            rng = np.random.default_rng(seed)
            both = np.array([pool_alarms(rng, n, stickiness, tolerance) for _ in range(1000)])
            what = f"{n} + {n} calls, stickiness {stickiness:g}"
            rows.append(judged("B11", f"pool_shift, {what}", int(both[:, 0].sum()), level=0.01, worlds=1000, seed=seed))
            rows.append(judged("B11 (control)", f"published permutation test, {what}", int(both[:, 1].sum()),
                               level=0.01, worlds=1000, seed=seed))  # fmt: skip
    return rows


def pool_alarms(rng: np.random.Generator, n: int, stickiness: float, tolerance: float) -> tuple[bool, bool]:
    """Ours and the published permutation of calls (arXiv 2512.03816) in one null world at 1%."""
    centres = rng.normal(0, 0.02, (3, 20))
    before, now = (
        centres[sticky_route(rng, n=n, stickiness=stickiness)] + rng.normal(0, 0.005, (n, 20)) for _ in range(2)
    )
    found = pool_shift(before, now, tolerance=tolerance, alpha=0.01, rng=rng).p_value
    side, both = np.repeat([1 / n, -1 / n], n), np.vstack([before, now])
    null = np.abs(rng.permuted(np.tile(side, (499, 1)), axis=1) @ both).mean(axis=1)
    published = monte_carlo_p(int((null >= np.abs(side @ both).mean()).sum()), 499)
    return found is not None and found <= 0.01, published <= 0.01


def look_rows() -> list[Row]:
    """B12: 60 looks of 50 values against one stored baseline of 50."""
    rng = np.random.default_rng(1200)
    alarms = np.zeros(3, dtype=int)
    for _ in range(4000):
        gap = rng.normal(size=(60, 50)).mean(axis=1) - rng.normal(size=50).mean()
        p = 2 * norm.sf(np.abs(gap) * 5)
        product = np.cumsum(p_to_e(p)).max() >= np.log(20)
        alarms += [spend(p, alpha=0.05).alarm is not None, (p < 0.05).any(), product]
    names = (("B12", "spending"), ("B12 (control)", "each look at 5%"), ("B12 (control)", "product of p-to-e"))
    return [
        judged(bar, f"60 looks at one baseline, {name}", int(count), level=0.05, worlds=4000, seed=1200)
        for (bar, name), count in zip(names, alarms, strict=True)
    ]


def rank_rows() -> list[Row]:
    """B13: ranks among m golden scores, n prompts, many ties; beside them the published grid without + 1."""
    rows = []
    for m in (5, 10, 20, 100):
        for n in (100, 1000):
            seed = 1300 + m + n
            rng = np.random.default_rng(seed)
            p = np.array([rank_p(rng, m, n) for _ in range(1000)])
            rows += [
                judged("B13", f"ranks, m = {m}, n = {n}", int((p[:, 0] <= level).sum()), level=level, worlds=1000,
                       seed=seed, exact=True)
                for level in (0.01, 0.05)
            ]  # fmt: skip
            rows.append(judged("B13 (control)", f"without + 1, m = {m}, n = {n}", int((p[:, 1] <= 0.05).sum()),
                               level=0.05, worlds=1000, seed=seed))  # fmt: skip
    return rows


def rank_p(rng: np.random.Generator, m: int, n: int) -> tuple[float, float]:
    """P-values of ours and of the published formula."""
    scores = rng.integers(0, 200, (n, m + 1)).astype(float)
    observed, golden = scores[:, 0], scores[:, 1:]
    less, ties = (golden < observed[:, None]).sum(axis=1), (golden == observed[:, None]).sum(axis=1)
    published = (less + rng.random(n) * ties) / m
    return uniformity(randomised_ranks(observed, golden, rng=rng)).p_value, uniformity(published).p_value


def token_rows() -> list[Row]:
    """Exact martingales on sampled tokens, and a confidence sequence, at every look."""

    def surprisal(rng: np.random.Generator) -> bool:
        table = logits(rng, 400, 60)
        seen = -table[np.arange(400), draw(rng, table)]
        entropy = -(np.exp(table) * table).sum(axis=1)
        return surprisal_process(seen, entropy, vocabulary=60).either.looks_to(0.05) is not None

    def pit(rng: np.random.Generator) -> bool:
        return pit_process(1 - rng.random(400)).looks_to(0.05) is not None

    def sequence(rng: np.random.Generator) -> bool:
        found = mean_sequence(rng.beta(0.5, 9.5, 400), low=0, high=1, grid=200)
        return bool(((found.low > 0.05) | (found.high < 0.05)).any())

    return [
        counted("–", "surprisal against entropy, 400 tokens", surprisal, level=0.05, worlds=1000, seed=2000),
        counted("–", "bets on PIT, 400 values", pit, level=0.05, worlds=1000, seed=2001),
        counted("–", "betting confidence sequence misses the mean, 400 looks", sequence, level=0.05, worlds=400,
                seed=2002),
    ]  # fmt: skip


def fleet(report: Report) -> None:
    """B16: 200 endpoints x 6 streams, hourly looks for 30 days, 100 months."""
    rng = np.random.default_rng(1600)
    table = flip_log_ratios(np.arange(201), np.full(201, 200), p0=0.025, rho=0.01)
    threshold = fleet_threshold(1200, 720)
    pages = []
    for _ in range(100):
        k = flips(rng, p=0.025, rho=0.01, size=1200 * 720).reshape(1200, 720)
        pages.append(sum(len(e_detector(table[stream], threshold=threshold).alarms) for stream in k))
    report.table(
        "B16, false pages a month of a fleet of 200 x 6 streams, hourly, rate at the tolerance (seed 1600)",
        ("threshold (nats)", "months", "required", "median", "mean", "most", "met"),
        [(threshold, 100, "median at most 1", float(np.median(pages)), float(np.mean(pages)), max(pages),
          "yes" if np.median(pages) <= 1 else "no")],
    )  # fmt: skip


def run(report: Report) -> None:
    """Print the tables."""
    for title, rows in (
        ("Two-sample test on real completions", mmd_rows), ("Flip rates and routing", flip_rows),
        ("Sticky pools", pool_rows), ("Repeated looks", look_rows), ("Ranks", rank_rows),
        ("Sampled tokens", token_rows),
    ):  # fmt: skip
        report.table(title, COLUMNS, rows())
    fleet(report)
    report.table(
        "B15, smallest possible p-value", ("level", "draws", "required", "smallest p"),
        [(level, draws_for(level), f"at least {20 / level:.0f}", monte_carlo_p(0, draws_for(level)))
         for level in (0.05, 0.01, 0.001, 0.01 / 60)],
    )  # fmt: skip
