"""Tasks of lm-evaluation-harness with ``output_type: generate_until``; the documents are a second file (``--with``).

Templates are filled in where they are plain names; functions (``!function``), filters, few-shot examples and metrics
other than exact_match are listed. Where anything of the task itself is not supported, none of its documents is taken.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, ClassVar, TypeVar

from monitor.errors import UsageError
from monitor.suites.importers.imported import Rows
from monitor.suites.importers.parameters import require_types
from monitor.suites.importers.texts import (
    UnfitError,
    document,
    filled,
    id_of,
    keys_of,
    listing,
    mapping,
    objects,
    worded,
)  # fmt: skip

T = TypeVar("T")
_NEEDED = ("doc_to_text", "doc_to_target")
_CHANGES = (
    "filter_list", "num_fewshot", "fewshot_config", "description", "gen_prefix", "use_prompt", "doc_to_image",
    "doc_to_audio", "doc_to_choice",
)  # fmt: skip
_METRIC = frozenset({"metric", "aggregation", "higher_is_better", "ignore_case"})
_GENERATION = frozenset({"until", "max_gen_toks", "temperature", "top_p", "do_sample"})


class LmEval:
    """Generation tasks."""

    kind: ClassVar[str] = "lm_eval"

    def recognises(self, text: str) -> bool:
        """Whether this is a task file."""
        return {"task", "doc_to_text"} <= keys_of(text)

    def read(self, text: str, beside: str | None) -> Rows:
        """Read the task, and the documents beside it."""
        task, found = document(text), Rows()
        if "doc_to_text" not in task:
            raise UsageError("no task of lm-eval: `doc_to_text` is missing")
        found.each((("task", what) for what in _left(task)), found.leave)
        metrics = _of_task(found, partial(_metrics, task))
        parameters = _of_task(found, partial(_parameters, task))
        if beside is None:
            found.leave("task", "documents: give the file that dataset_kwargs names with --with")
        elif metrics is not None and parameters is not None and not found.unsupported:
            _documents(found, task, beside, metrics, parameters)
        return found


def _of_task(found: Rows, made: Callable[[], T]) -> T | None:
    """What `made` finds in the task; None, and listed, where that has no place here."""
    kept: list[T] = []
    found.each([("task", made)], lambda _, one: kept.append(one()))
    return kept[0] if kept else None


def _documents(
    found: Rows, task: Mapping[str, Any], beside: str, metrics: list[dict[str, Any]], parameters: dict[str, Any]
) -> None:
    """Take the documents of a task of which nothing was left out."""
    for name in (one["metric"] for one in metrics if one["metric"] != "exact_match"):
        found.leave("task", f"metric {name}, beside exact_match")
    ignores = any(one.get("ignore_case") for one in metrics if one["metric"] == "exact_match")

    def take(place: str, row: dict[str, Any]) -> None:
        text_in, target = (_rendered(str(task[key]), row) for key in _NEEDED)
        oracle = {"kind": "exact", "value": target.strip(), "ignore_case": ignores}
        oracles = [oracle] if target.strip() else []
        found.add(place, {**id_of(row, "id"), "prompt": text_in, "oracles": oracles, "parameters": parameters})

    found.each(objects(beside, found.leave), take)


def _left(task: Mapping[str, Any]) -> Iterator[str]:
    """What of the task has no place here: any of it changes what is asked or how it is graded."""
    if task.get("output_type", "loglikelihood") != "generate_until":
        yield f"output_type {task.get('output_type', 'loglikelihood')}"
    for key in _NEEDED:
        if not isinstance(task.get(key), str):
            yield f"{key} that is no text" if key in task else f"{key} is missing"
    yield from (f"{key}: {str(value).split()[0]}" for key, value in task.items() if str(value).startswith("!function"))
    yield from (key for key in _CHANGES if task.get(key))


def _metrics(task: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The metrics, of which one is exact_match as it is computed here."""
    listed = listing(task.get("metric_list"), "metric_list") or [{"metric": "exact_match"}]
    metrics = [mapping(one, "metric") for one in listed]
    names = [worded(one.get("metric"), "name of a metric") for one in metrics]
    if "exact_match" not in names:
        raise UnfitError(f"metric {', '.join(names)}")
    odd = [key for one in metrics for key in one if one["metric"] == "exact_match" and one[key] and key not in _METRIC]
    if odd:
        raise UnfitError(f"metric exact_match with {', '.join(odd)}")
    return metrics


def _rendered(template: str, row: Mapping[str, Any]) -> str:
    """The template, or the field of the document that it names."""
    if template.isidentifier() and template not in row:
        raise UnfitError(f"document without {template}")
    return worded(row[template], template) if template in row else filled(template, row)


def _parameters(task: Mapping[str, Any]) -> dict[str, Any]:
    given = mapping(task.get("generation_kwargs"), "generation_kwargs")
    odd = [key for key in given if key not in _GENERATION]
    if odd:
        raise UnfitError(f"generation_kwargs with {', '.join(map(str, odd))}")
    until = given.get("until")
    said = {
        "max_tokens": given.get("max_gen_toks"), "stop": [until] if isinstance(until, str) else until,
        "temperature": given.get("temperature", None if given.get("do_sample") else 0.0), "top_p": given.get("top_p"),
    }  # fmt: skip
    require_types(said)
    return {key: value for key, value in said.items() if value is not None}


IMPORTER = LmEval
