"""The answer is JSON that a schema accepts."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from monitor.suites import json_check
from monitor.suites.grade import RIGHT, Grade, Seen, wrong
from monitor.tools.strict_json import read_strict

_FENCE = re.compile(r"\A\s*```(?:json)?[ \t]*\n(.*?)\n?```\s*\Z", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonSchema:
    """The answer is read strictly: no NaN, no equal keys, nothing behind the value."""

    kind: ClassVar[str] = "json_schema"

    schema: Mapping[str, Any] = field(default_factory=dict)
    """JSON Schema, 2020-12 unless ``$schema`` says otherwise; empty: any JSON."""
    fenced: bool = False
    """Whether a block of code may be around the JSON."""

    @property
    def problem(self) -> str | None:
        """Why this cannot be used."""
        return json_check.problem(self.schema)

    def grade(self, seen: Seen) -> Grade:
        """Read the answer and hold it against the schema."""
        fence = _FENCE.match(seen.text) if self.fenced else None
        read = read_strict(fence[1] if fence else seen.text)
        if read.fault is not None:
            return wrong("not_json")
        keyword = json_check.violated(self.schema, read.value)
        return RIGHT if keyword is None else wrong(f"schema_{keyword}")


ORACLE = JsonSchema
