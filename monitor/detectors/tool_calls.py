"""Do tool calls arrive so that programs can run them, and which layer is at fault where they do not?

Needs: the `tools` probe; with golden weights also what they decide on the same cases (``tool_draws`` answers each).
Every answer is graded by layers: framing, protocol, parser, template, schema, decision, content. Per layer, the cases
with a fault are held against a tolerated rate of faulty answers by an exact test that counts a case once, whatever its
forms (and by an e-process). Where golden itself writes unsound calls, that rate (the upper end of its interval) is what
is tolerated of schema and decisions. Decisions to call or not are held against golden's own frequencies, case by case,
by an exact test; without golden they are compared with the labels of the suite, which decides nothing. Calls that
cannot be run are held against golden's in the same way, and calls that the token limit cut are among them on both
sides: weights that begin calls and never end them fail as `schema`, those that never come to a call as `content`.
Decides: *fail* when the p-value of a layer is at most ``alpha``, which is the chance of a false alarm per layer;
*suspect* at most ``suspect_alpha``, and for content (empty answers, reasoning alone), which models do by themselves;
else *pass*, with the smallest rate that would have been found. The cause is the first layer from the wire up.
What can mislead it: transport failures are `availability`'s and only counted here; without golden, answers that the
token limit cut are left out; a model too weak for tools, without golden weights beside it; a mistaken schema of the
suite (told apart).
Source: layers and shapes of docs/tools.md; B19: 0.1% against 3% at n = 176 is found with power 0.9 at alpha 0.001.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, ClassVar

import numpy as np

from monitor.evidence import Card, Finding, verdict
from monitor.plurals import plural
from monitor.results import Evidence, Metric, Status, Verdict
from monitor.stats.evalues import average_e
from monitor.stats.rates import wilson
from monitor.stats.sign_test import as_many
from monitor.tools.forms import Pair, design_of, pairs, with_template
from monitor.tools.golden_side import Against, against_golden, unsound_rate
from monitor.tools.graded import Graded, grade
from monitor.tools.layers import Layer, ended_by_length, was_cut
from monitor.tools.tolerance import Excess, excess, smallest_rate

JUDGED: tuple[Layer, ...] = ("framing", "protocol", "parser", "template", "schema", "decision", "content")
_OF_THE_MODEL = frozenset({"schema", "decision"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCalls:
    """Faults of tool calls by layer, against what is tolerated and against golden."""

    kind: ClassVar[str] = "tool_calls"
    version: ClassVar[int] = 1
    probes: ClassVar[frozenset[str] | None] = frozenset({"tools"})
    looks_back: ClassVar[int] = 0
    metrics: ClassVar[tuple[Metric, ...]] = (
        Metric(name="tool_fault_rate", unit="share", better="lower", source="docs/tools.md",
               definition="Complete answers to cases with a fault at any layer above transport / complete answers."),
    )  # fmt: skip

    tolerated: float = 0.001
    """Tolerated rate of faulty answers, per layer."""
    alpha: float = 0.001
    """Chance of a false *fail* per layer."""
    suspect_alpha: float = 0.01
    """P-value from which a layer is suspect."""
    min_cases: int = 10
    """Fewest cases with a complete answer."""
    tool_draws: int = 8
    """Golden answers to draw for each case."""
    accepted: tuple[str, ...] = ()
    """Names of findings that are agreed for this fleet, such as `name_repeated`."""

    def __post_init__(self) -> None:
        if not 0 < self.alpha <= self.suspect_alpha < 1 or not 0 < self.tolerated < 1:
            raise ValueError("0 < `alpha` <= `suspect_alpha` < 1 and 0 < `tolerated` < 1 must hold")
        if self.min_cases < 1 or self.tool_draws < 0:
            raise ValueError("`min_cases` must be at least 1 and `tool_draws` at least 0")

    def run(self, evidence: Evidence, *, at: datetime, rng: np.random.Generator) -> Verdict:
        """Judge all answers to cases."""
        card = Card(detector=self.kind, version=self.version, statistic="tool_fault_rate", unit="share")
        graded = self._graded(evidence)
        lacking = self._lacking(evidence, graded)
        if lacking is not None:
            return verdict(card, lacking, evidence, at)
        golden = against_golden(graded, evidence.tool_draws, rng=rng)
        return verdict(card, self._finding(graded, evidence, golden), evidence, at)

    def _graded(self, evidence: Evidence) -> tuple[Graded, ...]:
        runs = {run.run_id for run in evidence.runs if run.probe in (self.probes or ())}
        made = [grade(one) for one in evidence.exchanges if one.run_id in runs]
        graded = with_template([one for one in made if one is not None], evidence.golden)
        return tuple(
            replace(one, symptoms=tuple(s for s in one.symptoms if s.name not in self.accepted)) for one in graded
        )

    def _lacking(self, evidence: Evidence, graded: Sequence[Graded]) -> Finding | None:
        """What keeps it from judging, None when nothing does."""
        arrived = [one for one in graded if one.arrived]
        cases = {one.case.case_id for one in arrived}
        spoilt = sum(any(symptom.name == "schema_unusable" for symptom in one.symptoms) for one in arrived)
        if not any(run.probe in (self.probes or ()) for run in evidence.runs):
            cause, reason = "not_asked", "no run of tools"
        elif not arrived:
            ends = Counter(str(one.exchange.outcome) for one in graded)
            cause, reason = "no_answers", "no complete answer: " + _listed(ends)
        elif 2 * spoilt > len(arrived):
            cause, reason = "suite", f"{spoilt} of {len(arrived)} answers are to schemas that cannot be used"
        elif len(cases) < self.min_cases:
            cause, reason = "too_few", f"complete answers to {len(cases)} cases, {self.min_cases} needed"
        else:
            return None
        return Finding(status="inconclusive", cause=cause, reason=reason, n=len(arrived))

    def _finding(self, graded: Sequence[Graded], evidence: Evidence, golden: Against) -> Finding:
        arrived = [one for one in graded if one.arrived]
        allowed = max(self.tolerated, unsound_rate(evidence.tool_draws) or 0.0)
        tests = {
            layer: found for layer in JUDGED
            if (found := _tested(arrived, layer, allowed if layer in _OF_THE_MODEL else self.tolerated)) is not None
        }  # fmt: skip
        p_values: dict[str, float] = {layer: test.p_value for layer, test in tests.items()}
        if golden.agreement is not None:
            p_values["decision"] = _either(p_values.get("decision"), golden.agreement.p_value)
        if golden.p_unsound is not None:
            p_values["schema"] = _either(p_values.get("schema"), golden.p_unsound)
        status, cause = self._status(p_values, golden.p_endless)
        blind = _blind(arrived) if status == "pass" else None
        if blind is not None:
            return Finding(status="inconclusive", cause=blind[0], reason=blind[1], n=len(arrived))
        if golden.p_endless is not None:  # content fails by this test alone, and is suspect by either
            either = _either(p_values.get("content"), golden.p_endless)
            p_values["content"] = golden.p_endless if (status, cause) == ("fail", "content") else either
        rate = wilson(sum(bool(one.faults) for one in arrived), len(arrived), design=design_of(arrived))
        both = pairs(graded)
        told = _Told(arrived=arrived, tests=tests, cause=cause, golden=golden, both=both)
        return Finding(
            status=status, cause=cause, reason=told.reason(self.alpha), effect=rate.value, low=rate.low,
            high=rate.high, n=rate.n, threshold=self.tolerated,
            p_value=p_values[cause] if cause else min(p_values.values()),
            log_e=average_e([test.log_e for test in tests.values()]),
            mde=smallest_rate(_draws(arrived), tolerated=self.tolerated, alpha=self.alpha),
            details={"k": rate.k, **_details(graded, arrived), **told.details(), "tolerated_of_the_model": allowed,
                     **{f"p_{layer}": p for layer, p in p_values.items()}, **golden.details},
        )  # fmt: skip

    def _status(self, p_values: Mapping[str, float], endless: float | None) -> tuple[Status, str | None]:
        """The verdict and the first layer that is as bad; content fails only where golden's own answers are better."""
        against = {**p_values, "content": 1.0 if endless is None else endless}
        failed = [layer for layer in JUDGED if against.get(layer, 1.0) <= self.alpha]
        if failed:
            return "fail", failed[0]
        against["content"] = _either(p_values.get("content"), endless)
        suspect = [layer for layer in JUDGED if against.get(layer, 1.0) <= self.suspect_alpha]
        return ("suspect", suspect[0]) if suspect else ("pass", None)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Told:
    """What was found, in words and numbers."""

    arrived: Sequence[Graded]
    tests: Mapping[Layer, Excess]
    cause: str | None
    golden: Against
    both: Sequence[Pair]

    def reason(self, alpha: float) -> str:
        counted = [
            f"{layer}: {test.k} of {test.n} cases ({_listed(_names(self.arrived, layer))})"
            for layer, test in self.tests.items() if test.k and (self.cause is None or layer == self.cause)
        ]  # fmt: skip
        parts = counted
        if not counted and self.cause != "decision":
            parts = [f"no fault in {plural(len(self.arrived), 'answer')}"]
        if self.cause in {None, "decision"} and self.golden.words:
            parts = [*parts, self.golden.words]
        unsound = self.golden.unsound
        if self.cause == "schema" and unsound is not None and unsound.excess > 0:
            share = f"{unsound.excess:+.0%} against golden's (p {unsound.p_excess:.2g})"
            parts = [*counted, f"calls that cannot be run, or that the token limit cut within themselves: {share}"]
        endless = self.golden.p_endless
        if self.cause == "content" and endless is not None and endless <= alpha and self.golden.undecided is not None:
            share = f"{self.golden.undecided.excess:+.0%} against golden's answers"
            parts = [*counted, f"the token limit ends answers before they decide: {share}"]
        if self.cause is not None and self._p_forms <= alpha:
            parts = [*parts, f"only in the form {self._form}" if min(self._apart) == 0 else f"mostly in {self._form}"]
        return "; ".join(parts)

    def details(self) -> dict[str, Any]:
        first, second = self._apart
        return {"pairs": len(self.both), "stream_only": first, "whole_only": second, "p_forms": self._p_forms}

    @property
    def _apart(self) -> tuple[int, int]:
        """Cases with a fault when streamed only, and when whole only."""
        marks = [(bool(pair.stream.faults), bool(pair.whole.faults)) for pair in self.both]
        return marks.count((True, False)), marks.count((False, True))

    @property
    def _p_forms(self) -> float:
        return as_many(*self._apart)

    @property
    def _form(self) -> str:
        first, second = self._apart
        return "stream" if first > second else "whole"


