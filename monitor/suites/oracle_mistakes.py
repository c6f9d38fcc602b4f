"""What is wrong with the keys and fields of an oracle, in words of ours: the checker's own speak of Python."""

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from monitor.errors import Problem

_EITHER = ("str", "tuple[str, ...]")
"""How the checker names the two shapes of what may be one text or several."""

_NOUNS = {
    "string": ("a text", None), "float": ("a number", None), "int": ("a whole number", None),
    "finite": ("a finite number", None), "bool": ("true or false", None), "tuple": ("a list", 'such as ["..."]'),
    "list": ("a list", 'such as ["..."]'), "mapping": ("an object", 'such as {"...": ...}'),
    "dict": ("an object", 'such as {"...": ...}'), "dataclass": ("an object", 'such as {"name": "..."}'),
}  # fmt: skip
"""By the first word of a kind of error: what should stand there, and how it may be written."""


def unknown(row: Mapping[Any, Any], known: Sequence[str], place: str) -> Iterator[Problem]:
    """Yield a mistake for each key of `row` that is not `known`."""
    for key in row:
        if key not in known:
            near = get_close_matches(str(key), known, 1)
            yield Problem(f"{place}.{key}", "unknown key", f"did you mean {near[0]}?" if near else None)


def mistakes_in(error: ValidationError, place: str) -> Iterator[Problem]:
    """Yield the mistakes, each once, with its place behind `place`."""
    told = set()
    for one in error.errors(include_url=False, include_input=False):
        found = _mistake(one, place)
        if found not in told:
            told.add(found)
            yield found


def _mistake(one: ErrorDetails, place: str) -> Problem:
    where, kind, context = one["loc"], one["type"], one.get("ctx") or {}
    if len(where) > 1 and where[1] in _EITHER:
        return Problem(_path(place, where[:1]), "must be a text or a list of texts")
    path = _path(place, where)
    if kind == "missing":
        return Problem(path, "is missing")
    if kind == "literal_error":
        return Problem(path, f"must be one of {_choices(context)}")
    noun, example = _NOUNS.get(kind.split("_")[0], ("something else", "docs/suites.md says what"))
    return Problem(path, f"must be {noun}", example)


def _choices(context: Mapping[str, Any]) -> str:
    return str(context.get("expected", "")).replace("'", "").replace(" or ", ", ")


def _path(place: str, where: tuple[int | str, ...]) -> str:
    return place + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in where)
