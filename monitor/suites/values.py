"""Argument values against those that are right, with the leniency of the Berkeley function-calling leaderboard."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

Fault = Literal["wrong_type", "wrong_value"]

_IGNORED = str.maketrans({**dict.fromkeys(" ,./-_*^"), "'": '"'})


def value_fault(given: Any, right: Sequence[Any]) -> Fault | None:
    """Say what is wrong with `given`, where any of `right` would do; None where nothing is.

    It is of the wrong type where no right value has its type.
    """
    found = [_fault(given, one) for one in right]
    if None in found:
        return None
    return "wrong_value" if "wrong_value" in found else "wrong_type"


def _fault(given: Any, right: Any) -> Fault | None:
    if isinstance(given, bool) or isinstance(right, bool) or given is None or right is None:
        same_type = type(given) is type(right)
        return "wrong_type" if not same_type else None if given == right else "wrong_value"
    if isinstance(right, str):
        return "wrong_type" if not isinstance(given, str) else None if _plain(given) == _plain(right) else "wrong_value"
    if isinstance(right, Mapping):
        return _object_fault(given, right) if isinstance(given, Mapping) else "wrong_type"
    if isinstance(right, list | tuple):
        return _list_fault(given, right) if isinstance(given, list | tuple) else "wrong_type"
    if isinstance(given, str | Mapping | list | tuple):
        return "wrong_type"
    return None if given == right else "wrong_value"


def _list_fault(given: Sequence[Any], right: Sequence[Any]) -> Fault | None:
    if len(given) != len(right):
        return "wrong_value"
    found = {_fault(one, other) for one, other in zip(given, right, strict=True)}
    return next((fault for fault in ("wrong_type", "wrong_value") if fault in found), None)


def _object_fault(given: Mapping[str, Any], right: Mapping[str, Any]) -> Fault | None:
    """Each key of `right` has a list of right values, of which "" says that the key may be left out."""
    options = {key: some if isinstance(some, list | tuple) else (some,) for key, some in right.items()}
    if given.keys() - options.keys() or any(key not in given and "" not in some for key, some in options.items()):
        return "wrong_value"
    found = {value_fault(value, options[key]) for key, value in given.items()}
    return next((fault for fault in ("wrong_type", "wrong_value") if fault in found), None)


def _plain(text: str) -> str:
    return text.casefold().translate(_IGNORED)
