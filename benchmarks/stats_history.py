"""False alarms and delays of the detectors that look back: bars B11 and B12, and a month of speeds of a fleet."""

from collections import Counter
from collections.abc import Iterator

import numpy as np

from benchmarks.report import Report
from monitor.detectors.logprob_history import LogprobHistory
from monitor.detectors.speed_shift import SpeedShift
from monitor.results import RunRecord, Verdict
from monitor.stats.change import fleet_threshold
from monitor.stats.slowing import slowing
from tests.detectors.made import AT
from tests.detectors.made_history import Floats, Pool, evidence_of, latencies, logprob_runs, speed_runs

NAME = "stats-history"
WEEK, MONTH = 168, 720
WORLDS: dict[str, dict[str, float]] = {
    "as assumed": {}, "long memory": {"memory": 0.9, "sd": 0.15}, "strong rhythm": {"day": 0.4, "sd": 0.2},
    "10% outliers": {"spikes": 0.1}, "noisy": {"memory": 0.8, "sd": 0.3},
}  # fmt: skip


def judged(detector: LogprobHistory | SpeedShift, records: list[RunRecord]) -> Verdict:
    """The verdict on the last of `records`."""
    return detector.run(evidence_of(records), at=AT, rng=np.random.default_rng(0))


def pool_runs(rng: np.random.Generator, n: int, stickiness: float, n_prompts: int) -> list[RunRecord]:
    """Runs of a faithful pool of three backends."""
    pool = Pool(rng, stickiness=stickiness, n_prompts=n_prompts)
    return logprob_runs(n, lambda _, prompt: (pool.call(prompt)[0], None), n_prompts=n_prompts)


def pool_rows(worlds: int = 300) -> Iterator[tuple[object, ...]]:
    """B11: 24 earlier runs and a new one of a faithful sticky pool, 24 prompts each."""
    for stickiness in (0.0, 0.8, 0.95):
        found = [
            judged(LogprobHistory(), pool_runs(np.random.default_rng(seed), 25, stickiness, 24))
            for seed in range(worlds)
        ]
        log_e = np.array([verdict.details["log_e"] for verdict in found])
        statuses = Counter(verdict.status for verdict in found)
        yield "B11", f"stickiness {stickiness:g}", worlds, int((log_e >= np.log(100)).sum()), log_e.max(), str(statuses)
    alarms, most = 0, -np.inf
    for seed in range(20):
        runs = pool_runs(np.random.default_rng(1000 + seed), 84, 0.8, 12)
        looks = [judged(LogprobHistory(), [*runs[:24], late]) for late in runs[24:]]
        alarms += any(verdict.status in {"fail", "suspect"} for verdict in looks)
        most = max(most, *(verdict.details["log_e"] for verdict in looks))
    yield "B12", "60 looks at one stored history", 20, alarms, most, ""


def pages(values: Floats, judge: SpeedShift) -> tuple[int, float]:
    """Fails that begin within a month of hourly runs after a week of history, and the largest evidence."""
    hours = np.arange(len(values), dtype=np.float64)
    level = fleet_threshold(3 * judge.streams, judge.looks, false_alarms=judge.pages)
    most, n, was = -np.inf, 0, False
    tolerance, window = float(np.log(judge.tolerance_ratio)), judge.window
    for now in range(WEEK, len(values)):
        old, new = slice(now - WEEK, now + 1 - window), slice(now + 1 - window, now + 1)
        found = slowing(
            values[old], values[new], old_h=hours[old], new_h=hours[new], tolerance=tolerance, floor=judge.floor
        )  # fmt: skip
        slow = int((found.excess[-judge.persist_of :] > tolerance).sum())
        fails = found.log_e >= level and slow >= judge.persist
        n, was, most = n + (fails and not was), fails, max(most, found.log_e)
    return n, most


def fleet_rows(endpoints: int = 40) -> Iterator[tuple[object, ...]]:
    """A month of 200 endpoints, 40 of each world, nothing changes."""
    for index, (name, world) in enumerate(WORLDS.items()):
        rng = np.random.default_rng(100 + index)
        found = [pages(latencies(rng, WEEK + MONTH, **world), SpeedShift()) for _ in range(endpoints)]
        yield name, endpoints, sum(n for n, _ in found), max(most for _, most in found)


def delay_rows(worlds: int = 30) -> Iterator[tuple[object, ...]]:
    """How many runs after a slowdown it is a fail."""
    for name, start, token in (("TTFT x 2", 2.0, 1.0), ("TPS / 2", 1.0, 2.0), ("TTFT x 1.5", 1.5, 1.0)):
        for since in (3, 4, 5, 6, 8, 12):
            failed = 0
            for seed in range(worlds):
                rng = np.random.default_rng(seed)
                late = np.arange(WEEK + 1) > WEEK - since
                starts = 300 * np.exp(latencies(rng, WEEK + 1)) * np.where(late, start, 1.0)
                tokens = 20 * np.exp(latencies(rng, WEEK + 1) / 2) * np.where(late, token, 1.0)
                failed += judged(SpeedShift(), speed_runs(starts, tokens)).status == "fail"
            yield name, since, worlds, failed


def run(report: Report) -> None:
    """Print the tables."""
    level = fleet_threshold(200, MONTH)
    report.table(f"logprob_history on faithful pools; {level:.1f} nats make a fail",
                 ("bar", "what", "worlds", "at 1%", "largest log e", "verdicts"), list(pool_rows()))  # fmt: skip
    report.table("speed_shift, a month of hourly runs without change",
                 ("world", "endpoints", "false pages", "largest log e"), list(fleet_rows()))  # fmt: skip
    report.table("speed_shift, fails so many runs after a slowdown", ("fault", "runs", "worlds", "fails"),
                 list(delay_rows()))  # fmt: skip