def _either(*p_values: float | None) -> float:
    """P-value of the smallest of some, which is as small by chance as often as there are some (Bonferroni)."""
    known = [one for one in p_values if one is not None]
    return min(1.0, len(known) * min(known, default=1.0))


def _blind(arrived: Sequence[Graded]) -> tuple[str, str] | None:
    """What leaves nothing to judge although answers arrived: they were cut, or none of them calls."""
    cut = sum(was_cut(one.exchange) for one in arrived)
    if 2 * cut > len(arrived):
        return "cut_by_limit", f"the token limit cut {cut} of {plural(len(arrived), 'answer')}; raise `tokens`"
    wanted = [one for one in arrived if one.case.expect == "call"]
    if wanted and not any(one.predicates.called for one in arrived):
        why = "golden weights would tell whether the model or the endpoint is to blame"
        return "no_calls", f"no call in {plural(len(wanted), 'answer')} to cases that want one: {why}"
    return None


def _tested(arrived: Sequence[Graded], layer: Layer, tolerated: float) -> Excess | None:
    """The test of one layer over all answers that can show it; None without any."""
    able = [one for one in arrived if layer != "schema" or _can_show_schema(one)]
    if not able:
        return None
    answers = _answers(able)
    faulty = {one.case.case_id for one in able if any(symptom.layer == layer for symptom in one.faults)}
    return excess([name in faulty for name in answers], list(answers.values()), tolerated=tolerated)


