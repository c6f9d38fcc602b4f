"""Calls against those that a case expects: right names, right values, and the order of keys."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

from monitor.tools.calls import CallVerdict
from monitor.tools.case import ExpectedCall


class Fidelity(NamedTuple):
    """Expected calls that were made exactly, of how many; expected argument values that are right, of how many."""

    exact: int
    calls: int
    right: int
    fields: int


def fidelity(made: Sequence[CallVerdict], expected: Sequence[ExpectedCall]) -> Fidelity:
    """Match `made` calls to `expected` ones in any order, each to the one that it serves best.

    A call is exact when it has the expected values and no key more. Values are equal as JSON (1 is 1.0, true is not 1).
    """
    left = [call for call in made if call.arguments is not None]
    exact = right = fields = 0
    for wanted in expected:
        values = wanted.arguments or {}
        fields += len(values)
        same_name = [call for call in left if call.name == wanted.name]
        if not same_name:
            continue
        best = max(same_name, key=lambda call: _right(call.arguments or {}, values))
        left.remove(best)
        given = best.arguments or {}
        right += _right(given, values)
        exact += wanted.arguments is None or (_right(given, values) == len(values) and not given.keys() - values.keys())
    return Fidelity(exact, len(expected), right, fields)


def key_order(call: CallVerdict, parameters: Any) -> float | None:
    """Kendall's tau between the order of keys in `call` and in its schema: 1 as declared, -1 reversed.

    None where fewer than two declared keys were given. A server that sorts keys shows here.
    """
    declared = parameters.get("properties") if isinstance(parameters, Mapping) else None
    if call.arguments is None or not isinstance(declared, Mapping):
        return None
    places = {key: at for at, key in enumerate(declared)}
    order = [places[key] for key in call.arguments if key in places]
    pairs = list(combinations(order, 2))
    return sum(1 if first < second else -1 for first, second in pairs) / len(pairs) if pairs else None


def same_json(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal; Python alone takes true for 1."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same_json(value, other[key]) for key, value in one.items())
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(same_json(a, b) for a, b in zip(one, other, strict=True))
    return bool(one == other)


def _right(given: Mapping[str, Any], wanted: Mapping[str, Any]) -> int:
    return sum(key in given and same_json(given[key], value) for key, value in wanted.items())
