"""Has the endpoint become slower than it was?

Needs: `min_history` earlier runs of the `speed` probe. No golden weights, and no extra requests.
Statistic: per run, the median of the time to first token (on kept-alive connections, and on fresh ones apart) and of
the time per token, over exchanges whose measurement is valid. The newest `window` runs are compared with those before:
above the median of the same time of day, by more than `tolerance_ratio`. Evidence is a likelihood ratio for larger
shifts, cut to 4 nats a run, averaged over all possible starts.
Decides: *fail* at the threshold that gives at most `pages` false alarms in `looks` looks at `streams` endpoints, if
`persist` of the newest `persist_of` runs are slow; *suspect* when the evidence alone is there; *pass* when the slowdown
is bounded below the larger of `tolerance_ratio` and `worst_ratio`, or when the newest run is no slower than tolerated;
else *inconclusive*. Causes: `slower_start`, `slower_tokens`. Being faster is told in the band and is no fault.
What can mislead it: the prober's own network and machine; a rhythm of weeks; a history that was slow already; after
`window` runs a slowdown counts as the known state.
Source: Notes of `monitor.stats.slowing`; size of the threshold as in `monitor.stats.change.fleet_threshold`.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import median
from typing import ClassVar

import numpy as np

from monitor.evidence import Card, Finding, verdict
from monitor.history import Past, series
from monitor.plurals import plural
from monitor.results import Evidence, Metric, Status, Verdict
from monitor.stats.change import fleet_threshold
from monitor.stats.confseq import normal_sequence
from monitor.stats.slowing import Slowing, slowing
from monitor.summary import NO_HISTORY
from monitor.types import Exchange

FASTER_RATIO = 0.8
"""Below this share of what it took before, an endpoint is called faster."""

_CAUSES = {"ttft_warm": "slower_start", "ttft_cold": "slower_start", "tpot": "slower_tokens"}
_WORDS = {
    "ttft_warm": "time to first token", "ttft_cold": "time to first token on a fresh connection",
    "tpot": "time per token",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shift:
    """What one latency did. ``ratio`` and its bounds are newer over older, since the most likely start."""

    name: str
    found: Slowing
    ratio: float
    low: float
    high: float
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedShift:
    """Slowdown against own history."""

    kind: ClassVar[str] = "speed_shift"
    version: ClassVar[int] = 1
    probes: ClassVar[frozenset[str] | None] = frozenset({"speed"})
    looks_back: ClassVar[int] = 168
    metrics: ClassVar[tuple[Metric, ...]] = (
        Metric(name="slowdown_ratio", unit="ratio", better="lower", source="monitor.stats.slowing",
               definition="Geometric mean over newer runs of latency / median of earlier runs at that time of day, for "
                          "the latency that says most."),
    )  # fmt: skip

    tolerance_ratio: float = 1.15
    """A slowdown by this factor is no matter."""
    worst_ratio: float = 1.5
    """A slowdown bounded below this factor passes."""
    floor: float = 0.05
    """Smallest standard deviation of a run's log latency to believe."""
    min_history: int = 12
    """Fewest earlier runs with a valid measurement."""
    window: int = 12
    """Newest runs that are compared with those before them."""
    persist: int = 3
    """Slow runs for a fail, among the newest `persist_of`."""
    persist_of: int = 4
    """Runs among which `persist` must be slow."""
    streams: int = 200
    """Endpoints that are watched."""
    looks: int = 720
    """Looks at each of them in the period of `pages`: hourly for a month."""
    pages: float = 1.0
    """False alarms to accept in the whole fleet in that period."""

    def __post_init__(self) -> None:
        if not 1 <= self.tolerance_ratio <= self.worst_ratio or self.floor <= 0 or self.pages <= 0:
            raise ValueError("1 <= `tolerance_ratio` <= `worst_ratio` must hold, `floor` and `pages` be positive")
        if not 1 <= self.persist <= self.persist_of <= self.window or min(self.streams, self.looks) < 1:
            raise ValueError("1 <= `persist` <= `persist_of` <= `window` must hold, `streams` and `looks` be positive")
        if self.min_history < 3:
            raise ValueError("`min_history` must be at least 3, or there is no scale")

    def run(self, evidence: Evidence, *, at: datetime, rng: np.random.Generator) -> Verdict:
        """Judge the newest runs against those before them."""
        card = Card(detector=self.kind, version=self.version, statistic="slowdown_ratio", unit="ratio")
        runs = series(evidence, self.probes or ())
        values = {name: [_median(past, read) for past in runs] for name, read in _READ.items()}
        if not runs or all(row[-1] is None for row in values.values()):
            finding = self._no_measurement(runs)
            return verdict(card, finding, evidence, at)
        made = [self._shift(name, runs, row) for name, row in values.items() if row[-1] is not None]
        shifts = [shift for shift in made if shift is not None]
        if not shifts:
            return verdict(card, self._no_history(runs), evidence, at)
        return verdict(card, self._finding(shifts), evidence, at)

    def _shift(self, name: str, runs: Sequence[Past], row: Sequence[float | None]) -> _Shift | None:
        """Compare one latency; None where its history is too short."""
        measured = [(_hours(past), float(np.log(value))) for past, value in zip(runs, row, strict=True) if value]
        n_new = max(1, min(self.window, len(measured) // 4))
        if len(measured) - n_new < self.min_history:
            return None
        hours, logs = np.array(measured).T
        found = slowing(
            logs[:-n_new], logs[-n_new:], old_h=hours[:-n_new], new_h=hours[-n_new:],
            tolerance=float(np.log(self.tolerance_ratio)), floor=self.floor,
        )  # fmt: skip
        since = found.excess[found.start if found.log_e > 0 else 0 :]
        interval = normal_sequence(since, sigma=found.sigma, scale=found.sigma)
        mean, low, high = (float(np.exp(one[-1])) for one in (interval.mean, interval.low, interval.high))
        return _Shift(name=name, found=found, ratio=mean, low=low, high=high, n=len(since))

    def _finding(self, shifts: Sequence[_Shift]) -> Finding:
        worst = max(shifts, key=lambda shift: shift.found.log_e)
        # One look is a test of each latency, so that their number multiplies the streams.
        level = fleet_threshold(self.streams * len(shifts), self.looks, false_alarms=self.pages)
        status = self._status(worst, level)
        faster = status == "pass" and min(shift.ratio for shift in shifts) < FASTER_RATIO
        cause = {"pass": None, "inconclusive": "undecided"}.get(status, _CAUSES[worst.name])
        return Finding(
            status=status, cause=cause, reason=self._reason(worst, status, faster=faster),
            effect=worst.ratio, low=worst.low, high=worst.high, n=worst.n, threshold=self.tolerance_ratio,
            log_e=worst.found.log_e, mde=self._mde(worst, level),
            band="faster" if faster else None,
            details={"log_e": worst.found.log_e, "log_e_to_fail": level, "latency": worst.name,
                     **{f"{shift.name}_ratio": shift.ratio for shift in shifts},
                     **{f"{shift.name}_log_e": shift.found.log_e for shift in shifts},
                     "sigma_log": worst.found.sigma, "slow_runs": self._n_slow(worst)},
        )  # fmt: skip

    def _status(self, worst: _Shift, level: float) -> Status:
        if worst.found.log_e >= level:
            return "fail" if self._n_slow(worst) >= self.persist else "suspect"
        if worst.high < self.worst_ratio or worst.found.excess[-1] <= np.log(self.tolerance_ratio):
            return "pass"
        return "inconclusive"

    def _n_slow(self, shift: _Shift) -> int:
        return int((shift.found.excess[-self.persist_of :] > np.log(self.tolerance_ratio)).sum())

    def _mde(self, shift: _Shift, level: float) -> float:
        """The slowdown that `window` runs would need to show to reach `level`."""
        n = min(self.window, max(len(shift.found.excess), 1))
        return float(self.tolerance_ratio * np.exp(shift.found.sigma * np.sqrt(2 * (level + np.log(3 * n)) / n)))

    def _reason(self, worst: _Shift, status: Status, *, faster: bool) -> str:
        what = _WORDS[worst.name]
        text = (
            f"{what} is {worst.ratio:.2f} times what it was at this time of day "
            f"({plural(worst.n, 'run')}, 95% interval {worst.low:.2f} to {worst.high:.2f}); "
            f"{self.tolerance_ratio:g} is tolerated"
        )
        if faster:
            return text + "; faster than before"
        if status == "suspect":
            return text + f"; {self._n_slow(worst)} of the last {self.persist_of} runs slow, {self.persist} make a fail"
        return text

    def _no_measurement(self, runs: Sequence[Past]) -> Finding:
        if not runs:
            return Finding(status="inconclusive", cause="not_asked", reason="the probe speed has not run")
        if not runs[-1].exchanges:
            return Finding(status="inconclusive", cause="no_answers", reason="the newest run has no complete answer")
        return Finding(
            status="inconclusive", cause="no_measurement", reason="no exchange of the newest run has valid timings"
        )  # fmt: skip

    def _no_history(self, runs: Sequence[Past]) -> Finding:
        return Finding(
            status="inconclusive", cause=NO_HISTORY, n=len(runs),
            reason=f"{len(runs) - 1} earlier runs, at least {self.min_history} with valid timings needed",
        )  # fmt: skip


def _warm(exchange: Exchange) -> float | None:
    return exchange.ttft_ms if exchange.reused else None


def _cold(exchange: Exchange) -> float | None:
    return exchange.ttft_ms if exchange.reused is False else None


def _tpot(exchange: Exchange) -> float | None:
    return exchange.tpot_ms


_READ: dict[str, Callable[[Exchange], float | None]] = {"ttft_warm": _warm, "ttft_cold": _cold, "tpot": _tpot}


def _median(past: Past, read: Callable[[Exchange], float | None]) -> float | None:
    values: Iterable[float | None] = (read(one) for one in past.exchanges if one.measurement == "valid")
    known = [value for value in values if value is not None and value > 0]
    return median(known) if known else None


def _hours(past: Past) -> float:
    return past.run.started_at.timestamp() / 3600


DETECTOR = SpeedShift
