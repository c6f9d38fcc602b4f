"""Whether arguments are what the caller's schema wants, and under which draft of JSON Schema.

The draft is the one that ``$schema`` names, else 2020-12. Draft 7 is evaluated beside it, since verifiers and routers
use it (OpenRouter, Ajv): where one accepts what the other refuses the verdict depends on the dialect, which is no
fault of a vendor. What Draft 7 cannot use at all is judged by its own draft alone.
A schema that cannot be used is a mistake of the suite. ``format`` is not asserted, as by default in both drafts.
Remote references are never fetched.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal

import jsonschema
from jsonschema.exceptions import SchemaError, ValidationError
from referencing.exceptions import Unresolvable
from referencing.jsonschema import EMPTY_REGISTRY

SchemaStatus = Literal["valid", "invalid", "unusable", "absent"]
"""``absent``: the tool has no parameters or an empty schema, which accepts any object."""

DEFAULT_DRAFT = "2020-12"
DRAFT_7 = "7"


def _multiple(validator: Any, step: Any, value: Any, _schema: Any) -> Iterator[ValidationError]:
    """``multipleOf`` in the decimals that were written: 19.99 is a multiple of 0.01, whatever doubles make of it."""
    if validator.is_type(value, "number") and (Fraction(str(value)) / Fraction(str(step))).denominator != 1:
        yield ValidationError(f"not a multiple of {step}")


def _exact(known: Any) -> Any:
    return jsonschema.validators.extend(
        known, {name: _multiple for name in ("multipleOf", "divisibleBy") if name in known.VALIDATORS}
    )


_DRAFTS: dict[str, Any] = {
    "3": _exact(jsonschema.Draft3Validator), "4": _exact(jsonschema.Draft4Validator),
    "6": _exact(jsonschema.Draft6Validator), DRAFT_7: _exact(jsonschema.Draft7Validator),
    "2019-09": _exact(jsonschema.Draft201909Validator), DEFAULT_DRAFT: _exact(jsonschema.Draft202012Validator),
}  # fmt: skip
_BY_ADDRESS = {
    **{f"json-schema.org/draft-0{draft}/schema": draft for draft in ("3", "4", "6", DRAFT_7)},
    **{f"json-schema.org/draft/{draft}/schema": draft for draft in ("2019-09", DEFAULT_DRAFT)},
}
_UNUSABLE = (
    SchemaError, Unresolvable, re.error, RecursionError, ArithmeticError, AttributeError, TypeError, ValueError,
    KeyError,
)  # fmt: skip
"""What jsonschema raises for schemas that it cannot use, checked or not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaVerdict:
    """What the schema says of the arguments.

    ``keyword`` is the first one that was violated and ``where`` its place in the schema; neither holds a word of the
    model. ``draft7`` is what Draft 7 says. ``problem`` is why a schema is unusable.
    """

    status: SchemaStatus
    draft: str
    draft7: SchemaStatus
    keyword: str | None = None
    where: str | None = None
    problem: str | None = None

    @property
    def dialect_sensitive(self) -> bool:
        """Whether Draft 7, which can use the schema too, says the opposite."""
        return {self.status, self.draft7} == {"valid", "invalid"}


def validate(parameters: Any, arguments: Any) -> SchemaVerdict:
    """Hold `arguments` (a JSON value) against `parameters`, the schema of a tool as the caller wrote it."""
    if parameters is None or parameters == {}:
        return SchemaVerdict(status="absent", draft=DEFAULT_DRAFT, draft7="absent")
    draft = draft_of(parameters)
    own = _judged(parameters, arguments, draft)
    other = own if draft == DRAFT_7 else _judged(parameters, arguments, DRAFT_7)
    return SchemaVerdict(
        status=own.status, draft=draft, draft7=other.status, keyword=own.keyword, where=own.where, problem=own.problem
    )


def draft_of(parameters: Any) -> str:
    """Return the draft that ``$schema`` names; 2020-12 where it names none that is known."""
    named = parameters.get("$schema") if isinstance(parameters, dict) else None
    address = re.sub(r"^https?://|#?$", "", named) if isinstance(named, str) else ""
    return _BY_ADDRESS.get(address, DEFAULT_DRAFT)


@dataclass(frozen=True, slots=True)
class _Judged:
    status: SchemaStatus
    keyword: str | None = None
    where: str | None = None
    problem: str | None = None


def _judged(parameters: Any, arguments: Any, draft: str) -> _Judged:
    try:
        validator, problem = _validator(json.dumps(parameters), draft)
        if problem is not None:
            return _Judged("unusable", problem=problem)
        error = next(validator.iter_errors(arguments), None)
    except _UNUSABLE as raised:
        return _Judged("unusable", problem=_words(raised))
    if error is None:
        return _Judged("valid")
    return _Judged("invalid", str(error.validator), "/".join(map(str, error.absolute_schema_path)))


@lru_cache(maxsize=1024)
def _validator(schema: str, draft: str) -> tuple[Any, str | None]:
    """The validator of a schema (as JSON), and why it cannot be used."""
    known, parameters = _DRAFTS[draft], json.loads(schema)
    if not isinstance(parameters, dict | bool):
        return None, f"a schema is an object, not {type(parameters).__name__}"
    try:
        known.check_schema(parameters)
    except _UNUSABLE as raised:
        return None, _words(raised)
    return known(parameters, registry=EMPTY_REGISTRY), None


def _words(raised: Exception) -> str:
    if isinstance(raised, SchemaError):
        place = "/".join(map(str, raised.absolute_path)) or "its root"
        return f"not a JSON Schema: {raised.validator} at {place}"
    if isinstance(raised, Unresolvable):
        return f"a reference that leads nowhere (remote ones are not fetched): {raised}"
    return f"{type(raised).__name__} while validating"
