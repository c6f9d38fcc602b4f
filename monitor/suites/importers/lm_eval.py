"""Tasks of lm-evaluation-harness with ``output_type: generate_until``; the documents are a second file (``--with``).

Templates are filled in where they are plain names; functions (``!function``), filters, few-shot examples and metrics
other than exact_match are listed.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from monitor.errors import UsageError
from monitor.suites.importers.imported import Rows
from monitor.suites.importers.texts import TemplateError, document, filled, objects

_NEEDED = ("doc_to_text", "doc_to_target")


class LmEval:
    """Generation tasks."""

    kind: ClassVar[str] = "lm_eval"

    def recognises(self, text: str) -> bool:
        """Whether this is a task file."""
        return {"task", "doc_to_text"} <= document(text).keys()

    def read(self, text: str, beside: str | None) -> Rows:
        """Read the task, and the documents beside it."""
        task, found = document(text), Rows()
        if "doc_to_text" not in task:
            raise UsageError("no task of lm-eval: `doc_to_text` is missing")
        left = list(_left(task))
        for what in left:
            found.leave("task", what)
        if beside is None:
            found.leave("task", "documents: give the file that dataset_kwargs names with --with")
        if left or beside is None:
            return found
        for where, row in objects(beside):
            try:
                text_in, target = (_rendered(str(task[key]), row) for key in _NEEDED)
            except TemplateError as error:
                found.leave(where, str(error))
                continue
            oracle = {"kind": "exact", "value": target.strip(), "ignore_case": _ignores_case(task)}
            oracles = [oracle] if target.strip() else []
            said = {"prompt": text_in, "oracles": oracles, "parameters": _parameters(task)}
            found.add(where, {**({"id": str(row["id"])} if "id" in row else {}), **said})
        return found


def _left(task: Mapping[str, Any]) -> Any:
    """What of the task has no place here: any of it changes what is asked or how it is graded."""
    if task.get("output_type", "loglikelihood") != "generate_until":
        yield f"output_type {task.get('output_type', 'loglikelihood')}"
    yield from (f"{key} is missing" for key in _NEEDED if key not in task)
    yield from (f"{key}: {str(value).split()[0]}" for key, value in task.items() if str(value).startswith("!function"))
    if task.get("filter_list"):
        yield "filter_list"
    if task.get("num_fewshot"):
        yield "num_fewshot"
    metrics = [one.get("metric") for one in task.get("metric_list") or [] if isinstance(one, dict)]
    yield from (f"metric {name}" for name in metrics if name != "exact_match")


def _rendered(template: str, row: Mapping[str, Any]) -> str:
    """The template, or the field of the document that it names."""
    if template.isidentifier() and template not in row:
        raise TemplateError(f"document without {template}")
    return str(row[template]) if template in row else filled(template, row)


def _ignores_case(task: Mapping[str, Any]) -> bool:
    return any(isinstance(one, dict) and one.get("ignore_case") for one in task.get("metric_list") or [])


def _parameters(task: Mapping[str, Any]) -> dict[str, Any]:
    given = task.get("generation_kwargs") or {}
    until = given.get("until")
    said = {
        "max_tokens": given.get("max_gen_toks"), "stop": [until] if isinstance(until, str) else until,
        "temperature": given.get("temperature", None if given.get("do_sample") else 0.0), "top_p": given.get("top_p"),
    }  # fmt: skip
    return {key: value for key, value in said.items() if value is not None}


IMPORTER = LmEval
