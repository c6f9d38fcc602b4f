"""The deterministic assertions of promptfoo as oracles of our own."""

import re
from collections.abc import Mapping
from typing import Any

from monitor.suites.importers.texts import TemplateError, filled

_NEGATED = {"contains": "none", "icontains": "none", "contains-any": "none", "icontains-any": "none"}
_LISTS = {"contains-any": "any", "contains-all": "all", "icontains-any": "any", "icontains-all": "all"}
_PLAIN_KEYS = frozenset({"type", "value", "metric", "weight"})


def oracle_of(one: Any, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the oracle that says what the assertion says.

    Raises
    ------
    TemplateError
        When it has no counterpart here; the words can be counted.
    """
    kind = one.get("type") if isinstance(one, dict) else None
    if not isinstance(kind, str):
        raise TemplateError("assertion without a type")
    odd = next((key for key in one if key not in _PLAIN_KEYS), None)
    if odd is not None:
        raise TemplateError(f"assertion {kind} with {odd}")
    value = _value(one.get("value"), values)
    made = _negated(kind.removeprefix("not-"), value) if kind.startswith("not-") else _oracle(kind, value)
    if made is None:
        raise TemplateError(f"assertion {kind}")
    return made


def _value(value: Any, values: Mapping[str, Any]) -> Any:
    if isinstance(value, str):
        if value.startswith(("file://", "package:")):
            raise TemplateError("assertion whose value is a file or code")
        return filled(value, values)
    return [_value(one, values) for one in value] if isinstance(value, list) else value


def _oracle(kind: str, value: Any) -> dict[str, Any] | None:
    text = str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else None
    if kind in _LISTS:
        listed = [str(part).strip() for part in (value if isinstance(value, list) else str(value).split(","))]
        return {"kind": "contains", _LISTS[kind]: listed, "ignore_case": kind.startswith("i")}
    if kind == "is-json":
        return {"kind": "json_schema", "schema": value if isinstance(value, dict) else {}}
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
        return {"kind": "regex", "pattern": str(value), "absent": True}
    if kind == "equals":
        return {"kind": "regex", "pattern": r"^\s*" + re.escape(str(value)) + r"\s*$", "absent": True}
    if kind not in _NEGATED:
        return None
    listed = value if isinstance(value, list) else [value]
    return {"kind": "contains", "none": [str(one) for one in listed], "ignore_case": kind.startswith("i")}
