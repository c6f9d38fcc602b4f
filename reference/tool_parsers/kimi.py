"""Kimi K2: a section of calls, each with an id ``functions.NAME:INDEX`` and a JSON object of arguments."""

import re
from dataclasses import dataclass

from reference.tool_parsers.blocks import cut
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
        for piece in cut(text, *SECTION):
            if not piece.inside:
                reading.say(piece.text)
                continue
            if not piece.closed:
                reading.blame("unclosed")
            for call in cut(piece.text, *CALL):
                if call.inside:
                    _call(call.text, call.closed, reading)
                elif call.text.strip():
                    reading.blame("malformed")
                    reading.say(call.text)
        return reading.result()


def _call(text: str, closed: bool, reading: Reading) -> None:
    if not closed:
        reading.blame("unclosed")
    head, mark, arguments = text.partition(ARGUMENT)
    identifier = head.strip()
    found = _ID.fullmatch(identifier)
    if not mark or found is None:
        reading.blame("malformed")
    reading.call(found[1] if found else "", arguments.strip(), identifier or None)


FORMAT = Kimi()
