"""The Berkeley function-calling leaderboard: questions, and possible answers of the same ids (``--with``, or one file).

Types of its schemas become those of JSON Schema, dots in names become underscores. Questions of the categories
irrelevance want no call, those of relevance some call. Several turns and other programming languages are listed.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from monitor.suites.importers.imported import Rows
from monitor.suites.importers.texts import UnfitError, first_object, id_of, mapping, objects

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
        rows = list(objects(text, found.leave))
        if beside:
            rows += [(f"--with {where}", row) for where, row in objects(beside, lambda *one: _beside(found, *one))]
        answers = {str(row["id"]): row["ground_truth"] for _, row in rows if "ground_truth" in row and "id" in row}
        asked = {str(row.get("id")) for _, row in rows if "question" in row}

        def take(where: str, row: dict[str, Any]) -> None:
            if "question" in row:
                found.add(where, _row(where, row, answers))
            elif "ground_truth" not in row:
                raise UnfitError("row that is neither a question nor a possible answer")
            elif str(row.get("id")) not in asked:
                raise UnfitError("possible answer without its question")

        found.each(rows, take)
        return found


def _beside(found: Rows, where: str, what: str) -> None:
    found.leave(f"--with {where}", what)


def _row(where: str, row: Mapping[str, Any], answers: Mapping[str, Any]) -> dict[str, Any]:
    name = id_of(row, "id").get("id", where)
    turns, functions = row["question"], row.get("function")
    functions = functions if isinstance(functions, list) else [functions]
    _require_one_turn(name, turns, functions)
    return {
        "id": name, "messages": turns[0], "oracles": _oracles(name, answers.get(name)),
        "tools": [{"type": "function", "function": _function(one)} for one in functions],
        "tags": [name.rpartition("_")[0] or "bfcl"],
    }  # fmt: skip


def _require_one_turn(name: str, turns: Any, functions: list[Any]) -> None:
    if not isinstance(turns, list) or not all(isinstance(one, list) for one in turns):
        raise UnfitError("question that is no list of turns")
    if len(turns) != 1:
        raise UnfitError("several turns" if turns else "question without a turn")
    if not all(isinstance(one, dict) and isinstance(one.get("name"), str) for one in functions):
        raise UnfitError("functions that are not described")
    language = next((one for one in _LANGUAGES if one in name.lower().split("_")), None)
    if language is not None:
        raise UnfitError(f"language {language}")


def _oracles(name: str, truth: Any) -> list[dict[str, Any]]:
    if "irrelevance" in name:
        return [{"kind": "tool_call", "expect": "none"}]
    if "relevance" in name:
        return [{"kind": "tool_call", "expect": "some"}]
    if not isinstance(truth, list) or not truth or not all(isinstance(one, dict) and len(one) == 1 for one in truth):
        raise UnfitError("no ground truth, or one that is no list of calls")
    return [{"kind": "tool_call", "calls": [_call(*next(iter(one.items()))) for one in truth]}]


def _call(name: str, arguments: Any) -> dict[str, Any]:
    """A call; an empty text among the right values of an argument says that it may be left out."""
    given = mapping(arguments, "arguments of a call in the ground truth")
    listed = {key: some if isinstance(some, list) else [some] for key, some in given.items()}
    optional = [key for key, some in listed.items() if "" in some]
    kept = {key: [one for one in some if one != ""] or [""] for key, some in listed.items()}
    return {"name": name.replace(".", "_"), "arguments": kept, "optional": optional}


def _function(function: Mapping[str, Any]) -> dict[str, Any]:
    parameters = _typed(mapping(function.get("parameters"), "parameters of a function"))
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
        elif key == "properties":
            kept[key] = {name: _typed(one) for name, one in mapping(value, "properties of a function").items()}
        elif key in {"items", "additionalProperties"}:
            kept[key] = _typed(value)
        elif not (key in {"optional", "required"} and isinstance(value, bool)):
            kept[key] = value
    return kept


IMPORTER = Bfcl
