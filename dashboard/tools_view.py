"""Tool calls: runs of the probe ``tools`` -> funnel by layer and failures. No Streamlit."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from monitor.results import GoldenView, JudgedRun, RunRecord
from monitor.stats.rates import Rate, wilson
from monitor.tools.forms import with_template
from monitor.tools.graded import Graded, grade
from monitor.tools.layers import LAYERS, Layer, Symptom

DEFINITIONS: dict[Layer, str] = {
    "transport": "the answer arrived whole",
    "framing": "its events and bytes can be read",
    "protocol": "its fields are those of the protocol",
    "parser": "calls are in tool_calls and not in the text",
    "template": "the tools reached the model through its template",
    "schema": "arguments are JSON that fits the schema",
    "decision": "it called, or did not, as the case wants",
    "content": "the arguments say what was asked",
    "suite": "the case itself is sound",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """How many answers got past a layer without a fault: `rate.k` of those that were graded."""

    layer: Layer
    lost: int
    rate: Rate


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """One finding in one answer."""

    graded: Graded
    symptom: Symptom


def graded_of(records: Sequence[RunRecord], judged: Sequence[JudgedRun] = ()) -> list[Graded]:
    """All answers to tool cases that say something of the endpoint, with what its prompts tell as `tool_calls` sees it.

    `judged` are golden's counts of those prompts, where there are any.
    """
    views = {view.exchange_id: view for run in judged for view in run.views}
    return [one for record in records for one in _graded(record, views) if one.scored]


def _graded(record: RunRecord, views: Mapping[str, GoldenView]) -> Sequence[Graded]:
    """Run by run, as the detector compares prompts of one run."""
    made = [grade(one) for one in record.exchanges]
    return with_template([one for one in made if one is not None], views)


def funnel(graded: Sequence[Graded]) -> list[Step]:
    """From the wire to the meaning: an answer is lost at the layer of its first fault."""
    left, steps = len(graded), []
    for layer in LAYERS:
        lost = sum(one.layer == layer for one in graded)
        left -= lost
        if layer != "suite":
            steps.append(Step(layer=layer, lost=lost, rate=wilson(left, len(graded))))
    return steps


def failures(graded: Sequence[Graded]) -> list[Failure]:
    """Findings in the order of the layers, faults before remarks."""
    found = [Failure(graded=one, symptom=symptom) for one in graded for symptom in one.symptoms]
    return sorted(found, key=lambda one: (not one.symptom.is_fault, LAYERS.index(one.symptom.layer), one.symptom.name))


def few_of_each(found: Sequence[Failure], most: int) -> list[Failure]:
    """At most so many answers with one fault, in the same order: a frequent one does not hide the others."""
    seen: dict[str, int] = {}
    kept: list[Failure] = []
    for one in found:
        seen[one.symptom.name] = seen.get(one.symptom.name, 0) + 1
        if seen[one.symptom.name] <= most:
            kept.append(one)
    return kept


def named(found: Sequence[Failure]) -> list[tuple[Layer, str, bool, int]]:
    """(layer, name, whether it counts, answers) in the same order."""
    counts: dict[tuple[Layer, str, bool], int] = {}
    for one in found:
        key = one.symptom.layer, one.symptom.name, one.symptom.is_fault
        counts[key] = counts.get(key, 0) + 1
    return [(*key, n) for key, n in counts.items()]
