"""What `monitor.stats` finds and how soon, full size: bars B2, B3, B6, B9, B11 and B14 of issue 5."""

import time

import numpy as np
from numpy.typing import NDArray

from benchmarks.report import Report
from benchmarks.stats_nulls import pool_tolerance
from monitor.stats.betabinomial import flip_log_ratios, flip_process
from monitor.stats.divergence import tail_bucket_kl
from monitor.stats.mmd import hamming_kernel, stratified_mmd
from monitor.stats.montecarlo import monte_carlo_p
from monitor.stats.pools import pool_shift
from monitor.stats.routing import routing_process, routing_share
from tests.stats.worlds import completions, flips, logits, sticky_route

NAME = "stats-power"
Floats = NDArray[np.float64]


def tilted(rng: np.random.Generator, kernels: list[Floats], prompts: int, each: int, tilt: float) -> list[Floats]:
    """Kernels of a sample and of one that prefers typical completions by `tilt` standard deviations."""
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


def global_p(kernels: list[Floats], each: int, rng: np.random.Generator, draws: int = 499) -> float:
    """The published test: labels permuted across prompts, means over whatever same-prompt pairs result."""
    size = 2 * each
    observed = np.tile(np.arange(size) < each, len(kernels))
    sides = np.vstack([observed, rng.permuted(np.tile(observed, (draws, 1)), axis=1)]).astype(float)
    sums, pairs = np.zeros((3, draws + 1)), np.zeros((3, draws + 1))
    for index, kernel in enumerate(kernels):
        first = sides[:, index * size : (index + 1) * size]
        off = kernel - np.diag(np.diag(kernel))
        for total, matrix in ((sums, off), (pairs, 1 - np.eye(size))):
            for row, (a, b) in enumerate(((first, first), (1 - first, 1 - first), (first, 1 - first))):
                total[row] += np.einsum("bi,bi->b", a @ matrix, b)
    mean = sums / pairs
    statistic = mean[0] + mean[1] - 2 * mean[2]
    return monte_carlo_p(int((statistic[1:] >= statistic[0] - 1e-12).sum()), draws)


def mmd(report: Report) -> None:
    """B2 and B3."""
    kernels = [hamming_kernel(each) for each in completions()]
    rows = []
    for prompts, each, tilt, seed in ((25, 10, 0.6, 200), (25, 10, 1.0, 201), (10, 50, 0.4, 202)):
        rng = np.random.default_rng(seed)
        p = np.empty((400, 2))
        for world in range(400):
            sample = tilted(rng, kernels, prompts, each, tilt)
            ours = stratified_mmd(sample, [each] * prompts, alpha=0.01, rng=rng, n_permutations=499)
            p[world] = ours.p_value, global_p(sample, each, rng)
        at_one, at_five = (p <= 0.01).mean(axis=0), (p <= 0.05).mean(axis=0)
        rows.append((f"{prompts} x {each}, tilt {tilt}", *map(float, (*at_one, *at_five)), seed))
    report.table(
        "B2, power of MMD on tilted real completions, 400 worlds (required at 25 x 10, tilt .6, 1%: at least .35, and "
        "the published permutation + .15)",
        ("design", "stratified, 1%", "published, 1%", "stratified, 5%", "published, 5%", "seed"), rows,
    )  # fmt: skip
    started, tokens = time.perf_counter(), completions()[:10, :100]
    found = stratified_mmd(
        [hamming_kernel(each) for each in tokens], [50] * 10, alpha=0.01, rng=np.random.default_rng(3),
        n_permutations=9999,
    )  # fmt: skip
    took = time.perf_counter() - started
    report.note(f"B3: 10 x 50 x 50 with {found.n_permutations} permutations in {took:.2f} s wall (required: 5).")


def flip_delays(report: Report) -> None:
    """B6: looks of 200 tokens until found; what a look consists of decides how much its tokens say."""
    rows = []
    for requests, rho, seed in ((1, 0.0, 601), (20, 0.01, 602), (10, 0.01, 603), (5, 0.01, 604), (1, 0.01, 605)):
        rng, tokens = np.random.default_rng(seed), 200 // requests
        n = np.full(150 * requests, tokens)
        medians = []
        for times in (1.2, 1.6, 2.4, 3.2):
            counts = [flips(rng, p=0.025 * times, rho=rho, size=n.size, n=tokens) for _ in range(500)]
            delays = [flip_process(k, n, p0=0.025, rho=rho).looks_to(0.01) or n.size for k in counts]
            medians.append(float(np.median(delays)) / requests)
        rows.append((f"{requests} x {tokens}", rho, *medians, seed))
    report.table(
        "B6, median looks of 200 tokens to alpha = .01, p0 = 2.5%, 500 worlds (required: 10 at 1.6 p0, 3 at 2.4 p0)",
        ("requests x tokens", "rho", "1.2 p0", "1.6 p0", "2.4 p0", "3.2 p0", "seed"), rows,
    )  # fmt: skip


