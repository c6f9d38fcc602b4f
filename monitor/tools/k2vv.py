"""The numbers of MoonshotAI's K2-Vendor-Verifier, as it defines them, to compare with what it published.

They go by the finish reason alone, and read JSON leniently. Ours (`monitor.tools.measures`) keep apart what these fold
together. Source: its README and tool at commit 0bc5061 (2026-02-14), read and run; no line of it is copied.
"""

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from monitor.results import Metric, Observation
from monitor.tools.graded import Graded
from monitor.tools.measures import confusion, f1_parts, ratio
from monitor.tools.schemas import validate
from monitor.types import ToolCall
from monitor.wire.usage import read_usage

_SOURCE = "MoonshotAI/K2-Vendor-Verifier"

METRICS: tuple[Metric, ...] = (
    Metric(name="k2vv_tool_call_f1", unit="share", better="higher", source=_SOURCE,
           definition="F1 of finish_reason tool_calls against the labels, failed requests left out."),
    Metric(name="k2vv_tool_call_f1_strict", unit="share", better="higher", source=_SOURCE,
           definition="The same with failed requests counted as no call."),
    Metric(name="k2vv_schema_accuracy", unit="share", better="higher", source=_SOURCE,
           definition="Answers with valid calls only / answers that finish as tool_calls."),
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class K2vvCounts:
    """The counts of one run, under the names of its summary; tokens are None where no answer counts them."""

    success_count: int = 0
    failure_count: int = 0
    finish_stop: int = 0
    finish_tool_calls: int = 0
    finish_others: int = 0
    finish_others_detail: Mapping[str, int]
    schema_validation_error_count: int = 0
    successful_tool_call_count: int = 0
    prompt_tokens: int | None = None
    completion_tokens: int | None = None

    @property
    def five(self) -> tuple[int, int, int, int, int]:
        """The five counts that the similarity of 2025 was made of."""
        return (self.finish_stop, self.finish_tool_calls, self.finish_others, self.schema_validation_error_count,
                self.successful_tool_call_count)  # fmt: skip


def schema_accuracy(counts: K2vvCounts) -> Observation:
    """Return successful calls over finishes with tool_calls."""
    return ratio("k2vv_schema_accuracy", counts.successful_tool_call_count, counts.finish_tool_calls)


def similarity(counts: Sequence[int], official: Sequence[int], n_requests: int) -> float:
    """Return the similarity that was published in 2025: 1 less the distance of five counts over the requests.

    It ignores which requests agree: an endpoint with the same totals and the wrong answers scores 1.
    """
    return 1 - math.dist(counts, official) / n_requests


def counts_of(graded: Sequence[Graded]) -> K2vvCounts:
    """Count the responses of a run."""
    arrived = [one for one in graded if one.finished]
    finishes = Counter(one.exchange.choice.finish_raw or "none" for one in arrived)
    valid = [_valid(one) for one in arrived if one.predicates.said]
    usage = [read_usage(one.exchange.usage or {}) for one in arrived]
    others = {name: k for name, k in finishes.items() if name not in {"stop", "tool_calls"}}
    return K2vvCounts(
        success_count=len(arrived), failure_count=len(graded) - len(arrived), finish_stop=finishes["stop"],
        finish_tool_calls=finishes["tool_calls"], finish_others=sum(others.values()), finish_others_detail=others,
        schema_validation_error_count=valid.count(False), successful_tool_call_count=valid.count(True),
        prompt_tokens=_total(one.input_total for one in usage),
        completion_tokens=_total(one.completion for one in usage),
    )  # fmt: skip


def observed(graded: Sequence[Graded]) -> tuple[Observation, ...]:
    """Return one observation per card of `METRICS`."""
    labelled = [one for one in graded if one.case.expect != "any"]
    arrived = [one for one in labelled if one.finished]
    kept = confusion([(one.case.expect == "call", one.predicates.said) for one in arrived])
    strict = confusion(
        [(one.case.expect == "call", one.finished and one.predicates.said) for one in labelled]
    )
    return (
        ratio("k2vv_tool_call_f1", *f1_parts(kept)), ratio("k2vv_tool_call_f1_strict", *f1_parts(strict)),
        schema_accuracy(counts_of(graded)),
    )  # fmt: skip


def _total(counts: Iterable[float | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return round(sum(known)) if known else None


def _valid(one: Graded) -> bool:
    """Whether it would accept all calls; an announced call that is not there is an error of the schema."""
    parameters = one.case.parameters
    calls = one.exchange.choice.tool_calls
    return bool(calls) and all(_call_valid(call, parameters) for call in calls)


def _call_valid(call: ToolCall, parameters: Mapping[str, Any]) -> bool:
    schema = parameters.get(call.name or "")
    if not schema:  # a tool without parameters counts as unknown there
        return False
    try:
        value = json.loads(call.arguments)
    except (ValueError, RecursionError):
        return False
    return validate(schema, value).status == "valid"
