"""Have the answers the shape that golden's have, or that they had before?

Needs: the exchanges of any probe, or of real traffic (`weighmaster ingest`); golden's own answers to the same prompts
where they were drawn (the `sample` probe), and `min_history` earlier answers of the same probe for what golden's token
ids do not tell, or for all. Only numbers are compared: lengths, and whether an answer looped, was empty, cut, nothing
but reasoning, in another script, asked for again, or a tool call.
Statistic: per sign, the exact conditional test of the rates, prompt by prompt where both sides answered the prompts,
else of the totals; for lengths, in tokens, the stratified log-rank test, in which an answer that was cut by the cap
counts as longer than that, with a bound of its p-value that holds for few answers. The effect is the difference for the
sign with the smallest p-value among those that differ by `tolerated` or more; for lengths at that quartile of the
lengths before at which they differ most.
Decides: *fail* when that p-value times the number of signs is at most `alpha`; *suspect* at a hundred times `alpha`;
*pass* when enough answers show neither; else *inconclusive*. Signs that nothing could be compared with are listed.
Causes: `content` (loops, another script), `engine` (empty, cut), `parser` (nothing but reasoning), `routing` (asked
again), `decision` (more or fewer calls), `length`.
What can mislead it: prompts of real traffic change by themselves (compare like with like: one ingest per application);
an endpoint that was always wrong has always been so, unless golden's answers are there.
Source: `monitor.stats.strata`, `monitor.stats.survival`, `monitor.shape_text`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

import numpy as np

from monitor.evidence import Card, Finding, verdict
from monitor.plurals import plural
from monitor.results import Evidence, Metric, RunRecord, Status, Verdict
from monitor.shape import ShapeEvent, event_of, is_loop_of
from monitor.shape_compare import LENGTH, SIGNS, Shift, compare_shapes
from monitor.shape_text import cycle_at_end
from monitor.summary import NO_HISTORY

_CAUSES = {
    "looped": "content", "mixed": "content", "empty": "engine", "cut": "engine", "only_reasoning": "parser",
    "retried": "routing", "called": "decision", LENGTH: "length",
}  # fmt: skip
_WORDS = {
    "looped": "answers that end in a loop", "mixed": "answers in another script", "empty": "empty answers",
    "cut": "answers cut by length", "only_reasoning": "answers of nothing but reasoning",
    "retried": "answers that were asked for again", "called": "answers that call a tool",
    LENGTH: "answers longer than {}",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """Lengths, loops, empties and endings against golden or own history."""

    kind: ClassVar[str] = "shape"
    version: ClassVar[int] = 1
    probes: ClassVar[frozenset[str] | None] = None
    looks_back: ClassVar[int] = 16
    metrics: ClassVar[tuple[Metric, ...]] = (
        Metric(name="shape_shift", unit="share", better="neither", source="monitor.stats.strata, .survival",
               definition="Share of answers with a sign now minus before, for the sign that says most; for lengths, of "
                          "answers longer than that quartile of the lengths before at which they differ most."),
    )  # fmt: skip

    alpha: float = 1e-5
    """Probability of a false failure in one look: one a month among 139 endpoints that are looked at hourly."""
    tolerated: float = 0.05
    """A smaller difference is no matter."""
    min_n: int = 5
    """Fewest answers now."""
    min_history: int = 40
    """Fewest answers to compare with."""

    def __post_init__(self) -> None:
        if not 0 < self.alpha < 0.01 or not 0 <= self.tolerated < 1:
            raise ValueError("`alpha` must lie between 0 and 0.01, `tolerated` in [0, 1)")
        if min(self.min_n, self.min_history) < 1:
            raise ValueError("`min_n` and `min_history` must be at least 1")

    def run(self, evidence: Evidence, *, at: datetime, rng: np.random.Generator) -> Verdict:
        """Judge the newest run."""
        card = Card(detector=self.kind, version=self.version, statistic="shape_shift", unit="share")
        now = _newest(evidence)
        if len(now) < self.min_n:
            reason = f"only {plural(len(now), 'answer')}, {self.min_n} needed"
            return verdict(card, Finding(status="inconclusive", cause="no_answers", reason=reason), evidence, at)
        beside = self._beside(evidence)
        if not beside:
            reason = f"only {len(_earlier(evidence))} earlier answers, {self.min_history} needed"
            return verdict(card, Finding(status="inconclusive", cause=NO_HISTORY, reason=reason), evidence, at)
        return verdict(card, self._finding(_compared(now, beside), len(beside.get("history", ()))), evidence, at)

    def _beside(self, evidence: Evidence) -> dict[str, list[ShapeEvent]]:
        """What to compare with, golden's answers first, as far as there are enough of them."""
        found = {"golden": _golden(evidence), "history": _earlier(evidence)}
        return {name: events for name, events in found.items() if len(events) >= self.min_history}

    def _finding(self, judged: Sequence[tuple[str, Shift]], n_history: int) -> Finding:
        against, worst = _worst(judged, self.tolerated)
        p_value = min(1.0, worst.p_value * len(judged))
        mde = self._mde(worst.n, worst.n_before, len(judged))
        status, cause = self._status(p_value, worst, mde, against)
        shifts = [one for _, one in judged]
        unjudged = [name for name in SIGNS if name not in {one.sign for one in shifts}]
        return Finding(
            status=status, cause=cause, reason=_reason(worst, p_value, against, unjudged), effect=worst.effect,
            low=worst.low, high=worst.high, n=worst.n, threshold=self.tolerated, p_value=p_value, mde=mde,
            details={"against": against, "sign": worst.sign, "n_against": worst.n_before,
                     "n_before": n_history if any(side == "history" for side, _ in judged) else 0,
                     "not_compared": unjudged,
                     **{f"{one.sign}_shift": one.effect for one in shifts},
                     **{f"{one.sign}_p": one.p_value for one in shifts}},
        )  # fmt: skip

    def _status(self, p_value: float, worst: Shift, mde: float | None, against: str) -> tuple[Status, str | None]:
        if abs(worst.effect) >= self.tolerated and p_value <= 100 * self.alpha:
            return "fail" if p_value <= self.alpha else "suspect", _CAUSES[worst.sign]
        if mde is not None:
            return "pass", None
        # Beside more of its own earlier answers these would do; of golden's there will be no more.
        return "inconclusive", NO_HISTORY if against == "history" else "too_few"

    def _mde(self, n: int, n_before: int, n_signs: int) -> float | None:
        """About the share of answers with a sign that nobody showed before which this run would have found.

        None where not even all of them would do.
        """
        share = -float(np.log(self.alpha / n_signs) / np.log1p(n_before / n)) / n
        return share if share <= 1 else None


