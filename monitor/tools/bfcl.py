"""What the Berkeley function-calling leaderboard would say of the calls of an answer, under its names of errors.

Its checks are more lenient than `monitor.tools.expected`: texts are equal without case, blanks and ``,./-_*^`` (so
"1.5" is "15" there), a value may have the type of the right one in place of the declared, and nesting is looked at one
level deep. Source: S. Patil et al., BFCL v4, its AST evaluation at commit a6da28e (read; no line of it is copied).
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from monitor.results import Metric, Observation
from monitor.tools.calls import CallVerdict
from monitor.tools.case import ExpectedCall
from monitor.tools.expected import same_json
from monitor.tools.graded import Graded
from monitor.tools.layers import was_cut
from monitor.tools.measures import rate_of

ERRORS = (
    "decoder_failed", "wrong_count", "wrong_func_name", "missing_required", "unexpected_param", "type_error:simple",
    "type_error:nested", "value_error:list_dict_count", "value_error:dict_key", "value_error:dict_value",
    "value_error:list/tuple", "value_error:string", "value_error:others", "missing_optional",
)  # fmt: skip
"""In the order in which they are looked for: a call with a later one came nearer."""

METRICS: tuple[Metric, ...] = (
    Metric(name="bfcl_ast_accuracy", unit="share", better="higher", source="BFCL v4",
           definition="Answers whose calls pass the AST check / answers to cases whose calls are known."),
    Metric(name="bfcl_irrelevance", unit="share", better="higher", source="BFCL v4",
           definition="Answers without a call / answers to cases that want none."),
)  # fmt: skip

_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,), "integer": (int,), "number": (int, float), "boolean": (bool,), "array": (list,),
    "object": (dict,), "null": (type(None),),
}  # fmt: skip
_LOOSE = re.compile(r"[ ,./\-_*^]")


def observed(graded: Sequence[Graded]) -> tuple[Observation, ...]:
    """Return one observation per card of `METRICS`."""
    able = [one for one in graded if one.arrived and not was_cut(one.exchange)]
    right = [error_of(one) is None for one in able if one.case.calls]
    quiet = [not one.calls for one in able if one.case.expect == "none" and one.case.tools]
    return rate_of("bfcl_ast_accuracy", right), rate_of("bfcl_irrelevance", quiet)


def counted(graded: Sequence[Graded]) -> dict[str, int]:
    """Return how many answers have each error, the most frequent first."""
    some = [error_of(one) for one in graded if one.arrived and not was_cut(one.exchange)]
    return dict(Counter(error for error in some if error is not None).most_common())


def error_of(one: Graded) -> str | None:
    """Return what is wrong with an answer, one of `ERRORS`; None where nothing is, or no calls are known."""
    wanted = one.case.calls
    if not wanted:
        return None
    if any(call.arguments is None for call in one.calls):
        return "decoder_failed"
    if len(one.calls) != len(wanted):
        return "wrong_count"
    left = list(one.calls)
    for expected in sorted(wanted, key=lambda call: sum(_error(made, call, one) is None for made in one.calls)):
        errors = [_error(made, expected, one) for made in left]
        if None not in errors:
            return max((error for error in errors if error is not None), key=ERRORS.index)
        del left[errors.index(None)]
    return None


def _error(made: CallVerdict, wanted: ExpectedCall, one: Graded) -> str | None:
    if made.name != wanted.name:
        return "wrong_func_name"
    schema, given = one.case.parameters.get(wanted.name), made.arguments or {}
    shape = schema if isinstance(schema, Mapping) else {}
    declared, required = shape.get("properties"), shape.get("required")
    if any(key not in given for key in (required if isinstance(required, list) else ())):
        return "missing_required"
    right = wanted.arguments
    for key, value in given.items():
        known = declared if isinstance(declared, Mapping) else {key: {}}
        if key not in known or (right is not None and key not in right):
            return "unexpected_param"
        if error := _of_value(value, known[key], right, key):
            return error
    return "missing_optional" if right is not None and right.keys() - given.keys() else None


def _of_value(value: Any, declared: Any, right: Mapping[str, Any] | None, key: str) -> str | None:
    shape = declared if isinstance(declared, Mapping) else {}
    same_kind = right is not None and type(value) is type(right[key])
    if not same_kind and not _is(value, shape.get("type")):
        return "type_error:simple"
    items = shape.get("items")
    inner = items.get("type") if isinstance(items, Mapping) else None
    if isinstance(value, list) and not all(_is(item, inner) for item in value):
        return "type_error:nested"
    return None if right is None else next(_differences(value, right[key]), None)


def _is(value: Any, declared: Any) -> bool:
    """Whether `value` is of a declared JSON type; one that is not known holds all."""
    names = [declared] if isinstance(declared, str) else declared if isinstance(declared, list) else []
    known = [_TYPES[name] for name in names if name in _TYPES]
    return not known or any(
        isinstance(value, kinds) and (not isinstance(value, bool) or bool in kinds) for kinds in known
    )


def _differences(value: Any, right: Any) -> Iterator[str]:
    if isinstance(value, dict) and isinstance(right, Mapping):
        yield from _of_keys(value, right)
    elif isinstance(value, list) and isinstance(right, list | tuple) and right and isinstance(right[0], Mapping):
        if len(value) != len(right):
            yield "value_error:list_dict_count"
        for item, wanted in zip(value, right, strict=False):
            yield from _of_keys(item, wanted) if isinstance(item, dict) else ["value_error:list/tuple"]
    elif isinstance(value, list):
        if not same_json(_loose(value), _loose(right)):
            yield "value_error:list/tuple"
    elif not same_json(_loose(value), _loose(right)):
        yield "value_error:string" if isinstance(value, str) else "value_error:others"


def _of_keys(value: Mapping[str, Any], right: Mapping[str, Any]) -> Iterator[str]:
    if value.keys() != right.keys():
        yield "value_error:dict_key"
    elif any(not same_json(_loose(value[key]), _loose(right[key])) for key in right):
        yield "value_error:dict_value"


def _loose(value: Any) -> Any:
    """A value as it is compared: texts without what does not matter there."""
    if isinstance(value, str):
        return _LOOSE.sub("", value).lower().replace("'", '"')
    if isinstance(value, list | tuple):
        return [_loose(item) for item in value]
    return {key: _loose(item) for key, item in value.items()} if isinstance(value, Mapping) else value
