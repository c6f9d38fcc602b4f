"""Kimi K2: a section of calls, each with an id ``functions.NAME:INDEX`` and a JSON object of arguments."""

import re
from dataclasses import dataclass

from reference.tool_parsers.blocks import read_sections
from reference.tool_parsers.parsed import Parsed, Reading, Tools

SECTION = ("<|tool_calls_section_begin|>", "<|tool_calls_section_end|>")
CALL = ("<|tool_call_begin|>", "<|tool_call_end|>")
ARGUMENT = "<|tool_call_argument_begin|>"
_ID = re.compile(r"(?:functions\.)?([\w.\-]+):(\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Kimi:
    """Calls with ids in a section of their own."""

    kind: str = "kimi"

    def parse(self, text: str, tools: Tools) -> Parsed:
        """Read every section; calls outside of one are text."""
        del tools
        reading = Reading()
        read_sections(text, SECTION, CALL, reading, lambda call: _call(call, reading))
        return reading.result()


def _call(text: str, reading: Reading) -> None:
    head, mark, arguments = text.partition(ARGUMENT)
    identifier = head.strip()
    found = _ID.fullmatch(identifier)
    if not mark or found is None:
        reading.blame("malformed")
    reading.call(found[1] if found else "", arguments.strip(), identifier or None)


FORMAT = Kimi()
