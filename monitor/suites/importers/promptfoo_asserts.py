"""The deterministic assertions of promptfoo as oracles of our own."""

import re
from collections.abc import Mapping
from typing import Any

from monitor.suites.importers.texts import UnfitError, filled, mapping, worded

_NEGATED = {"contains": "none", "icontains": "none", "contains-any": "none", "icontains-any": "none"}
_LISTS = {"contains-any": "any", "contains-all": "all", "icontains-any": "any", "icontains-all": "all"}
_PLAIN_KEYS = frozenset({"type", "value", "metric", "weight"})


def oracle_of(one: Any, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the oracle that says what the assertion says.

    Raises
    ------
    UnfitError
        When it has no counterpart here; the words can be counted.
    """
    kind = one.get("type") if isinstance(one, dict) else None
    if not isinstance(kind, str):
        raise UnfitError("assertion without a type")
    odd = next((key for key in one if key not in _PLAIN_KEYS), None)
    if odd is not None:
        raise UnfitError(f"assertion {kind} with {odd}")
    if one.get("weight", 1) in (0, None):
        raise UnfitError(f"assertion {kind} with weight 0")
    value = _value(one.get("value"), values)
    made = _negated(kind.removeprefix("not-"), value) if kind.startswith("not-") else _oracle(kind, value)
    if made is None:
        raise UnfitError(f"assertion {kind}")
    return made


def _value(value: Any, values: Mapping[str, Any]) -> Any:
    if isinstance(value, str):
        if value.startswith(("file://", "package:")):
            raise UnfitError("assertion whose value is a file or code")
        return filled(value, values)
    return [_value(one, values) for one in value] if isinstance(value, list) else value


def _oracle(kind: str, value: Any) -> dict[str, Any] | None:
    text = str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else None
    if kind in _LISTS:
        listed = [one.strip() for one in _texts(kind, value.split(",") if isinstance(value, str) else value)]
        return {"kind": "contains", _LISTS[kind]: listed, "ignore_case": kind.startswith("i")}
    if kind == "is-json":
        return {"kind": "json_schema", "schema": mapping(value, "schema of is-json")}
    if kind == "is-valid-openai-tools-call":
        return {"kind": "tool_call", "expect": "some"}
    return None if text is None else _of_text(kind, text)


def _of_text(kind: str, text: str) -> dict[str, Any] | None:
    if kind == "equals":
        return {"kind": "exact", "value": text}
    if kind in {"contains", "icontains"}:
        return {"kind": "contains", "all": [text], "ignore_case": kind == "icontains"}
    if kind == "starts-with":
        return {"kind": "regex", "pattern": "^" + re.escape(text).replace("\\ ", " ")}
    return {"kind": "regex", "pattern": text} if kind == "regex" else None


def _negated(kind: str, value: Any) -> dict[str, Any] | None:
    if kind == "regex":
        return {"kind": "regex", "pattern": worded(value, "value of not-regex"), "absent": True}
    if kind == "equals":
        text = worded(value, "value of not-equals")
        return {"kind": "regex", "pattern": r"^\s*" + re.escape(text) + r"\s*$", "absent": True}
    if kind not in _NEGATED:
        return None
    return {"kind": "contains", "none": _texts(kind, value), "ignore_case": kind.startswith("i")}


def _texts(kind: str, value: Any) -> list[str]:
    return [worded(one, f"value of {kind}") for one in (value if isinstance(value, list) else [value])]
