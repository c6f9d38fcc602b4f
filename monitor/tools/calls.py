"""Each call of an answer against the tools that were declared."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from monitor.tools.markup import SPECIAL
from monitor.tools.schemas import SchemaVerdict, validate
from monitor.tools.strict_json import JsonFault, read_object
from monitor.types import ToolCall


@dataclass(frozen=True, slots=True, kw_only=True)
class CallVerdict:
    """What one call is worth.

    ``arguments`` is the object, None where there is none. ``json_fault`` with its place ``at``, ``schema`` None where
    it was not reached (an undeclared tool, no object). ``glued`` is a special token at the name or behind the
    arguments.
    """

    name: str | None
    declared: bool
    arguments: Mapping[str, Any] | None = None
    json_fault: JsonFault | None = None
    at: int | None = None
    schema: SchemaVerdict | None = None
    glued: str | None = None

    @property
    def valid(self) -> bool | None:
        """Whether a program can run the call as it is; None where the suite's own schema cannot tell."""
        if not self.declared or self.json_fault is not None:
            return False
        if self.schema is None or self.schema.status == "unusable":
            return None
        return self.schema.status != "invalid"


def judged(call: ToolCall, parameters: Mapping[str, Any]) -> CallVerdict:
    """Judge `call`; `parameters` are the schemas of the declared tools by name."""
    name, declared = call.name, call.name in parameters
    found = read_object(call.arguments)
    glued = _glued(call, declared=declared, broken=found.fault is not None)
    if found.fault is not None:
        return CallVerdict(name=name, declared=declared, json_fault=found.fault, at=found.at, glued=glued)
    schema = validate(parameters[name], found.value) if name is not None and declared else None
    return CallVerdict(name=name, declared=declared, arguments=found.value, schema=schema, glued=glued)


def _glued(call: ToolCall, *, declared: bool, broken: bool) -> str | None:
    """A special token where it cannot be meant: in a name that is none, or behind arguments that are broken by it."""
    in_name = SPECIAL.search(call.name or "") if not declared else None
    behind = SPECIAL.search(call.arguments, max(call.arguments.rfind("}"), 0)) if broken else None
    found = in_name or behind
    return found[0] if found else None
