"""The Berkeley function-calling leaderboard: questions, and possible answers of the same ids (``--with``, or one file).

Types of its schemas become those of JSON Schema, dots in names become underscores. Questions of the categories
irrelevance want no call, those of relevance some call. Several turns and other programming languages are listed.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from monitor.suites.importers.imported import Rows
from monitor.suites.importers.texts import first_object, objects

_TYPES: Mapping[str, str | None] = {
    "dict": "object", "float": "number", "tuple": "array", "list": "array", "any": None, "int": "integer",
    "str": "string", "bool": "boolean", "double": "number", "long": "integer",
}  # fmt: skip
_LANGUAGES = ("java", "javascript")


class Bfcl:
    """Function calls with possible answers."""

    kind: ClassVar[str] = "bfcl"

    def recognises(self, text: str) -> bool:
        """Whether the first object is a question with functions, or a possible answer."""
        first = first_object(text)
        return {"question", "function"} <= first.keys() or {"id", "ground_truth"} == first.keys()

    def read(self, text: str, beside: str | None) -> Rows:
        """Read questions and answers."""
        found = Rows()
        rows = [*objects(text), *(objects(beside) if beside else [])]
        answers = {str(row["id"]): row["ground_truth"] for _, row in rows if "ground_truth" in row and "id" in row}
        for where, row in rows:
            if "question" not in row:
                continue
            name = str(row.get("id", where))
            turns, functions = row["question"], row.get("function")
            functions = functions if isinstance(functions, list) else [functions]
            problem = _problem(name, turns, functions)
            oracles = _oracles(name, answers.get(name)) if problem is None else None
            if oracles is None:
                found.leave(where, problem or "no ground truth, or one that is no list of calls")
                continue
            tools = [{"type": "function", "function": _function(one)} for one in functions]
            found.add(where, {"id": name, "messages": turns[0], "tools": tools, "oracles": oracles,
                              "tags": [name.rpartition("_")[0] or "bfcl"]})  # fmt: skip
        return found


def _problem(name: str, turns: Any, functions: list[Any]) -> str | None:
    if not isinstance(turns, list) or len(turns) != 1 or not isinstance(turns[0], list):
        return "several turns"
    if not all(isinstance(one, dict) and isinstance(one.get("name"), str) for one in functions):
        return "functions that are not described"
    return next((f"language {one}" for one in _LANGUAGES if one in name.lower().split("_")), None)


def _oracles(name: str, truth: Any) -> list[dict[str, Any]] | None:
    if "irrelevance" in name:
        return [{"kind": "tool_call", "expect": "none"}]
    if "relevance" in name:
        return [{"kind": "tool_call", "expect": "some"}]
    if not isinstance(truth, list) or not truth or not all(isinstance(one, dict) and len(one) == 1 for one in truth):
        return None
    return [{"kind": "tool_call", "calls": [_call(*next(iter(one.items()))) for one in truth]}]


def _call(name: str, arguments: Any) -> dict[str, Any]:
    """A call; an empty text among the right values of an argument says that it may be left out."""
    listed = {key: some if isinstance(some, list) else [some] for key, some in dict(arguments or {}).items()}
    optional = [key for key, some in listed.items() if "" in some]
    kept = {key: [one for one in some if one != ""] or [""] for key, some in listed.items()}
    return {"name": name.replace(".", "_"), "arguments": kept, "optional": optional}


def _function(function: Mapping[str, Any]) -> dict[str, Any]:
    parameters = _typed(function.get("parameters") or {})
    return {**function, "name": function["name"].replace(".", "_"), "parameters": parameters}


def _typed(schema: Any) -> Any:
    """The schema with types of JSON Schema; a property that is called `type` stays as it is."""
    if not isinstance(schema, dict):
        return schema
    kept: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "type" and isinstance(value, str):
            known = _TYPES.get(value.lower(), value)
            kept |= {"type": known} if known else {}
        elif key == "properties" and isinstance(value, dict):
            kept[key] = {name: _typed(one) for name, one in value.items()}
        elif key in {"items", "additionalProperties"}:
            kept[key] = _typed(value)
        elif not (key in {"optional", "required"} and isinstance(value, bool)):
            kept[key] = value
    return kept


IMPORTER = Bfcl