def _compared(now: Sequence[ShapeEvent], beside: Mapping[str, Sequence[ShapeEvent]]) -> list[tuple[str, Shift]]:
    """Every sign once, beside the first that knows it."""
    found: dict[str, tuple[str, Shift]] = {}
    for name, events in beside.items():
        for one in compare_shapes(now, events):
            found.setdefault(one.sign, (name, one))
    return list(found.values())


def _worst(judged: Sequence[tuple[str, Shift]], tolerated: float) -> tuple[str, Shift]:
    """The least likely shift among those that matter; where none does, among all."""
    matter = [one for one in judged if abs(one[1].effect) >= tolerated]
    return min(matter or judged, key=lambda one: one[1].p_value)


def _newest(evidence: Evidence) -> list[ShapeEvent]:
    run_id = evidence.runs[0].run_id if evidence.runs else None
    events = [event_of(one) for one in evidence.exchanges if one.run_id == run_id]
    return [one for one in events if one.told]


def _earlier(evidence: Evidence) -> list[ShapeEvent]:
    events = [event_of(one) for record in evidence.history if _alike(record, evidence) for one in record.exchanges]
    return [one for one in events if one.told]


def _alike(record: RunRecord, evidence: Evidence) -> bool:
    now = evidence.runs[0]
    asks = (record.run.probe, record.run.probe_version, record.run.params_sha256)
    return record.run.run_id != now.run_id and asks == (now.probe, now.probe_version, now.params_sha256)


def _golden(evidence: Evidence) -> list[ShapeEvent]:
    """Shapes of golden's answers to the prompts of the newest run: of their token ids, there is no text."""
    run_id = evidence.runs[0].run_id
    caps = {
        one.request.prompt_id: one.request.max_tokens
        for one in evidence.exchanges if one.request is not None and one.run_id == run_id
    }  # fmt: skip
    return [
        _of_ids(ids, prompt, caps[prompt]) for prompt, drawn in evidence.samples.items() if prompt in caps
        for ids in drawn
    ]  # fmt: skip


def _of_ids(ids: Sequence[int], prompt: str, cap: int) -> ShapeEvent:
    cut = len(ids) >= cap
    period, repeats = cycle_at_end(ids)
    return ShapeEvent(
        outcome="ok_length" if cut else "ok", prompt=prompt, tokens=float(len(ids)), cut=cut,
        looped=is_loop_of(period, repeats, len(ids), cut=cut),
    )  # fmt: skip


def _reason(worst: Shift, p_value: float, against: str, unjudged: Sequence[str]) -> str:
    long = "" if worst.at_tokens is None else f"{worst.at_tokens:g} token{'' if worst.at_tokens == 1 else 's'}"
    what = _WORDS[worst.sign].format(long)
    beside = "golden's answers to these prompts" if against == "golden" else f"{worst.n_before} earlier answers"
    return (
        f"{what}: {worst.effect:+.0%} of {worst.n} beside {beside} "
        f"(95% interval {worst.low:+.0%} to {worst.high:+.0%}; so much in any sign by chance: p {p_value:.2g})"
    ) + (f"; nothing to compare with: {', '.join(unjudged)}" if unjudged else "")


DETECTOR = Shape
