"""Metrics of tool calls: one card and one question per response, or a count over all of them (docs/tools.md).

Every rate is k of n; n 0 is None. Letters in `source` are those of the table of peers' metrics in docs/tools.md.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from monitor.results import Metric, Observation
from monitor.tools.expected import Fidelity, fidelity, key_order
from monitor.tools.forms import pairs
from monitor.tools.graded import Graded
from monitor.tools.layers import ended_by_length, was_cut
from monitor.wire.usage import adds_up, read_usage

Question = Callable[[Graded], bool | None]
"""True and False count; None leaves the response out of n."""


class Measure(NamedTuple):
    """A rate over responses."""

    metric: Metric
    holds: Question


def _rate(name: str, definition: str, source: str, holds: Question, *, better: str = "higher") -> Measure:
    card = Metric(
        name=name, unit="share", better=better, definition=definition, source=source,  # type: ignore[arg-type]
    )  # fmt: skip
    return Measure(card, holds)


def _arrived(question: Callable[[Graded], bool | None]) -> Question:
    return lambda one: question(one) if one.arrived and one.case.tools else None


def _matches(one: Graded) -> bool | None:
    if one.case.expect == "any" or one.decided is None:
        return None
    return one.decided == (one.case.expect == "call")


def _all_valid(one: Graded) -> bool | None:
    """Whether all calls of a response can be run; None without calls, and where the suite or the cap spoils it."""
    if not one.arrived or was_cut(one.exchange):
        return None
    found = {call.valid for call in one.calls}
    return False if False in found else True if found == {True} else None


def _no_symptom(*names: str) -> Question:
    return _arrived(lambda one: not any(symptom.name in names for symptom in one.symptoms))


def _chose(kind: str, fault: str) -> Question:
    def asked(one: Graded) -> bool:
        return one.case.named is not None if kind == "named" else one.case.tool_choice == kind

    return lambda one: _obeyed(one, fault) if asked(one) else None


def _obeyed(one: Graded, fault: str) -> bool | None:
    """Whether a demand was met; None without an answer, or where the cap ended it before it could be."""
    if not one.arrived:
        return None
    broken = any(symptom.name == fault for symptom in one.symptoms)
    return None if ended_by_length(one.exchange) and not broken and not one.calls else not broken


def _history_ids(one: Graded) -> bool | None:
    before = [call.get("id") for message in one.case.messages for call in message.get("tool_calls") or ()]
    now = [call.id for call in one.exchange.choice.tool_calls if call.id is not None]
    return not set(before) & set(now) if before and now and one.arrived else None


def _usage_adds_up(one: Graded) -> bool | None:
    return adds_up(one.exchange.usage or {}) if one.arrived else None


def _ended(*outcomes: str) -> Question:
    return lambda one: one.exchange.outcome in outcomes


_ENDS = (
    ("rate_limited", "Refused for load (429)", ("rate_limited", "quota_exhausted")),
    ("http_5xx", "Answered with a status of 500 or above", ("http_5xx",)),
    ("timed_out", "Without a first byte, or silent for too long", ("timeout_first_byte", "stalled")),
    ("cut", "Cut before the end", ("truncated", "connect_error", "tls_dropped")),
    ("error_in_stream", "Failed behind a status of 200", ("error_in_stream",)),
)

RATES: Sequence[Measure] = (
    _rate("tool_first_attempt_success", "Requests whose first attempt brought a complete answer / requests planned.",
          "A1", lambda one: one.finished if one.exchange.attempt == 1 else None),
    *(_rate(f"tool_{name}", f"{what} / requests planned.", "A3", _ended(*outcomes), better="lower")
      for name, what, outcomes in _ENDS),
    _rate("tool_said", "Answers that finish as tool_calls / answers to requests with tools.", "C0, C3",
          _arrived(lambda one: one.predicates.said), better="neither"),
    _rate("tool_structured", "Answers that hold calls / answers to requests with tools.", "C0",
          _arrived(lambda one: one.predicates.structured), better="neither"),
    _rate("tool_textual", "Answers with a call left in the text / answers to requests with tools.", "C0",
          _arrived(lambda one: one.predicates.textual), better="lower"),
    _rate("tool_silent", "Answers that are billed and empty / answers to requests with tools.", "C0",
          _arrived(lambda one: one.predicates.silent), better="lower"),
    _rate("tool_match", "Decisions to call or not as labelled / labelled decisions known.", "C2", _matches),
    _rate("tool_schema_accuracy", "Answers whose every call is strict JSON, of a declared tool, valid / answers with "
          "calls, without those that the cap cut.", "C4", _all_valid),
    _rate("tool_ids_unique", "Answers whose calls have different ids / answers with two calls or more.", "C9",
          lambda one: len({call.id for call in one.exchange.choice.tool_calls}) == len(one.calls)
          if one.arrived and len(one.calls) > 1 else None),
    _rate("tool_ids_new", "Answers whose ids were not used earlier in the conversation / answers with calls after "
          "calls.", "C9", _history_ids),
    _rate("tool_choice_none", "No call / answers to tool_choice none.", "C10", _chose("none", "choice_none_ignored")),
    _rate("tool_choice_required", "A call / answers to tool_choice required.", "C10",
          _chose("required", "choice_required_ignored")),
    _rate("tool_choice_named", "A call of the named tool only / answers to a named tool_choice.", "C10",
          _chose("named", "choice_named_ignored")),
    _rate("tool_parallel_off", "At most one call / answers to parallel_tool_calls false.", "C10",
          lambda one: _obeyed(one, "parallel_off_ignored") if one.case.parallel is False else None),
    _rate("tool_finish_consistent", "Finish reason and calls agree, and the reason is a known one / answers.", "F1",
          _no_symptom("stop_with_tool_calls", "tool_calls_without_call", "finish_missing", "unknown_finish_reason",
                      "several_finish_reasons", "finish_empty_string")),
    _rate("tool_not_only_reasoning", "Answers that hold more than reasoning / answers.", "F2",
          _no_symptom("only_reasoning")),
    _rate("tool_empty", "Answers without text, reasoning or call / answers.", "F3",
          _arrived(lambda one: one.exchange.outcome == "empty"), better="lower"),
    _rate("tool_leaks", "Answers with tool markup, thinking tags or special tokens where they do not belong / answers.",
          "F4", _arrived(lambda one: any(symptom.layer == "parser" for symptom in one.symptoms)), better="lower"),
    _rate("tool_usage_present", "Answers that report completion tokens / answers.", "U1",
          _arrived(lambda one: read_usage(one.exchange.usage or {}).completion is not None)),
    _rate("tool_usage_adds_up", "Total is prompt plus completion (with or without reasoning) within 2 / usages with "
          "all three.", "U1", _usage_adds_up),
)  # fmt: skip


def _card(name: str, unit: str, better: str, definition: str, source: str) -> Metric:
    return Metric(name=name, unit=unit, better=better, definition=definition, source=source)  # type: ignore[arg-type]


COUNTED: Sequence[Metric] = (
    _card("tool_eventual_success", "share", "higher", "Cases with a complete answer in any attempt / cases.", "A2"),
    _card("tool_attempts_per_success", "attempts", "lower", "Attempts / complete answers.", "A3"),
    _card("tool_trigger_precision", "share", "higher", "TP / (TP + FP) of decisions to call, against labels.", "C1a"),
    _card("tool_trigger_recall", "share", "higher", "TP / (TP + FN).", "C1a"),
    _card("tool_trigger_f1", "share", "higher", "2 TP / (2 TP + FP + FN); labels are one opinion: see the ceiling that "
          "golden itself reaches.", "C1a"),
    _card("tool_call_schema_accuracy", "share", "higher", "Valid calls / calls of tools that declare a schema.", "C5"),
    _card("tool_arguments_exact", "share", "higher", "Expected calls made exactly / expected calls.", "C8"),
    _card("tool_arguments_right", "share", "higher", "Expected argument values that are right / all of them.", "C8"),
    _card("tool_key_order", "tau", "higher", "Mean Kendall tau of the keys' order and the schema's, per call.", "F7"),
    _card("tool_forms_same_prompt", "share", "higher", "Pairs of forms that count the same prompt tokens / pairs that "
          "count.", "U2"),
    _card("tool_id_pattern", "share", "higher", "Ids that match the pattern that was asked for / calls.", "C9"),
    _card("tool_forms_same_faults", "share", "higher", "Pairs whose forms have the same faults / pairs.", "U2"),
)  # fmt: skip

METRICS: tuple[Metric, ...] = (*(measure.metric for measure in RATES), *COUNTED)


def observed(graded: Sequence[Graded], *, id_pattern: str | None = None) -> tuple[Observation, ...]:
    """Return one observation per card of `METRICS`; all ids of calls must match `id_pattern`, where there is one."""
    rates = (rate_of(measure.metric.name, map(measure.holds, graded)) for measure in RATES)
    return (*rates, *_counted(graded), _ids(graded, id_pattern))


def _ids(graded: Sequence[Graded], pattern: str | None) -> Observation:
    ids = [call.id or "" for one in graded if one.arrived for call in one.exchange.choice.tool_calls]
    if pattern is None:
        return Observation(metric="tool_id_pattern", value=None, n=0, reason="no pattern is asked for")
    return ratio("tool_id_pattern", sum(re.fullmatch(pattern, one) is not None for one in ids), len(ids))


def rate_of(name: str, answers: Iterator[bool | None] | Sequence[bool | None]) -> Observation:
    """Return k of n among the answers that are not None."""
    known = [answer for answer in answers if answer is not None]
    return ratio(name, sum(known), len(known))


def ratio(name: str, k: int, n: int) -> Observation:
    """Return the rate k of n; None with the reason for n = 0."""
    if n == 0:
        return Observation(metric=name, value=None, n=0, reason="nothing to count")
    return Observation(metric=name, value=k / n, n=n, k=k)


class Confusion(NamedTuple):
    """Decisions to call against labels."""

    tp: int
    fp: int
    fn: int
    tn: int

    @property
    def scored(self) -> int:
        """Decisions that stand in the matrix."""
        return sum(self)


def confusion(pairs_of: Iterator[tuple[bool, bool]] | Sequence[tuple[bool, bool]]) -> Confusion:
    """Count (label, decision) pairs."""
    listed = list(pairs_of)
    return Confusion(
        tp=listed.count((True, True)), fp=listed.count((False, True)), fn=listed.count((True, False)),
        tn=listed.count((False, False)),
    )  # fmt: skip


def f1_parts(found: Confusion) -> tuple[int, int]:
    """Numerator and denominator of F1."""
    return 2 * found.tp, 2 * found.tp + found.fp + found.fn


def _counted(graded: Sequence[Graded]) -> Iterator[Observation]:
    by_case: dict[str, list[Graded]] = {}
    for one in graded:
        by_case.setdefault(one.case.case_id, []).append(one)
    answered = sum(one.finished for one in graded)
    yield ratio("tool_eventual_success", sum(any(o.finished for o in all_) for all_ in by_case.values()),
                len(by_case))  # fmt: skip
    yield _mean("tool_attempts_per_success", len(graded) / answered if answered else None, answered)
    labelled = [(one.case.expect == "call", one.decided) for one in graded if one.case.expect != "any"]
    found = confusion([(label, decided) for label, decided in labelled if decided is not None])
    yield ratio("tool_trigger_precision", found.tp, found.tp + found.fp)
    yield ratio("tool_trigger_recall", found.tp, found.tp + found.fn)
    yield ratio("tool_trigger_f1", *f1_parts(found))
    yield from _of_calls(graded)
    yield from _of_forms(graded)


def _of_calls(graded: Sequence[Graded]) -> Iterator[Observation]:
    whole = [one for one in graded if one.arrived and not was_cut(one.exchange)]
    valid = [call.valid for one in whole for call in one.calls if call.declared]
    yield rate_of("tool_call_schema_accuracy", valid)
    parts = [fidelity(one.calls, one.case.calls) for one in whole if one.case.calls]
    total = Fidelity(*(sum(column) for column in zip(*parts, strict=True))) if parts else Fidelity(0, 0, 0, 0)
    yield ratio("tool_arguments_exact", total.exact, total.calls)
    yield ratio("tool_arguments_right", total.right, total.fields)
    taus = [
        tau for one in whole for call in one.calls
        if call.name is not None and (tau := key_order(call, one.case.parameters.get(call.name))) is not None
    ]  # fmt: skip
    yield _mean("tool_key_order", sum(taus) / len(taus) if taus else None, len(taus))


def _of_forms(graded: Sequence[Graded]) -> Iterator[Observation]:
    both = pairs(graded)
    yield rate_of("tool_forms_same_prompt", [pair.prompt_tokens_agree for pair in both])
    same = [_fault_names(pair.stream) == _fault_names(pair.whole) for pair in both]
    yield rate_of("tool_forms_same_faults", same)


def _fault_names(one: Graded) -> set[str]:
    return {symptom.name for symptom in one.faults}


def _mean(name: str, value: float | None, n: int) -> Observation:
    if value is None or n == 0:
        return Observation(metric=name, value=None, n=0, reason="nothing to count")
    return Observation(metric=name, value=value, n=n)


def by_name(observations: Sequence[Observation]) -> Mapping[str, Observation]:
    """Observations by metric."""
    return {one.metric: one for one in observations}