def _can_show_schema(one: Graded) -> bool:
    return one.predicates.called and not ended_by_length(one.exchange)


def _answers(some: Sequence[Graded]) -> dict[str, int]:
    counts: dict[str, int] = defaultdict(int)
    for one in some:
        counts[one.case.case_id] += 1
    return counts


def _draws(arrived: Sequence[Graded]) -> list[int]:
    """How many answers to each case say something of their own.

    Both forms of a case have one seed; where it is honoured they say the same, and the second shows no new fault of the
    model.
    """
    said: dict[str, set[str]] = defaultdict(set)
    for one in arrived:
        choice = one.exchange.choice
        calls = [(call.name, call.arguments) for call in choice.tool_calls]
        said[one.case.case_id].add(repr((choice.content, choice.reasoning, calls)))
    return [len(some) for some in said.values()]


def _names(arrived: Sequence[Graded], layer: Layer) -> Counter[str]:
    return Counter(s.name for one in arrived for s in {(s.layer, s.name): s for s in one.faults}.values()
                   if s.layer == layer)  # fmt: skip


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{count} x {name}" for name, count in counts.most_common()) or "none"


def _details(graded: Sequence[Graded], arrived: Sequence[Graded]) -> dict[str, Any]:
    symptoms = Counter(f"{s.layer}:{s.name}" for one in graded for s in one.symptoms)
    suite = sum(any(s.layer == "suite" for s in one.symptoms) for one in arrived)
    return {
        "n_cases": len(_answers(arrived)), "symptoms": dict(symptoms.most_common()), "suite_findings": suite,
        "layers": dict(Counter(one.layer for one in graded if one.layer)), "n_asked": len(graded),
        "cut_by_limit": sum(was_cut(one.exchange) for one in arrived),
        "not_scored": sum(not one.scored for one in graded),
    }  # fmt: skip


DETECTOR = ToolCalls