def routed(rng: np.random.Generator, share: float, looks: int) -> Floats:
    """Log ratios of requests of 200 tokens, 2% flips, or 6% on the other backend."""
    other = rng.random(looks) < share
    k = np.where(other, flips(rng, p=0.06, rho=0.01, size=looks), flips(rng, p=0.02, rho=0.01, size=looks))
    return flip_log_ratios(k, np.full(looks, 200), p0=0.02, rho=0.01, ratios=(2, 3, 5))


def routing(report: Report) -> None:
    """B9."""
    rows = []
    for share, within, seed in ((0.05, 400, 901), (0.1, 400, 902), (0.2, 150, 903), (0.5, 150, 904), (1.0, 150, 905)):
        rng = np.random.default_rng(seed)
        worlds = [routed(rng, share, 400) for _ in range(1000)]
        looks = np.array([routing_process(each).looks_to(0.001) or 10**6 for each in worlds])
        shares = [routing_share(each) for each in worlds[:200]]
        median = float(np.median(looks)) if np.median(looks) <= 400 else None
        rows.append((
            share, within, float((looks <= within).mean()), median, float(np.mean([one.share for one in shares])),
            float(np.mean([one.low <= share <= one.high for one in shares])),
            float(np.mean([one.high - one.low for one in shares])), seed,
        ))  # fmt: skip
    report.table(
        "B9, routed to a backend with 6% instead of 2% flips, alpha = .001 (required: .8 at 10% in 400 and 20% in 150)",
        ("share", "within requests", "power", "median requests", "mean estimate at 400", "coverage of 95%",
         "mean width", "seed"), rows,
    )  # fmt: skip


def pools(report: Report) -> None:
    """B11: what is still seen when one of three backends moves."""
    rows, tolerance = [], pool_tolerance()
    for shift, seed in ((0.05, 1151), (0.1, 1152), (0.3, 1153)):
        for stickiness in (0.0, 0.8):
            rng = np.random.default_rng(seed)
            found = seen = 0
            for _ in range(300):
                centres = rng.normal(0, 0.02, (3, 20))
                moved = centres + np.array([[1.0], [0.0], [0.0]]) * rng.normal(0, shift, 20)
                routes = [sticky_route(rng, n=24, stickiness=stickiness) for _ in range(2)]
                calls = [c[r] + rng.normal(0, 0.005, (24, 20)) for c, r in zip((centres, moved), routes, strict=True)]
                p = pool_shift(calls[0], calls[1], tolerance=tolerance, alpha=0.01, rng=rng).p_value
                found += p is not None and p <= 0.01
                seen += bool((routes[1] == 0).any())
            rows.append((shift, stickiness, found / 300, seen / 300, seed))
    report.table(
        f"B11, one of three backends moves by N(0, shift) per token; tolerance {tolerance:.3f} nats, 24 + 24 calls, 1%",
        ("shift (nats)", "stickiness", "power", "worlds in which it was called", "seed"), rows,
    )  # fmt: skip


def divergence(report: Report) -> None:
    """B14."""
    rng = np.random.default_rng(1400)
    golden = logits(rng, 2000, 2000)
    warm = golden / 1.1 - np.logaddexp.reduce(golden / 1.1, axis=1, keepdims=True)
    noisy = golden + rng.normal(0, 0.3, golden.shape)
    noisy -= np.logaddexp.reduce(noisy, axis=1, keepdims=True)
    rows = []
    for name, other in (("temperature 1.1", warm), ("logit noise .3", noisy)):
        full = (np.exp(golden) * (golden - other)).sum(axis=1)
        order = np.argsort(-other, axis=1)
        for k in (1, 5, 20, 2000):
            top = order[:, :k]
            bucket = np.array([tail_bucket_kl(p[t], q[t]) for p, q, t in zip(golden, other, top, strict=True)])
            worst = float((bucket - full).max())
            rows.append((name, k, float(bucket.sum() / full.sum()), worst, float(np.abs(bucket - full).max())))
    report.table(
        "B14, tail-bucket KL over the full KL, 2000 distributions of 2000 tokens (required: .75 at k = 5 and T = 1.1; "
        "never above the full KL; 1e-9 at k = V; seed 1400)",
        ("shift", "k", "share of the full KL", "largest excess (nats)", "largest difference (nats)"), rows,
    )  # fmt: skip


def run(report: Report) -> None:
    """Print the tables."""
    for part in (mmd, flip_delays, routing, pools, divergence):
        part(report)
