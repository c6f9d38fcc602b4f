"""The tool-call error rate of OpenRouter's public page, as it defines it: Draft 7, per request.

A request is wrong when any of its calls is; a tool without a schema, or with one that cannot be used, accepts all.
Source: OpenRouter's documentation of tool-call error rates and of its router Exacto (2026).
"""

from collections.abc import Sequence

from monitor.results import Metric, Observation
from monitor.tools.calls import CallVerdict
from monitor.tools.graded import Graded
from monitor.tools.layers import was_cut
from monitor.tools.measures import ratio

_SOURCE = "OpenRouter, tool call error rate"

BUCKETS = ("InvalidJson", "UnknownName", "SchemaMismatch")

METRICS: tuple[Metric, ...] = (
    Metric(name="openrouter_tool_call_error_rate", unit="share", better="lower", source=_SOURCE,
           definition="Requests with a wrong call / requests with calls, Draft 7."),
    *(Metric(name=f"openrouter_{name}", unit="share", better="lower", source=_SOURCE,
             definition=f"Requests whose first wrong call is {what} / requests with calls.")
      for name, what in (("invalid_json", "no JSON"), ("unknown_name", "of no declared tool"),
                         ("schema_mismatch", "against its schema"))),
)  # fmt: skip


def bucket(call: CallVerdict) -> str | None:
    """Return the bucket of a wrong call, None for a right one."""
    if call.json_fault in {"empty", "not_json", "trailing_bytes", "nonstandard_number", "too_deep", "too_large"}:
        return "InvalidJson"
    if not call.declared:
        return "UnknownName"
    if call.json_fault == "not_object" or (call.schema is not None and call.schema.draft7 == "invalid"):
        return "SchemaMismatch"
    return None


def observed(graded: Sequence[Graded]) -> tuple[Observation, ...]:
    """Return one observation per card of `METRICS`."""
    with_calls = [one for one in graded if one.arrived and one.calls and not was_cut(one.exchange)]
    first = [next((found for call in one.calls if (found := bucket(call))), None) for one in with_calls]
    counts = (len(first) - first.count(None), *(first.count(name) for name in BUCKETS))
    return tuple(ratio(metric.name, k, len(first)) for metric, k in zip(METRICS, counts, strict=True))
