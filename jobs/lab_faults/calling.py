"""Tool calls for answers that hold none: of the first declared tool, with the least arguments that its schema takes."""

from collections.abc import Mapping
from typing import Any

import orjson

from jobs.lab_faults.answer import Answer

_DEEPEST = 8


def with_calls(answer: Answer, n: int = 1) -> list[dict[str, Any]] | None:
    """Return `n` valid calls in place of the answer's own; None when no tool was declared."""
    tool = next((one.get("function", one) for one in answer.asked.get("tools") or () if isinstance(one, dict)), None)
    if not isinstance(tool, dict) or not isinstance(tool.get("name"), str):
        return None
    arguments = orjson.dumps(least(tool.get("parameters"))).decode()
    return [
        {"id": f"call_lab_{number}", "type": "function", "function": {"name": tool["name"], "arguments": arguments}}
        for number in range(n)
    ]


def least(schema: Any, depth: int = 0) -> Any:
    """Return a small value that `schema` accepts, as far as plain schemas go; {} for no schema."""
    if not isinstance(schema, Mapping) or depth > _DEEPEST:
        return {}
    if "const" in schema:
        return schema["const"]
    if isinstance(choices := schema.get("enum"), list) and choices:
        return choices[0]
    kind = schema.get("type", "object")
    kind = kind[0] if isinstance(kind, list) and kind else kind
    if kind == "object":
        wanted = schema.get("required") or ()
        return {name: least(inner, depth + 1) for name, inner in schema.get("properties", {}).items() if name in wanted}
    if kind == "array":
        return [least(schema.get("items"), depth + 1) for _ in range(schema.get("minItems", 0))]
    plain = {"string": "a" * max(schema.get("minLength", 1), 1), "integer": schema.get("minimum", 1),
             "number": schema.get("minimum", 1), "boolean": True}  # fmt: skip
    return plain.get(kind)
