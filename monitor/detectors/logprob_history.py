"""Do the endpoint's logprobs still agree with those of its own earlier runs?

Needs: logprobs in at least `min_history` earlier runs of the same probe. No golden weights, and no extra requests.
Statistic: each answer's first position (the same prompts in every run) is compared with the nearest backend that the
earlier runs knew for this prompt: mean absolute difference in nats per token. Backends are told apart by
system_fingerprint and upstream provider, else by their logprobs. What may differ is `tolerance_nats` plus the noise of
repeated calls. Evidence is the mean, over all possible starts within the last `window` runs, of bets that the mean
difference is larger, and of likelihood ratios that more than a share `stray` of the calls is far off (over twice what
is allowed): the first sees all backends move a little, the second one of several move far.
Decides: *fail* at the threshold that gives at most `pages` false alarms in `looks` looks at `streams` endpoints, and
`persist` calls beyond the tolerance; *suspect* at evidence of 20, or when the interval lies above what is allowed;
*pass* when it lies below; else *inconclusive*. Cause `template` when the prompt is counted otherwise than before (or
than golden does), `routing` when some backends are as they were, `weights` when none is.
What can mislead it: it cannot know whether the first state was right; a faithful backend that was never met and
differs by more than the tolerance looks like a fault; after `window` runs a change counts as the known state.
Source: bars B11 and B12 of docs/statistics.md; bets as in Notes of `monitor.stats.martingale.score_process`; size
of the threshold as in `monitor.stats.change.fleet_threshold`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar

import numpy as np
from scipy.special import logsumexp

from monitor.detectors._calls import Baseline, Call, are_backends, baselines, calls_of, recounted
from monitor.evidence import Card, Finding, asked_by, mostly_misread, verdict
from monitor.history import Past, series
from monitor.plurals import plural
from monitor.results import Evidence, Metric, Status, Verdict
from monitor.standing import SUSPECT_NATS, calibrated, is_full, status_of
from monitor.stats.betabinomial import flip_log_ratios
from monitor.stats.change import fleet_threshold
from monitor.stats.checks import Floats
from monitor.stats.confseq import mean_sequence
from monitor.stats.eprocess import Interval
from monitor.stats.martingale import STAKES
from monitor.stats.rates import wilson
from monitor.summary import NO_HISTORY

CUT = 4.0
"""Distances are cut at this many times what is allowed, so that their mean has an interval at any time."""

FAR = 2.0
"""A call is far off when it differs by more than this many times what is allowed."""

FAR_RATIOS = (5.0, 20.0, 60.0)
"""Alternatives as multiples of `stray`: one backend of a large pool, one of a small one, most of them."""

SAME = 0.25
"""A backend is as it was when it differs by less than twice its noise, or by this share of what is allowed."""


@dataclass(frozen=True, slots=True)
class _Evidence:
    """``log_e`` over all starts, and the run with which the change most likely began."""

    log_e: float
    start: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LogprobHistory:
    """Drift of logprobs against own history."""

    kind: ClassVar[str] = "logprob_history"
    version: ClassVar[int] = 1
    probes: ClassVar[frozenset[str] | None] = frozenset({"logprobs"})
    looks_back: ClassVar[int] = 36
    metrics: ClassVar[tuple[Metric, ...]] = (
        Metric(name="logprob_shift_nats", unit="nats", better="lower", source="monitor.stats.known",
               definition="Mean over calls of the mean |logprob - that of the nearest known backend| per token, cut at "
                          "4 times what is allowed."),
    )  # fmt: skip

    tolerance_nats: float = 0.05
    """Mean difference per token that two faithful backends may show."""
    eight_bit_nats: float = 0.15
    """The same for an endpoint that declares 8 bit or less."""
    stray: float = 0.01
    """Share of calls that a faithful endpoint may answer far off."""
    min_history: int = 6
    """Fewest earlier runs, and calls of a prompt in them, for a comparison."""
    min_calls: int = 8
    """Fewest comparable calls since a possible change."""
    window: int = 12
    """Newest runs that are compared with those before them."""
    persist: int = 3
    """Fewest calls beyond what is allowed for a fail."""
    streams: int = 200
    """Endpoints that are watched."""
    looks: int = 720
    """Looks at each of them in the period of `pages`: hourly for a month."""
    pages: float = 1.0
    """False alarms to accept in the whole fleet in that period."""

    def __post_init__(self) -> None:
        if not 0 < self.tolerance_nats <= self.eight_bit_nats:
            raise ValueError("0 < `tolerance_nats` <= `eight_bit_nats` must hold")
        if self.pages <= 0 or not 0 < self.stray < 1:
            raise ValueError("`pages` must be positive, `stray` between 0 and 1")
        if min(self.min_calls, self.window, self.persist, self.streams, self.looks) < 1 or self.min_history < 2:
            raise ValueError("`min_history` must be at least 2, all other counts at least 1")

    def run(self, evidence: Evidence, *, at: datetime, rng: np.random.Generator) -> Verdict:
        """Judge the newest runs against those before them."""
        card = Card(detector=self.kind, version=self.version, statistic="logprob_shift_nats", unit="nats")
        runs = series(evidence, self.probes or ())
        n_recent = max(1, min(self.window, len(runs) // 3))
        before, recent = runs[:-n_recent], runs[-n_recent:]
        known = baselines(before, least_calls=self.min_history)
        calls = calls_of(recent, known, evidence.golden, noise=self.tolerance_nats)
        newest = [call for call in calls if call.run == len(recent) - 1]
        if len(newest) < self.min_calls:
            return verdict(card, self._no_evidence(runs, before, len(newest)), evidence, at)
        return verdict(card, self._finding(calls, before, recent, known, evidence), evidence, at)

    def _finding(
        self, calls: list[Call], before: list[Past], recent: list[Past], known: dict[str, Baseline], evidence: Evidence
    ) -> Finding:
        tolerance = self._tolerance(evidence)
        found = _evidence(calls, len(recent), tolerance, self.stray)
        since = [call for call in calls if call.run >= (found.start if found.log_e >= SUSPECT_NATS else 0)]
        allowed = float(np.mean([_allowed(call, tolerance) for call in since]))
        shift = _interval(since, tolerance)
        level = fleet_threshold(self.streams, self.looks, false_alarms=self.pages)
        n_beyond = sum(call.distance > _allowed(call, tolerance) for call in since)
        newest = [call.distance - _allowed(call, tolerance) for call in calls if call.run == len(recent) - 1]
        fail_nats = level if n_beyond >= self.persist else np.inf
        status = status_of(found.log_e, shift, tolerated=allowed, fail_nats=fail_nats)
        if status == "pass" and np.mean(newest) > 0:
            status = "inconclusive"
        backends = _backends(since, tolerance)
        cause = None
        if status in {"fail", "suspect"}:
            cause = _cause(backends, recent, known, evidence)
        return Finding(
            status=status, cause=cause or ("undecided" if status == "inconclusive" else None),
            reason=f"logprobs differ by {shift.estimate:.2g} nats per token from the nearest backend of {len(before)} "
                   f"earlier runs; {allowed:.2g} allowed" + _words(status, cause, backends),
            effect=shift.estimate, low=shift.low, high=shift.high, n=len(since),
            threshold=allowed, log_e=found.log_e, mde=_mde(len(since), len(recent), level, allowed),
            details={"log_e": found.log_e, "log_e_to_fail": level, "tolerance_nats": tolerance,
                     "noise_nats": float(np.mean([call.noise for call in since])), "n_beyond": n_beyond,
                     "runs_before": len(before), "runs_compared": len(recent), "backends": backends,
                     "since": recent[found.start].run.started_at.isoformat()},
        )  # fmt: skip

    def _tolerance(self, evidence: Evidence) -> float:
        found = calibrated(evidence, "logprob_shift_nats")
        own = self.tolerance_nats if is_full(evidence) else self.eight_bit_nats
        return own if found is None else max(found, self.tolerance_nats)

    def _no_evidence(self, runs: list[Past], before: list[Past], n_calls: int) -> Finding:
        asked = [one for past in runs for one in past.exchanges if one.request and one.request.top_logprobs]
        if not runs or not runs[-1].exchanges:
            cause, why = "no_answers", "the newest run has no complete answer"
        elif not asked:
            cause, why = "not_asked", "no probe asked for logprobs"
        elif not any(exchange.choice.logprobs for exchange in asked):
            cause, why = "no_logprobs", "the endpoint returns no logprobs"
        elif len(before) < self.min_history:
            cause, why = NO_HISTORY, f"{len(before)} runs before the newest third, {self.min_history} needed"
        else:
            cause, why = "not_comparable", "earlier runs have too few answers to the same prompts"
        return Finding(
            status="inconclusive", cause=cause, n=n_calls,
            reason=f"{plural(n_calls, 'call')} comparable, {self.min_calls} needed: {why}",
        )  # fmt: skip


def _allowed(call: Call, tolerance: float) -> float:
    """What the expected distance of a faithful call is at most, by the triangle inequality."""
    return tolerance + call.noise


def _evidence(calls: Sequence[Call], n_runs: int, tolerance: float, stray: float) -> _Evidence:
    """Mean over starts and alternatives of the capital from bets that distances are larger than allowed.

    H0: given the past, the expected distance of each call is at most what is allowed, and it is far off with
    probability at most `stray`. Each start's capital then has expectation at most 1, and so has their mean.
    """
    times = np.array([call.distance / _allowed(call, tolerance) for call in calls])
    means = np.log1p(np.asarray(STAKES) * (times[:, np.newaxis] - 1))
    fars = flip_log_ratios(times > FAR, np.ones(len(times)), p0=stray, rho=0.0, ratios=FAR_RATIOS)
    gained = np.zeros((n_runs, means.shape[1] + fars.shape[1]))
    np.add.at(gained, [call.run for call in calls], np.hstack([means, fars]))
    since: Floats = np.cumsum(gained[::-1], axis=0)[::-1]
    start = int(np.unravel_index(int(np.argmax(since)), since.shape)[0])
    weights = np.repeat(-np.log([2 * means.shape[1], 2 * fars.shape[1]]), [means.shape[1], fars.shape[1]])
    return _Evidence(float(logsumexp(since + weights) - np.log(n_runs)), start)


def _interval(calls: Sequence[Call], tolerance: float) -> Interval:
    """Mean distance; the interval assumes that nothing changed within `calls`, so it is widened to hold their mean."""
    limits = np.array([_allowed(call, tolerance) for call in calls])
    top = CUT * float(limits.mean())
    found = mean_sequence(np.minimum([call.distance for call in calls], top), low=0.0, high=top)
    mean, low, high = (float(bound[-1]) for bound in (found.mean, found.low, found.high))
    return Interval(estimate=mean, low=min(low, mean), high=max(high, mean), confidence=found.confidence)


def _mde(n_calls: int, n_runs: int, level: float, allowed: float) -> float:
    """The distance that, shown by all of so many calls, reaches `level`."""
    needed = (level + np.log(2 * len(STAKES) * n_runs)) / n_calls
    return float(allowed * (1 + np.expm1(needed) / STAKES[0]))


def _backends(calls: Sequence[Call], tolerance: float) -> list[dict[str, Any]]:
    """Share, distance and name of each backend: by its label where there are several, else as it was or off."""
    named = are_backends([call.label for call in calls])
    groups: dict[str, list[Call]] = {}
    for call in calls:
        name = call.label if named else _sort(call, tolerance)
        if name is not None:
            groups.setdefault(name, []).append(call)
    total = sum(map(len, groups.values()))
    return [_backend(name, group, total, tolerance, named=named) for name, group in sorted(groups.items())]


def _sort(call: Call, tolerance: float) -> str | None:
    limit = _allowed(call, tolerance)
    if call.distance <= max(2 * call.noise, SAME * limit):
        return "as before"
    return "off" if call.distance > limit else None


def _backend(name: str, group: list[Call], total: int, tolerance: float, *, named: bool) -> dict[str, Any]:
    distance = float(np.mean([call.distance for call in group]))
    golden = [call.golden for call in group if call.golden is not None]
    share = wilson(len(group), total)
    off = distance > float(np.mean([_allowed(call, tolerance) for call in group])) if named else name == "off"
    return {
        "name": name or "unnamed", "off": off, "n": len(group), "share": share.value, "share_low": share.low,
        "share_high": share.high, "distance_nats": distance, "golden_nats": float(np.mean(golden)) if golden else None,
    }  # fmt: skip


def _cause(
    backends: list[dict[str, Any]], recent: list[Past], known: dict[str, Baseline], evidence: Evidence
) -> str:
    changed, total = recounted(recent[-1:], known)
    if changed * 2 > total or mostly_misread(list(asked_by(evidence, {recent[-1].run.probe}))):
        return "template"
    off = [one for one in backends if one["off"]]
    kept = [one for one in backends if not one["off"]]
    # A few calls near the old state do not make a backend: some prompts hardly show a change.
    stayed = sum(one["n"] for one in kept)
    share = wilson(stayed, stayed + sum(one["n"] for one in off))
    return "routing" if off and stayed >= 3 and (share.low or 0.0) > 0.1 else "weights"


def _words(status: Status, cause: str | None, backends: list[dict[str, Any]]) -> str:
    off = [one for one in backends if one["off"]]
    if cause == "routing":
        kept = [one for one in backends if not one["off"]]
        share = sum(one["share"] for one in off)
        many = {2: "two", 3: "three"}.get(len(backends), str(len(backends)))
        which = "one" if len(off) == 1 else str(len(off))
        return f"; {many} backends, {which} of them off ({share:.0%} of calls)" + _golden_word(kept, off)
    if cause == "weights":
        return "; no backend is as it was"
    if cause == "template":
        return "; the prompt is read otherwise, so weights are not judged"
    return "; not decided yet" if status == "inconclusive" else ""


def _golden_word(kept: list[dict[str, Any]], off: list[dict[str, Any]]) -> str:
    ours, theirs = ([one["golden_nats"] for one in some if one["golden_nats"] is not None] for some in (kept, off))
    if not ours or not theirs:
        return ""
    nearer = "as before is" if np.mean(ours) <= np.mean(theirs) else "off now is"
    return f"; the one that {nearer} nearer to golden"


DETECTOR = LogprobHistory
