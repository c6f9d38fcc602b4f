"""JSON values against schemas, in time that hostile values cannot stretch.

The drafts and their quirks are those of `monitor.tools.schemas`; `pattern` and `patternProperties` are looked for with
`monitor.suites.linear` instead of Python's `re`. Remote references are never fetched.
"""

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import jsonschema
from jsonschema.exceptions import ValidationError
from referencing.exceptions import Unresolvable
from referencing.jsonschema import EMPTY_REGISTRY, specification_with

from monitor.suites import linear
from monitor.tools.schemas import draft_of, validate

_CLASSES: Mapping[str, Any] = {
    "3": jsonschema.Draft3Validator, "4": jsonschema.Draft4Validator, "6": jsonschema.Draft6Validator,
    "7": jsonschema.Draft7Validator, "2019-09": jsonschema.Draft201909Validator,
    "2020-12": jsonschema.Draft202012Validator,
}  # fmt: skip


_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")


def problem(schema: Any) -> str | None:
    """Return why `schema` cannot be used; None where it can."""
    seen = validate(schema, {})
    if seen.status == "unusable":
        return seen.problem
    for pattern in _patterns(schema):
        found = linear.problem(pattern)
        if found is not None:
            return f"pattern {pattern!r}: {found}"
    return next((f"{key} to {ref!r}: nothing of this schema has that name" for key, ref in _dangling(schema)), None)


def violated(schema: Any, value: Any) -> str | None:
    """Return the first keyword of `schema`, which has no `problem`, that `value` breaks; None where it keeps all."""
    if schema in (None, {}):
        return None
    try:
        error = next(_validator(json.dumps(schema), draft_of(schema)).iter_errors(value), None)
    except RecursionError:
        return "depth"
    return None if error is None else str(error.validator)


def _pattern(validator: Any, pattern: str, value: Any, _schema: Any) -> Iterator[ValidationError]:
    if validator.is_type(value, "string") and not linear.matches(pattern, value):
        yield ValidationError("does not match")


def _pattern_properties(validator: Any, patterns: Mapping[str, Any], value: Any, _schema: Any) -> Iterator[Any]:
    if not validator.is_type(value, "object"):
        return
    for pattern, inner in patterns.items():
        for key, one in value.items():
            if linear.matches(pattern, key):
                yield from validator.descend(one, inner, path=key, schema_path=pattern)


@lru_cache(maxsize=256)
def _validator(schema: str, draft: str) -> Any:
    known = _CLASSES[draft]
    linearly = {"pattern": _pattern, "patternProperties": _pattern_properties}
    own = jsonschema.validators.extend(known, {key: by for key, by in linearly.items() if key in known.VALIDATORS})
    return own(json.loads(schema), registry=EMPTY_REGISTRY)


def _dangling(schema: Any) -> Iterator[tuple[str, str]]:
    """All references, however deep, to what the schema does not hold: an answer would meet them only sometimes."""
    specification = specification_with(_CLASSES[draft_of(schema)].META_SCHEMA.get("$schema", ""))
    resource = specification.create_resource(schema)
    waiting = [(resource, EMPTY_REGISTRY.resolver_with_root(resource))]
    while waiting:
        one, resolver = waiting.pop()
        for key in _REFERENCES:
            ref = one.contents.get(key) if isinstance(one.contents, Mapping) else None
            if isinstance(ref, str) and not _leads(resolver, ref):
                yield key, ref
        waiting += [(inner, resolver.in_subresource(inner)) for inner in one.subresources()]


def _leads(resolver: Any, ref: str) -> bool:
    try:
        resolver.lookup(ref)
    except (Unresolvable, ValueError, TypeError):  # the last two: a pointer into what is no list and no object
        return False
    return True


def _patterns(schema: Any) -> Iterator[str]:
    """All patterns that stand anywhere in `schema`."""
    if isinstance(schema, Mapping):
        if isinstance(schema.get("pattern"), str):
            yield schema["pattern"]
        if isinstance(schema.get("patternProperties"), Mapping):
            yield from map(str, schema["patternProperties"])
        for one in schema.values():
            yield from _patterns(one)
    elif isinstance(schema, list | tuple):
        for one in schema:
            yield from _patterns(one)
