"""Checks plain values against frozen dataclasses and says in people's words what does not fit."""

import ast
import dataclasses
import difflib
import inspect
import json
import re
import textwrap
from collections.abc import Collection, Mapping
from functools import cache
from itertools import pairwise
from typing import Any, TypeVar, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from monitor.config_source import Document, Finding, Path

T = TypeVar("T")

_STRICT = ConfigDict(extra="forbid", strict=True, hide_input_in_errors=True, allow_inf_nan=False)
_WORDS = {
    "missing": "is missing",
    "string_type": "must be text",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "bool_type": "must be true or false",
    "list_type": "must be a list",
    "tuple_type": "must be a list",
    "dict_type": "must be a mapping of keys to values",
    "dataclass_type": "must be a mapping of keys to values",
    "json_invalid": "is nested too deeply",  # we wrote that JSON: only its depth can be wrong
    "too_short": "must have at least one entry",
    "string_pattern_mismatch": "does not have the right form",
}


@cache
def model_of(*kinds: type, describe: bool = False) -> type[BaseModel]:
    """Return the strict schema made of the fields of frozen dataclasses, with their docstrings if `describe`."""
    fields: dict[str, Any] = {}
    for kind in kinds:
        hints = get_type_hints(kind, include_extras=True)
        notes = field_notes(kind) if describe else {}
        for item in dataclasses.fields(kind):
            fields[item.name] = (hints[item.name], _default(item, notes.get(item.name)))
    summary = _summary(kinds[0]) if describe else None
    return create_model(kinds[0].__name__, __config__=_STRICT, __doc__=summary, **fields)


def field_notes(kind: type) -> dict[str, str]:
    """Return the docstring that stands under each field of `kind`; none when there is no source code at hand."""
    try:
        body = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0]
    except OSError:
        return {}
    notes: dict[str, str] = {}
    for item, below in pairwise(body.body if isinstance(body, ast.ClassDef) else ()):
        match item, below:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                notes[name] = inspect.cleandoc(text)
            case _:
                continue
    return notes


def _summary(kind: type) -> str | None:
    text = inspect.getdoc(kind) or ""
    return None if text.startswith(f"{kind.__name__}(") else text.split("\n\n")[0] or None


def _default(item: "dataclasses.Field[Any]", note: str | None) -> Any:
    if item.default_factory is not dataclasses.MISSING:
        return Field(default_factory=item.default_factory, description=note)
    return Field(default=... if item.default is dataclasses.MISSING else item.default, description=note)


def nearest(name: str, known: Collection[str]) -> str | None:
    """Return a hint for a misspelt `name`: the nearest known one, else the list when it is short."""
    close = difflib.get_close_matches(name, known, n=1)
    if close:
        return f'did you mean "{close[0]}"?'
    if not known:
        return "there are none"
    return f"known: {', '.join(sorted(known))}" if len(known) <= 12 else None


class Checker:
    """Collects every mistake of a document while its sections are checked one by one."""

    def __init__(self, document: Document, context: Mapping[str, Collection[str]]) -> None:
        self.document = document
        self._context = dict(context)
        self._findings = list(document.findings)

    @property
    def findings(self) -> list[Finding]:
        """All mistakes so far, in the order of the file."""
        return sorted(self._findings, key=lambda finding: self.document.line(finding.path) or 0)

    def add(self, path: Path, message: str, suggestion: str | None = None, *, aside: bool = False) -> None:
        """Note a mistake, unless its place is already known to be unusable; one that is none of the file is `aside`."""
        if path not in self.document.spoiled:
            self._findings.append(Finding(path=path, message=message, suggestion=suggestion, aside=aside))

    def add_unknown(self, path: Path, what: str, known: Collection[str]) -> None:
        """Note that the name written at `path` is none of `known`."""
        name = self.document.texts.get(path) or str(path[-1])
        quoted = self.document.quoted(path)
        self.add(path, f"unknown {what} {quoted}" if quoted else f"unknown {what}", nearest(name, known))

    def values(self, path: Path, *kinds: type) -> dict[str, Any] | None:
        """Return the checked values of the mapping at `path`, defaults left out; None after a mistake."""
        model = model_of(*kinds)
        content = self.document.at(path)
        given = {} if content is None else content
        try:
            checked = model.model_validate_json(json.dumps(given), context=self._context)
        except ValidationError as error:
            self._translate(error, path, model)
            return None
        return {name: getattr(checked, name) for name in checked.model_fields_set}

    def make(self, kind: type[T], path: Path) -> T | None:
        """Return the dataclass that the mapping at `path` describes; None after a mistake."""
        values = self.values(path, kind)
        return None if values is None else self.build(kind, values, path)

    def build(self, kind: type[T], values: Mapping[str, Any], path: Path) -> T | None:
        """Return `kind` made of those `values` that are its fields; what it refuses by itself is a mistake."""
        names = {item.name for item in dataclasses.fields(kind)}  # type: ignore[arg-type]  # frozen dataclasses only
        try:
            return kind(**{name: value for name, value in values.items() if name in names})
        except ValueError as error:
            self.add(path, self.document.foreign(path, str(error)))
            return None

    def _translate(self, error: ValidationError, path: Path, model: type[BaseModel]) -> None:
        told: set[Path] = set()
        for item in error.errors(include_url=False, include_input=False):
            place = self._place(path, item["loc"], item["type"])
            if place not in told:  # the branches of a union complain one by one
                told.add(place)
                self._tell(place, item["type"], item.get("ctx", {}), item["msg"], model)

    def _place(self, path: Path, loc: tuple[int | str, ...], kind: str) -> Path:
        """Cut off what pydantic adds to a location but the file does not have, such as the branch of a union."""
        if kind == "missing":
            return path + loc
        fitting = (path + loc[:n] for n in range(len(loc), 0, -1) if path + loc[:n] in self.document.lines)
        return next(fitting, path)

    def _tell(self, path: Path, kind: str, ctx: Mapping[str, Any], text: str, model: type[BaseModel]) -> None:
        if kind == "extra_forbidden":
            self.add(path, "unknown key", nearest(str(path[-1]), model.model_fields))
        elif kind == "unexpected_keyword_argument":
            self.add(path, "unknown key")
        elif kind == "unknown":
            self.add_unknown(path, ctx["what"], ctx["known"])
        elif kind == "literal_error":
            self.add_unknown(path, "value", re.findall(r"'([^']*)'", ctx["expected"]))
        elif kind == "mistake":
            self.add(path, ctx["message"], ctx["suggestion"])
        elif kind in _WORDS:
            self.add(path, _WORDS[kind], self._hint(path, kind))
        else:
            words = text.removeprefix("Value error, ").replace("Input should", "must")
            self.add(path, self.document.foreign(path, words))

    def _hint(self, path: Path, kind: str) -> str | None:
        value, quoted = self.document.at(path), self.document.quoted(path)
        if kind == "string_type" and isinstance(value, bool | int | float):
            return f"write it in quotes: {quoted}" if quoted else "write it in quotes"
        if value is None and kind != "missing" and path not in self.document.spoiled:
            return "nothing is written here"
        if kind in {"dict_type", "dataclass_type"} and isinstance(value, list):
            return "write `key: value` lines without dashes"
        if kind in {"list_type", "tuple_type"} and isinstance(value, dict):
            return "begin every entry with a dash"
        if kind in {"int_type", "float_type"} and isinstance(value, str):
            return "write the number without quotes"
        return None
