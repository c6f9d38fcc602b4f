"""Each call of an answer against the tools that were declared."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from monitor.tools.markup import SPECIAL
from monitor.tools.schemas import SchemaVerdict, validate
from monitor.tools.strict_json import JsonFault, read_object
from monitor.types import ToolCall

Place = Literal["name", "arguments"]

_TAIL = re.compile(r"\}\s*(?:</?s?\Z|<\|[^{}\"]*\Z|<\uff5c[^{}\"]*\Z|</\w*>?\Z)")


@dataclass(frozen=True, slots=True, kw_only=True)
class CallVerdict:
    """What one call is worth.

    ``arguments`` is the object, None where there is none. ``json_fault`` with its place ``at``, ``schema`` None where
    it was not reached (an undeclared tool, no object). ``glued`` is a special token, or the beginning of one or of a
    closing tag, at the name or behind the arguments: ``stuck_to`` says which.
    """

    name: str | None
    declared: bool
    arguments: Mapping[str, Any] | None = None
    json_fault: JsonFault | None = None
    at: int | None = None
    schema: SchemaVerdict | None = None
    glued: str | None = None
    stuck_to: Place | None = None

    @property
    def valid(self) -> bool | None:
        """Whether a program can run the call as it is; None where the schema, or its dialect, cannot tell."""
        if not self.declared or self.json_fault is not None:
            return False
        if self.schema is None or self.schema.status == "unusable" or self.schema.dialect_sensitive:
            return None
        return self.schema.status != "invalid"


def judged(call: ToolCall, parameters: Mapping[str, Any]) -> CallVerdict:
    """Judge `call`; `parameters` are the schemas of the declared tools by name."""
    name, declared = call.name, call.name in parameters
    found = read_object(call.arguments)
    glued, stuck_to = _glued(call, declared=declared, fault=found.fault)
    if found.fault is not None:
        return CallVerdict(
            name=name, declared=declared, json_fault=found.fault, at=found.at, glued=glued, stuck_to=stuck_to
        )
    schema = validate(parameters[name], found.value) if name is not None and declared else None
    return CallVerdict(
        name=name, declared=declared, arguments=found.value, schema=schema, glued=glued, stuck_to=stuck_to
    )


def _glued(call: ToolCall, *, declared: bool, fault: JsonFault | None) -> tuple[str | None, Place | None]:
    """A special token where it cannot be meant: in a name that is none, or behind arguments that are broken by it."""
    in_name = SPECIAL.search(call.name or "") if not declared else None
    if in_name is not None:
        return in_name[0], "name"
    if fault not in {"trailing_bytes", "not_json"}:
        return None, None
    behind = _TAIL.search(call.arguments) or SPECIAL.search(call.arguments, max(call.arguments.rfind("}"), 0))
    return (behind[0].lstrip("} \t\r\n"), "arguments") if behind else (None, None)
